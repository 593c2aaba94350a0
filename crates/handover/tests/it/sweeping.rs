//! What nobody came for goes, also when nothing else ever happens, and nothing else goes with it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use pullwright_handover::{Bounds, FileState, SweepBounds};

use crate::actor::name;
use crate::stage::{NEVER, PATIENT, Stage, output, swept_after, until};

pub(crate) fn what_is_not_ours_stays() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("claimed"), "one").expect("it is put");
    let claim = stage.handover().folder().claim(&name("claimed")).unwrap();
    stage.put(&name("unclaimed"), "one").expect("it is put");
    fs::write(stage.auth().join(".auth-3816622949.tmp"), "left by the Go plugin").unwrap();
    let others = ["config.json", ".hidden", "in-use/README"].map(str::to_owned);
    for other in &others {
        fs::write(stage.auth().join(other), "").unwrap();
    }
    let (a_folder, a_link) = (name("a folder").to_string(), name("a link").to_string());
    fs::create_dir(stage.auth().join(&a_folder)).unwrap();
    symlink("config.json", stage.auth().join(&a_link)).unwrap();

    let swept = stage.handover().sweep_once(SystemTime::now() + 2 * NEVER).expect("it sweeps");
    let mut kinds: Vec<_> = swept.removed.iter().map(|removed| format!("{:?}", removed.kind)).collect();
    kinds.sort();
    assert_eq!(kinds, ["InUse", "Temporary", "Unclaimed"]);
    assert!(swept.failed.is_empty() && swept.next.is_none(), "{swept:?}");
    let mut expected = [&others[..], &[a_folder, a_link]].concat();
    expected.sort();
    assert_eq!(stage.names(), expected);
    drop(claim);
}

/// Without the lock of the name, the sweep could remove the fresh file that the plugin has just put there.
pub(crate) fn a_plugin_at_work_is_not_swept_from_under() {
    let bounds = SweepBounds { unclaimed: Duration::from_mins(1), ..PATIENT.sweep };
    let stage = Stage::new(Bounds { sweep: bounds, ..PATIENT });
    stage.put(&name("a"), "one").expect("it is put");
    let second = stage.plugin("a", "two").spawn().unwrap();
    until("the second is at work", || stage.names().len() == 2);
    let later = SystemTime::now() + Duration::from_mins(2);
    let swept = stage.handover().sweep_once(later).expect("it sweeps");
    assert!(swept.removed.is_empty() && swept.next.is_some(), "{swept:?}");
    drop(stage.handover().folder().claim(&name("a")).unwrap().expect("the first is still there"));
    assert_eq!(output(second), "taken");
    let swept = stage.handover().sweep_once(later).expect("it sweeps");
    assert_eq!(swept.removed.iter().map(|removed| removed.kind).collect::<Vec<_>>(), [FileState::Unclaimed]);
}

pub(crate) fn a_put_sweeps_what_others_left() {
    let bounds = SweepBounds { unclaimed: Duration::ZERO, ..PATIENT.sweep };
    let stage = Stage::new(Bounds { sweep: bounds, ..PATIENT });
    stage.handover();
    let left = stage.auth().join(name("left").to_string());
    fs::write(&left, "left by a put whose sweeper was killed").unwrap();
    let put = stage.put(&name("a"), "one").expect("it is put");
    // By the put or by the sweeper that it started, whichever came first.
    assert!(put.tidying.swept.expect("it sweeps").failed.is_empty());
    assert!(!left.exists());
}

pub(crate) fn an_unclaimed_file_goes_without_another_put() {
    let stage = Stage::new(swept_after(Duration::from_millis(300)));
    assert_eq!(output(stage.plugin("a", "one").spawn().unwrap()), "none");
    until("the file is gone", || stage.names().is_empty());
    until("the sweeper has ended", || stage.sweepers().is_empty());
    let locks = fs::read_dir(stage.path("locks")).unwrap().map(|entry| entry.unwrap().file_name());
    let left = locks.filter(|lock| lock.to_string_lossy().contains(&name("a").to_string())).count();
    assert_eq!(left, 0, "the lock of a name does not stay for ever");
}

pub(crate) fn what_a_dead_runtime_left_goes_without_another_put() {
    let stage = Stage::new(swept_after(Duration::from_secs(2)));
    assert_eq!(output(stage.plugin("a", "one").spawn().unwrap()), "none");
    let claim = stage.handover().folder().claim(&name("a")).unwrap().expect("a file");
    // As if the process had been killed: nothing is dropped.
    std::mem::forget(claim);
    assert_eq!(stage.names().len(), 1);
    until("the file in in-use/ is gone", || stage.names().is_empty());
}

/// The kubelet waits until nobody holds the plugin's output any more, and everybody can read arguments.
pub(crate) fn the_sweeper_has_nothing_of_the_plugin() {
    let stage = Stage::new(PATIENT);
    let plugin = stage.plugin("a", "one").env("TOKEN", "canary-token").spawn().unwrap();
    assert_eq!(output(plugin), "none");
    until("a sweeper lives", || stage.sweepers().len() == 1);
    let proc = PathBuf::from(format!("/proc/{}", stage.sweepers()[0]));
    until("it has its own session", || {
        let stat = fs::read_to_string(proc.join("stat")).unwrap();
        let after_name = stat.rsplit_once(')').unwrap().1.to_owned();
        after_name.split_whitespace().nth(3) == proc.file_name().unwrap().to_str()
    });
    until("it has a name", || fs::read_to_string(proc.join("comm")).unwrap().trim() == "auth-sweeper");
    assert_eq!(fs::read(proc.join("environ")).unwrap(), b"");
    assert!(!String::from_utf8_lossy(&fs::read(proc.join("cmdline")).unwrap()).contains("canary"));
    assert_eq!(fs::read_link(proc.join("cwd")).unwrap(), PathBuf::from("/"));
    for fd in fs::read_dir(proc.join("fd")).unwrap().map(Result::unwrap) {
        // It may have closed one of its own since.
        let Ok(target) = fs::read_link(fd.path()) else {
            continue;
        };
        let number = fd.file_name().into_string().unwrap();
        let is_fine = if ["0", "1", "2"].contains(&number.as_str()) {
            target.as_os_str() == "/dev/null"
        } else {
            // Its own, or what whoever runs these tests leaves open for every program.
            target.as_os_str() == "anon_inode:inotify"
                || target.starts_with(stage.auth())
                || target.starts_with(stage.path("locks"))
                || fs::read_link(format!("/proc/self/fd/{number}")).is_ok_and(|ours| ours == target)
        };
        assert!(is_fine, "descriptor {number} is {}", target.display());
    }
}

pub(crate) fn there_is_one_sweeper_for_many_puts() {
    let stage = Stage::new(PATIENT);
    let plugins: Vec<_> =
        (0..20).map(|at| stage.plugin(&format!("image-{at}"), "one").spawn().unwrap()).collect();
    for plugin in plugins {
        assert_eq!(output(plugin), "none");
    }
    // More than one may have been started in the same moment; the others end by themselves.
    until("one is left", || stage.sweepers().len() == 1);
    assert_eq!(output(stage.plugin("one-more", "one").spawn().unwrap()), "none");
    assert_eq!(stage.sweepers().len(), 1, "a put that finds one starts none");
}

/// A plugin in the queue has no file in the folder yet, and relies on the sweeper that it saw.
pub(crate) fn a_sweeper_does_not_end_under_a_put() {
    let at_once = SweepBounds { unclaimed: Duration::ZERO, ..PATIENT.sweep };
    let stage = Stage::new(Bounds { sweep: at_once, ..PATIENT });
    let queue = stage.lock_file(name("a"));
    queue.lock().unwrap();
    let plugin = stage.plugin("a", "one").spawn().unwrap();
    until("a sweeper lives", || !stage.sweepers().is_empty());
    let sweeper = stage.sweepers();
    // Long enough for a sweeper to see an empty folder more than once.
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(stage.names(), [""; 0]);
    assert_eq!(stage.sweepers(), sweeper);
    drop(queue);
    assert_eq!(output(plugin), "none");
    until("what it put is swept", || stage.names().is_empty());
    until("the sweeper has ended", || stage.sweepers().is_empty());
}

/// Who asks whether there is a sweeper holds its lock for a moment. A sweeper that starts in that moment must stay.
pub(crate) fn who_asks_is_not_taken_for_a_sweeper() {
    let stage = Stage::new(swept_after(Duration::from_millis(200)));
    let asking = stage.lock_file("sweeper");
    asking.lock_shared().unwrap();
    assert_eq!(output(stage.plugin("a", "one").spawn().unwrap()), "none");
    // Long enough for the sweeper to have tried.
    std::thread::sleep(Duration::from_millis(500));
    drop(asking);
    until("what was put is swept", || stage.names().is_empty());
}

/// Sweepers end all the time while plugins put: whichever comes first, what is put is swept.
pub(crate) fn no_put_is_left_without_a_sweeper() {
    let at_once = SweepBounds { unclaimed: Duration::ZERO, ..PATIENT.sweep };
    let stages: Vec<_> = (0..8).map(|_| Stage::new(Bounds { sweep: at_once, ..PATIENT })).collect();
    std::thread::scope(|scope| {
        for (at, stage) in (0..).zip(&stages) {
            scope.spawn(move || {
                for round in 0..12 {
                    stage.put(&name("a"), "one").expect("it is put");
                    until("what was put is swept", || stage.auth_is_empty());
                    // The next put comes at another moment of the sweeper's end each time.
                    std::thread::sleep(Duration::from_micros(at * 50 + round * 400));
                }
            });
        }
    });
}
