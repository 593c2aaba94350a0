//! What the journal is told.

use std::collections::BTreeMap;
use std::os::unix::net::UnixDatagram;

use crate::inputs::{auths, manifest, request, token};
use crate::plugin::{Ran, assert_no_canary};
use crate::stage::{IMAGE, MIRROR, NAMESPACE, Stage, until};

pub(crate) type Entry = BTreeMap<String, String>;

/// The journal of a node.
pub(crate) struct Listener(UnixDatagram);

impl Listener {
    pub(crate) fn new(stage: &Stage) -> Self {
        let journal = UnixDatagram::bind(stage.path("journal")).unwrap();
        journal.set_nonblocking(true).unwrap();
        Self(journal)
    }

    /// What it was told so far.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut datagram = vec![0; 1 << 18];
        while let Ok(length) = self.0.recv(&mut datagram) {
            let text = std::str::from_utf8(&datagram[..length]).expect("text");
            assert_no_canary(text);
            let fields = text.lines().map(|line| line.split_once('=').expect("a field"));
            entries.push(fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect());
        }
        entries
    }
}

/// A run with a journal, and what it was told.
pub(crate) fn told(stage: &Stage, stdin: &str) -> (Ran, Vec<Entry>) {
    let journal = Listener::new(stage);
    let ran = stage.plugin_with_folder().run(stdin);
    (ran, journal.entries())
}

/// The message of each entry with this priority.
fn messages<'a>(entries: &'a [Entry], priority: &str) -> Vec<&'a str> {
    let chosen = entries.iter().filter(|entry| entry["PRIORITY"] == priority);
    chosen.map(|entry| entry["MESSAGE"].as_str()).collect()
}

#[test]
fn it_hears_the_phrases_that_people_and_tests_look_for() {
    let stage = Stage::with_secret_on_the_node();
    let (ran, entries) = told(&stage, &request(&token(NAMESPACE)));
    let conf = stage.path("registries.conf");
    let file = stage.auth_file(NAMESPACE, IMAGE);
    let (_, said) = ran.answered();
    assert_eq!(
        messages(&entries, "6"),
        [
            "Running credential provider",
            "Reading from stdin",
            &format!("Parsed credential provider request for image \"{IMAGE}\""),
            "Parsing namespace from request",
            &format!("Matching mirrors for registry config: {}", conf.display()),
            &format!("Got mirror(s) for \"{IMAGE}\": \"mirror.example:5000/library/nginx, {IMAGE}\""),
            "Getting secrets from namespace: team-a",
            "Got 1 secret(s)",
            &format!("Auth file path: {}", file.display()),
            said,
        ]
    );
    assert_eq!(messages(&entries, "6").len(), entries.len());
    let last = entries.last().expect("an entry");
    for (field, value) in [
        ("SYSLOG_IDENTIFIER", "crio-credential-provider"),
        ("PULLWRIGHT_NAMESPACE", NAMESPACE),
        ("PULLWRIGHT_IMAGE", IMAGE),
        ("PULLWRIGHT_OUTCOME", "provided"),
        ("PULLWRIGHT_REASON", "wrote-file"),
    ] {
        assert_eq!(last[field], value);
    }
    assert!(!entries[0].contains_key("PULLWRIGHT_IMAGE") && !entries[0].contains_key("PULLWRIGHT_OUTCOME"));
}

#[test]
fn it_hears_what_was_passed_over() {
    let stage = Stage::new();
    let partly = auths(&[(MIRROR, "puller"), ("*.example", "everybody")]);
    stage.write("secrets/a.json", &manifest("a", &partly));
    stage.write("secrets/b.json", &manifest("b", "canary-password"));
    stage.write("config.json", "canary-password");
    let (ran, entries) = told(&stage, &request(&token(NAMESPACE)));
    ran.answered();
    let warned = messages(&entries, "4");
    assert!(warned[0].starts_with("Secret team-a/a: "), "{warned:?}");
    assert!(warned[1].starts_with("Secret team-a/b: .dockerconfigjson: "), "{warned:?}");
    assert!(warned[2].starts_with("global auth file "), "{warned:?}");
    assert_eq!(warned.len(), 3);
}

#[test]
fn it_hears_why_a_run_failed() {
    let stage = Stage::new();
    stage.write("registries.conf", "[[");
    let (ran, entries) = told(&stage, &request(&token(NAMESPACE)));
    let last = entries.last().expect("an entry");
    assert_eq!(last["MESSAGE"], format!("Failed to run credential provider: {}", ran.failed()));
    assert_eq!((last["PRIORITY"].as_str(), last["PULLWRIGHT_OUTCOME"].as_str()), ("3", "failed"));
    assert_eq!(last["PULLWRIGHT_REASON"], "bad-registries-conf");
}

#[test]
fn it_hears_that_there_was_nothing_to_provide() {
    let stage = Stage::new();
    let (ran, entries) = told(&stage, &request(&token(NAMESPACE)));
    ran.answered();
    let last = entries.last().expect("an entry");
    assert_eq!(
        (last["PULLWRIGHT_OUTCOME"].as_str(), last["PULLWRIGHT_REASON"].as_str()),
        ("nothing", "no-credential")
    );
}

/// The image's name is what somebody wrote into a Pod.
#[test]
fn it_is_not_filled_with_a_name_of_a_megabyte() {
    let stage = Stage::with_secret_on_the_node();
    let long = format!("docker.io/library/{}", "x".repeat(1 << 20));
    let (ran, entries) = told(&stage, &request(&token(NAMESPACE)).replace(IMAGE, &long));
    assert!(ran.failed().starts_with("the image name \"docker.io/library/xxx"), "{ran:?}");
    assert!(entries.len() > 3, "{entries:?}");
    for entry in entries {
        assert!(entry.values().all(|value| value.len() < 1000), "{entry:?}");
    }
}

/// A journal that takes nothing more must not hold up a pull.
#[test]
fn a_full_journal_is_not_waited_for() {
    let stage = Stage::with_secret_on_the_node();
    let _journal = UnixDatagram::bind(stage.path("journal")).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to(b"MESSAGE=x\n", stage.path("journal")).is_ok() {}
    let mut plugin = stage.plugin_with_folder().start(request(&token(NAMESPACE)));
    until("the plugin ends", || plugin.try_wait().unwrap().is_some());
    let ran = Ran::new(plugin.wait_with_output().unwrap(), false);
    assert!(ran.answered().1.starts_with("Wrote auth file to "));
}
