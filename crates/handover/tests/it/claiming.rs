//! What a runtime does.

use std::fs;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pullwright_handover::{AuthFolder, ClaimError};

use crate::actor::{id_of, name};
use crate::stage::{PATIENT, Stage, mode};

fn folder(stage: &Stage) -> AuthFolder {
    AuthFolder::open(stage.auth()).expect("it opens")
}

pub(crate) fn a_claim_takes_the_file_and_removes_it_at_the_end() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("a"), "one").expect("it is put");
    let claim = folder(&stage).claim(&name("a")).unwrap().expect("a file");
    assert_eq!(mode(stage.auth().join("in-use")), 0o700);
    let stem = name("a").to_string().replace(".json", "-");
    let [taken] = &stage.names()[..] else { panic!("one file: {:?}", stage.names()) };
    assert!(taken.starts_with(&format!("in-use/{stem}")), "{taken}");
    assert_eq!(claim.path(), stage.auth().join(taken));
    assert_eq!(id_of(&claim.read().unwrap()), "one");
    assert!(!format!("{claim:?}").contains("canary"));
    claim.release().expect("it is removed");
    assert_eq!(stage.names(), [""; 0]);
}

pub(crate) fn a_claim_is_removed_when_the_pull_panics() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("a"), "one").expect("it is put");
    let claim = folder(&stage).claim(&name("a")).unwrap().expect("a file");
    let pull = AssertUnwindSafe(move || {
        let _credentials = claim;
        std::panic::resume_unwind(Box::new("the pull fails"));
    });
    assert!(catch_unwind(pull).is_err());
    assert_eq!(stage.names(), [""; 0]);
}

pub(crate) fn without_a_file_there_is_nothing_to_claim() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("a"), "one").expect("it is put");
    assert!(folder(&stage).claim(&name("b")).unwrap().is_none());
    assert_eq!(stage.names(), [name("a").to_string()]);
}

pub(crate) fn one_file_is_claimed_once() {
    let stage = Stage::new(PATIENT);
    for round in 0..100 {
        stage.put(&name("a"), &round.to_string()).expect("it is put");
        let claimed = std::thread::scope(|scope| {
            let claims = [(); 4].map(|()| scope.spawn(|| folder(&stage).claim(&name("a")).unwrap()));
            claims.map(|claim| claim.join().unwrap()).into_iter().flatten().count()
        });
        assert_eq!(claimed, 1, "round {round}");
    }
}

pub(crate) fn what_is_not_a_file_is_left_as_it_is() {
    let stage = Stage::new(PATIENT);
    let folder = folder(&stage);
    fs::create_dir(stage.auth().join(name("a").to_string())).unwrap();
    let error = folder.claim(&name("a")).expect_err("it is reported");
    assert!(matches!(error, ClaimError::NotAFile { .. }), "{error}");
    assert_eq!(stage.names(), [name("a").to_string()]);
}

pub(crate) fn an_in_use_that_leads_elsewhere_is_refused() {
    let stage = Stage::new(PATIENT);
    stage.put(&name("a"), "one").expect("it is put");
    fs::create_dir(stage.path("elsewhere")).unwrap();
    symlink(stage.path("elsewhere"), stage.auth().join("in-use")).unwrap();
    let error = folder(&stage).claim(&name("a")).expect_err("it is refused");
    assert!(error.to_string().contains("is a symlink, not a folder"), "{error}");
    assert_eq!(fs::read_dir(stage.path("elsewhere")).unwrap().count(), 0);
    assert!(stage.auth().join(name("a").to_string()).exists());
}
