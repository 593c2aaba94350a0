/* Says that it runs, reaps orphans and waits for its end: the entry point of test images and the first process of a
   node's pid namespace. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void leave(int signal) {
    (void)signal;
    _exit(0);
}

static void reap(int signal) {
    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

int main(void) {
    signal(SIGINT, leave);
    signal(SIGTERM, leave);
    signal(SIGCHLD, reap);
    puts("running");
    fflush(stdout);
    for (;;) {
        pause();
    }
}
