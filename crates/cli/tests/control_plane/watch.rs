//! `-w`: a change is printed, and an interrupt ends it well.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use pullwright_testkit::control_plane::node;
use serde_json::Value;

use crate::objects::{condition, mirror_set};
use crate::world::{WORLD, World, status};

/// A program that runs until it is interrupted, and what it prints.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut child = status(world.plane.kubeconfig(), arguments).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let printed = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || printed.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines }
    }

    /// Waits for a line, and returns it.
    fn until(&self, wanted: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            let line = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())).unwrap();
            if wanted(&line) {
                return line;
            }
        }
    }

    /// Presses Ctrl-C, and returns the exit code.
    fn interrupt(mut self) -> Option<i32> {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_change_is_printed_and_an_interrupt_ends_it_well() {
    WORLD.apply(&mirror_set("watch-text", None));
    let watch = Watch::start(&WORLD, &["-w"]);
    assert!(watch.until(|_| true).starts_with("--- 2"));
    watch.until(|line| line == "  … ImageDigestMirrorSet/watch-text not judged yet");
    WORLD.apply(&mirror_set("watch-text", Some(&condition("Applied", "True", "Applied", ""))));
    watch.until(|line| line == "  ✓ ImageDigestMirrorSet/watch-text applied");
    assert_eq!(watch.interrupt(), Some(0));
}

#[test]
fn programs_get_one_document_per_line() {
    let watch = Watch::start(&WORLD, &["--watch", "--output", "json"]);
    watch.until(|line| serde_json::from_str::<Value>(line).unwrap().is_object());
    WORLD.apply(&mirror_set("watch-data", Some(&condition("Applied", "False", "Rejected", "two\nlines"))));
    let outcome = |line: &str| {
        let report: Value = serde_json::from_str(line).unwrap();
        let objects = report["objects"].as_array().unwrap();
        objects.iter().find(|object| object["name"] == "watch-data").map(|object| object["outcome"].clone())
    };
    watch.until(|line| outcome(line).is_some_and(|outcome| outcome == "rejected"));
    WORLD.kubectl(&["delete", "imagedigestmirrorset", "watch-data"]);
    watch.until(|line| outcome(line).is_none());
    assert_eq!(watch.interrupt(), Some(0));
}

#[test]
fn a_watch_outlives_the_api_server() {
    let world = World::bare("status-restart");
    world.apply(&node("before", "cri-o://1.34.0", "", "v1.34.1"));
    let watch = Watch::start(&world, &["-w"]);
    watch.until(|line| line == "  1 node: 1 with crio");
    world.plane.stop_api_server();
    watch.until(|line| line.starts_with("  ! Node: not readable: ") && line.contains("Connection refused"));
    world.plane.start_api_server().unwrap();
    world.apply(&node("after", "cri-o://1.34.0", "", "v1.34.1"));
    watch.until(|line| line == "  2 nodes: 2 with crio");
    watch.until(|line| line == "! everything is where it should be, but the operator is not running");
    assert_eq!(watch.interrupt(), Some(0));
}
