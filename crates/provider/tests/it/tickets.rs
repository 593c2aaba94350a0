//! `--deliver ticket`: the answer is worth the file of this pull, and nothing else is.

use std::fs;

use pullwright_engine::credentials::{AuthFile, Lookup};
use pullwright_handover::{AuthFileName, Bounds, Handover, Ticket};

use crate::stage::{IMAGE, MIRRORED, NAMESPACE, PASSWORD, Stage};

fn handover(stage: &Stage) -> Handover {
    Handover::open(&stage.auth_dir(), &stage.path("locks"), Bounds::default()).unwrap()
}

/// The ticket that the plugin answers with.
fn ask(stage: &Stage) -> Ticket {
    let ran = stage.plugin_with_folder().args(&["--deliver", "ticket"]).ask();
    let (response, line) = ran.answered();
    assert!(line.starts_with("Wrote auth file to "), "{line}");
    let (image, auth) = response.auth.first_key_value().expect("an entry");
    assert_eq!((response.auth.len(), image.as_str(), &*auth.username), (1, IMAGE, "pullwright-ticket"));
    assert!(!ran.stderr.contains(auth.password.expose().as_str()), "{}", ran.stderr);
    Ticket::parse(auth.password.expose()).expect("a ticket")
}

#[test]
fn each_answer_is_worth_a_file_of_its_own() {
    let stage = Stage::with_secret_on_the_node();
    let taker = handover(&stage);
    let _taker = taker.take_tickets().unwrap();
    let tickets = [ask(&stage), ask(&stage)];
    assert_eq!(stage.left().len(), 2, "nobody waits for anybody");
    let name = AuthFileName::new(&NAMESPACE.parse().unwrap(), IMAGE).unwrap();
    for ticket in &tickets {
        let claim = taker.folder().claim_ticket(&name, ticket).unwrap().expect("a file");
        let file = AuthFile::parse(&claim.read().unwrap()).unwrap();
        let found = file.lookup(MIRRORED);
        assert!(
            matches!(found, Lookup::Found { credential, .. } if credential.password.expose() == PASSWORD.as_bytes())
        );
    }
    assert_eq!(stage.left(), [""; 0]);
}

#[test]
fn without_an_image_service_it_says_what_to_do() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().args(&["--deliver", "ticket"]).ask();
    let said = ran.failed();
    assert!(
        said.contains("no image service takes tickets") && said.contains("start pullwright-images"),
        "{said}"
    );
    assert_eq!(stage.left(), [""; 0]);
}

/// On containerd a pull without a ticket gets nothing, so nobody needs to be kept apart.
#[test]
fn without_a_credential_the_answer_is_empty() {
    let stage = Stage::with_secret_on_the_node();
    let taker = handover(&stage);
    let _taker = taker.take_tickets().unwrap();
    ask(&stage);
    fs::remove_file(stage.path("secrets/pull.json")).unwrap();
    let line = "None of 0 secret(s) of the namespace fits, will not write any auth file";
    stage.plugin_with_folder().args(&["--deliver", "ticket"]).ask().answered_nothing(line);
    assert_eq!(stage.left().len(), 1, "that of another pull stays");
}

#[test]
fn a_ticket_is_always_for_one_service_account() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage.plugin_with_folder().args(&["--deliver", "ticket", "--no-pull-record"]).ask();
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--no-pull-record needs --deliver file"), "{}", ran.stderr);
}
