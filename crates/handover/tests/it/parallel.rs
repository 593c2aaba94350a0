//! Many pulls at once, with plugins that are processes and a runtime that does what CRI-O does.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pullwright_handover::Bounds;

use crate::actor::{id_of, name};
use crate::stage::{PATIENT, Stage, output, until};

/// What one Pod's pull found.
#[derive(Debug, PartialEq, Eq)]
struct Pull {
    /// What its plugin said of the earlier file.
    earlier: String,
    /// Whose credentials it got, or why none.
    got: Result<String, &'static str>,
}

/// As the kubelet and CRI-O do it: the plugin runs to its end; then, a little later, `stat`, and a little later
/// still, `rename`; the file is read and removed.
fn pull(stage: &Stage, image: &str, pod: u32) -> Pull {
    let pause = || std::thread::sleep(Duration::from_millis(u64::from(pod * 7 % 13)));
    let earlier = output(stage.plugin(image, &pod.to_string()).spawn().expect("the plugin starts"));
    pause();
    let path = stage.auth().join(name(image).to_string());
    let in_use = stage.auth().join(format!("in-use/{image}-{pod}.json"));
    let got = (|| {
        fs::metadata(&path).map_err(|_| "no file")?;
        pause();
        fs::rename(&path, &in_use).map_err(|_| "taken between stat and rename")?;
        let read = fs::read(&in_use).map_err(|_| "gone while in use")?;
        fs::remove_file(&in_use).map_err(|_| "removed by somebody else")?;
        Ok(id_of(&read))
    })();
    Pull { earlier, got }
}

fn pulls(stage: &Stage, image: &str, pods: u32) -> Vec<Pull> {
    fs::create_dir_all(stage.auth().join("in-use")).unwrap();
    crate::stage::set_mode(stage.auth(), 0o700);
    crate::stage::set_mode(stage.auth().join("in-use"), 0o700);
    std::thread::scope(|scope| {
        let pods: Vec<_> = (0..pods).map(|pod| scope.spawn(move || pull(stage, image, pod))).collect();
        pods.into_iter().map(|pod| pod.join().expect("a pull")).collect()
    })
}

fn all_have_their_own(pulls: &[Pull]) {
    let got: BTreeSet<_> = pulls.iter().filter_map(|pull| pull.got.clone().ok()).collect();
    let pods: BTreeSet<_> = (0..pulls.len()).map(|pod| pod.to_string()).collect();
    assert_eq!(got, pods, "{pulls:#?}");
}

pub(crate) fn fifty_pulls_of_one_name_find_a_file_each() {
    let stage = Stage::new(PATIENT);
    let pulls = pulls(&stage, "a", 50);
    all_have_their_own(&pulls);
    assert!(pulls.iter().any(|pull| pull.earlier == "taken"), "none had to wait: the test shows nothing");
    assert!(stage.auth_is_empty());
}

/// A file that nobody comes for is replaced once, by whoever is first in the queue; no pull pays for it with its own file.
pub(crate) fn one_stale_file_costs_no_pull_its_own() {
    let stage = Stage::new(Bounds { stood: Duration::from_secs(3), ..PATIENT });
    stage.put(&name("a"), "stale").expect("it is put");
    let pulls = pulls(&stage, "a", 20);
    all_have_their_own(&pulls);
    assert_eq!(pulls.iter().filter(|pull| pull.earlier == "replaced").count(), 1, "{pulls:#?}");
}

/// One name is held up for ever, by a file that nobody takes; others come and go meanwhile.
pub(crate) fn other_names_do_not_wait() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("held up"), "first").expect("it is put");
    let mut held_up = stage.plugin("held up", "second").spawn().unwrap();
    until("the second is waiting", || stage.names().len() == 2);
    let done = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for image in ["b", "c", "d"] {
            let (stage, done) = (&stage, &done);
            scope.spawn(move || {
                all_have_their_own(&pulls(stage, image, 3));
                done.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    assert_eq!(done.into_inner(), 3);
    assert!(held_up.try_wait().unwrap().is_none(), "it is still waiting");
    drop(stage.handover().folder().claim(&name("held up")).unwrap().expect("the first"));
    assert_eq!(output(held_up), "taken");
}
