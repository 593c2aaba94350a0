//! A pull without a credential of its own does not find what was left for another.

use std::time::{Duration, Instant};

use pullwright_handover::{AuthFileName, Bounds, Earlier, SweepBounds};

use crate::actor::name;
use crate::stage::{NEVER, PATIENT, Stage, output, until};

pub(crate) fn a_name_is_remembered_once_a_file_was_put() {
    let stage = Stage::new(PATIENT);
    let remembered = |name: &AuthFileName| stage.handover().was_handed_over(name).expect("it can be asked");
    assert!(!remembered(&name("a")));
    stage.put(&name("a"), "one").expect("it is put");
    drop(stage.handover().folder().claim(&name("a")).unwrap().expect("a file"));
    assert!(remembered(&name("a")), "also when it is long gone");
    let elsewhere = AuthFileName::new(&"another".parse().unwrap(), "a").unwrap();
    assert!(!remembered(&name("b")) && !remembered(&elsewhere));
}

pub(crate) fn what_nobody_takes_is_removed() {
    let stage = Stage::new(Bounds { stood: Duration::from_millis(300), ..PATIENT });
    let clear = || stage.handover().clear(&name("a"), Instant::now() + NEVER).expect("it is cleared");
    assert_eq!(clear(), Earlier::None);
    stage.put(&name("a"), "one").expect("it is put");
    assert_eq!(clear(), Earlier::Replaced);
    assert!(stage.auth_is_empty());
}

/// It is still wanted: who waits must not take it away.
pub(crate) fn what_is_taken_in_time_is_left_to_its_pull() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("a"), "one").expect("it is put");
    std::thread::scope(|scope| {
        let cleared = scope.spawn(|| stage.handover().clear(&name("a"), Instant::now() + NEVER));
        std::thread::sleep(Duration::from_millis(200));
        assert!(!cleared.is_finished());
        drop(stage.handover().folder().claim(&name("a")).unwrap().expect("the file of the first pull"));
        assert_eq!(cleared.join().unwrap().expect("it is cleared"), Earlier::Taken);
    });
}

pub(crate) fn who_puts_waits_for_who_clears() {
    let stage = Stage::new(Bounds { stood: Duration::from_secs(1), ..PATIENT });
    stage.put(&name("a"), "left").expect("it is put");
    std::thread::scope(|scope| {
        let cleared = scope.spawn(|| stage.handover().clear(&name("a"), Instant::now() + NEVER));
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(output(stage.plugin("a", "fresh").spawn().unwrap()), "none");
        assert_eq!(cleared.join().unwrap().expect("it is cleared"), Earlier::Replaced);
    });
    assert!(!stage.auth_is_empty(), "the fresh file stays");
}

/// A sweeper that waits for something that is due in an hour looks at what comes meanwhile when it is due.
pub(crate) fn a_sleeping_sweeper_sees_what_comes() {
    let sweep = SweepBounds { unclaimed: Duration::from_millis(500), ..PATIENT.sweep };
    let stage = Stage::new(Bounds { sweep, ..PATIENT });
    stage.put(&name("long"), "one").expect("it is put");
    let _claim = stage.handover().folder().claim(&name("long")).unwrap().expect("a file");
    until("a sweeper lives", || stage.sweepers().len() == 1);
    std::thread::sleep(Duration::from_secs(2));
    let put = Instant::now();
    stage.put(&name("short"), "one").expect("it is put");
    until("the file is gone", || stage.auth_is_empty());
    // It looks every 10 s by itself.
    assert!(put.elapsed() < Duration::from_secs(7), "after {:?}", put.elapsed());
}
