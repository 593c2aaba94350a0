//! Programs under test: paused, ended in every way, and started again.

use std::{
    error::Error,
    fs,
    os::unix::process::ExitStatusExt,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use pullwright_testkit::process::{Kept, Place, Service, Signal, wait_until};

use crate::folder;

const SOON: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Result<Command, pullwright_testkit::Error> {
    let mut command = Place::Host.command("sh")?;
    command.args(["-c", script]).env("GREETING", "hello");
    Ok(command)
}

#[test]
fn a_program_is_paused_and_ends_with_the_code_it_chose() -> Result<(), Box<dyn Error>> {
    let logs = folder("service")?;
    fs::create_dir_all(&logs)?;
    let script = "trap 'exit 7' TERM; echo $GREETING; while :; do echo tick; sleep 0.02; done";
    let mut service = Service::start("ticks", shell(script)?, &logs)?;
    service.wait_for_log("hello", SOON)?;
    service.pause()?;
    // A line that was on its way may still arrive.
    thread::sleep(Duration::from_millis(100));
    let mark = service.log().mark();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(service.log().since(mark), [""; 0]);
    service.resume()?;
    wait_until("it goes on", SOON, || {
        if service.log().mark() > mark { Ok(()) } else { Err("no further line".to_owned()) }
    })?;
    assert_eq!(service.ended()?, None);
    assert_eq!(service.terminate(SOON)?.code(), Some(7));
    Ok(())
}

#[test]
fn a_kept_program_is_started_again_until_it_is_asked_to_end() -> Result<(), Box<dyn Error>> {
    let logs = folder("kept")?;
    fs::create_dir_all(&logs)?;
    // The first run fails, the others last.
    let script = format!(
        "trap 'exit 7' TERM; echo run; mkdir {}/ran && exit 3; while :; do sleep 0.02; done",
        logs.display()
    );
    let mut kept = Kept::start("kept", &logs, Duration::from_millis(50), move || shell(&script))?;
    assert_eq!(kept.wait_for_exits(1, SOON)?[0].code(), Some(3));
    let runs = |count: usize| {
        wait_until("runs", SOON, || {
            let text = kept.log().text();
            if text.matches("run\n").count() == count { Ok(()) } else { Err(text) }
        })
    };
    runs(2)?;
    let second = kept.id()?;
    kept.kill()?;
    assert_eq!(kept.exits().iter().map(ExitStatusExt::signal).collect::<Vec<_>>(), [None, Some(9)]);
    runs(3)?;
    assert_ne!(kept.id()?, second);
    assert_eq!(kept.terminate(SOON)?.code(), Some(7));
    thread::sleep(Duration::from_millis(200));
    assert_eq!(kept.log().text().matches("run\n").count(), 3);
    Ok(())
}

#[test]
fn a_program_that_cannot_be_started_again_is_an_error_and_not_a_wait() -> Result<(), Box<dyn Error>> {
    let logs = folder("kept-gone")?;
    fs::create_dir_all(&logs)?;
    let first = AtomicBool::new(true);
    let kept = Kept::start("gone", &logs, Duration::ZERO, move || {
        if first.swap(false, Ordering::SeqCst) {
            shell("exit 3")
        } else {
            Place::Host.command("no-such-program")
        }
    })?;
    assert_eq!(kept.wait_for_exits(1, SOON)?[0].code(), Some(3));
    let begun = Instant::now();
    let error = kept.signal(Signal::TERM).unwrap_err().to_string();
    assert!(error.contains("no-such-program"), "{error}");
    assert!(begun.elapsed() < SOON);
    assert_eq!(kept.exits().len(), 1);
    Ok(())
}
