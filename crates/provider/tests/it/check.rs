//! `check` and a real run of the program agree: which sources, which credentials, and what is handed over.

use std::fmt::Write as _;
use std::fs;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use pullwright_engine::credentials::{AuthFile, Lookup};
use pullwright_handover::{Bounds, Handover};
use serde_json::{Value, json};

use crate::inputs::{auths, manifest, request_for, token};
use crate::plugin::Ran;
use crate::stage::{IMAGE, NAMESPACE, PASSWORD, Stage};

/// A host that each generated configuration may mirror to, rewrite to, block or have a credential for.
const PLACES: [&str; 7] = [
    "docker.io",
    "quay.io",
    "mirror-a.example",
    "mirror-a.example/hub",
    "mirror-b.example:5000",
    "mirror-b.example:5000/library",
    "Not/a place",
];
const PREFIXES: [&str; 7] = [
    "docker.io",
    "docker.io/library",
    "docker.io/library/nginx",
    "quay.io",
    "mirror-a.example",
    "*.example",
    "mirror-b.example:5000/library",
];
const KEYS: [&str; 8] = [
    "docker.io",
    "https://index.docker.io/v1/",
    "quay.io",
    "mirror-a.example",
    "mirror-a.example/hub/library",
    "mirror-b.example:5000",
    "mirror-b.example:5000/library/nginx",
    "other.example",
];
const IMAGES: [&str; 5] = [
    "docker.io/library/nginx",
    "docker.io/library/nginx",
    "docker.io/team/app",
    "quay.io/team/app",
    "mirror-a.example/app",
];
const DELIVERIES: [&[&str]; 6] = [
    &[],
    &[],
    &[],
    &["--deliver", "ticket"],
    &["--deliver", "answer"],
    &["--deliver", "answer", "--answer-credentials-to-every-host-of-the-pull"],
];

/// A node, and what is asked of it.
#[derive(Debug, Clone)]
struct Case {
    registries: String,
    /// The keys of each Secret.
    secrets: Vec<Vec<&'static str>>,
    /// The keys of the node's own auth file, and the hosts for which it names a credential helper.
    global: (Vec<&'static str>, Vec<&'static str>),
    image: &'static str,
    delivery: &'static [&'static str],
}

fn mirror() -> impl Strategy<Value = String> {
    (select(&PLACES[..]), select(&["", "all", "digest-only", "tag-only"][..])).prop_map(
        |(location, serves)| {
            let serves =
                if serves.is_empty() { String::new() } else { format!("pull-from-mirror = \"{serves}\"\n") };
            format!("[[registry.mirror]]\nlocation = \"{location}\"\n{serves}")
        },
    )
}

fn registry(prefix: &'static str) -> impl Strategy<Value = String> {
    let location = prop::option::weighted(0.3, select(&PLACES[..]));
    let mirrors = prop::collection::vec(mirror(), 0..5);
    (location, prop::bool::weighted(0.2), prop::bool::weighted(0.2), mirrors).prop_map(
        move |(location, blocked, by_digest, mirrors)| {
            let mut text = format!("[[registry]]\nprefix = \"{prefix}\"\nblocked = {blocked}\n");
            if !prefix.starts_with('*') || location.is_some() {
                writeln!(text, "location = \"{}\"", location.unwrap_or(prefix)).unwrap();
            }
            // Not together with a choice of the mirror's own, which the runtime refuses.
            if by_digest && mirrors.iter().all(|mirror| !mirror.contains("pull-from-mirror")) {
                text.push_str("mirror-by-digest-only = true\n");
            }
            text + &mirrors.concat()
        },
    )
}

fn registries_conf() -> impl Strategy<Value = String> {
    let search = subsequence(&["quay.io", "docker.io", "mirror-a.example"][..], 0..=3);
    let alias = prop::option::weighted(0.3, select(&["quay.io/alias/nginx", "mirror-a.example/nginx"][..]));
    let registries = subsequence(&PREFIXES[..], 1..=5)
        .prop_flat_map(|prefixes| prefixes.into_iter().map(registry).collect::<Vec<_>>());
    (search, alias, registries).prop_map(|(search, alias, registries)| {
        let alias = alias.map(|alias| format!("[aliases]\n\"nginx\" = \"{alias}\"\n")).unwrap_or_default();
        format!("unqualified-search-registries = {search:?}\n{}{alias}", registries.concat())
    })
}

fn case() -> impl Strategy<Value = Case> {
    let secrets = prop::collection::vec(subsequence(&KEYS[..], 1..=6), 0..4);
    let helpers = prop::option::weighted(0.3, select(&["mirror-a.example", "docker.io"][..]));
    let helpers = helpers.prop_map(|host| host.into_iter().collect());
    let global = (subsequence(&KEYS[..], 0..=3), helpers);
    (registries_conf(), secrets, global, select(&IMAGES[..]), select(&DELIVERIES[..])).prop_map(
        |(registries, secrets, global, image, delivery)| Case {
            registries,
            secrets,
            global,
            image,
            delivery,
        },
    )
}

/// The user whose credential stands under a key of a Secret, or of the node's own file.
fn user(owner: &str, key: &str) -> String {
    format!("{owner} {}", key.replace(':', "-"))
}

/// A `config.json` with a credential for each key.
fn config(owner: &str, keys: &[&str]) -> String {
    let users: Vec<_> = keys.iter().map(|key| (*key, user(owner, key))).collect();
    auths(&users.iter().map(|(key, user)| (*key, user.as_str())).collect::<Vec<_>>())
}

impl Case {
    fn stage(&self) -> Stage {
        let stage = Stage::new();
        stage.write("registries.conf", &self.registries);
        for (number, keys) in self.secrets.iter().enumerate() {
            let name = format!("s{number}");
            stage.write(
                &format!("secrets/{name}.json"),
                &manifest(&name, &config(&format!("team-a/{name}"), keys)),
            );
        }
        let (keys, helpers) = &self.global;
        let mut global: Value = serde_json::from_str(&config("node", keys)).unwrap();
        global["credHelpers"] = helpers.iter().map(|host| ((*host).to_owned(), json!("desktop"))).collect();
        stage.write("config.json", &global.to_string());
        stage.write("request", &request_for(self.image, &token(NAMESPACE)));
        stage
    }

    /// What `check` says, and what a run does.
    fn both(&self, stage: &Stage) -> (Ran, Ran) {
        // An image service that takes tickets; who does not write any needs none.
        let handover = Handover::open(&stage.auth_dir(), &stage.path("locks"), Bounds::default()).unwrap();
        let _taker = self.delivery.contains(&"ticket").then(|| handover.take_tickets().unwrap());
        let plugin = || stage.plugin_with_folder().args(self.delivery);
        let check = plugin().args(&["check", "--request"]).arg(stage.path("request")).run("");
        (check, plugin().shows_credentials().run(request_for(self.image, &token(NAMESPACE))))
    }
}

/// The user whom a source of `check`'s answer names as the one whose credential is used.
fn named_user(credential: &Value) -> Option<String> {
    let text = |field: &str| credential[field].as_str().unwrap();
    match credential["from"].as_str()? {
        "namespace" => Some(user(text("secret"), text("key"))),
        "global" => Some(user("node", text("key"))),
        _ => None,
    }
}

/// Every source has in the file what `check` says it has, and the file has nothing besides.
fn assert_file_holds(file: &[u8], checked: &Value, case: &Case) {
    let file = AuthFile::parse(file).expect("a file the runtime accepts");
    let sources = checked["sources"].as_array().unwrap();
    let name = |source: &Value| source["reference"].as_str().unwrap().to_owned();
    for source in sources {
        let credential = &source["credential"];
        let found = match file.lookup(&name(source)) {
            Lookup::Found { credential, .. } => {
                let (user, password) = credential.texts().unwrap();
                assert_eq!(password, PASSWORD);
                ("user", user.to_owned())
            }
            Lookup::Helper { name } => ("helper", name.to_owned()),
            Lookup::None { .. } => ("none", String::new()),
            Lookup::Failed(error) => ("failed", error.to_string()),
        };
        let said = match credential["from"].as_str() {
            Some("namespace" | "global") => ("user", named_user(credential).unwrap()),
            Some("helper") => ("helper", credential["name"].as_str().unwrap().to_owned()),
            _ if credential["reason"] == "lookup-failed" => {
                ("failed", credential["error"].as_str().unwrap().to_owned())
            }
            _ => ("none", String::new()),
        };
        assert_eq!(found, said, "{source}");
        assert_eq!(source["provided"], credential["from"] == "namespace", "{source}");
    }
    let known: Vec<String> =
        sources.iter().map(name).chain(case.global.0.iter().map(|key| (*key).to_owned())).collect();
    for key in file.document().keys() {
        assert!(known.iter().any(|known| known == key), "{key} is nobody's");
    }
}

/// Compares the two, and gives what is provided.
fn assert_agree(case: &Case) -> String {
    let stage = case.stage();
    let (check, run) = case.both(&stage);
    if check.code != Some(0) {
        assert_eq!(
            (check.code, check.stderr.lines().last()),
            (run.code, run.stderr.lines().last()),
            "{case:?}"
        );
        return "failed".to_owned();
    }
    let checked: Value = serde_json::from_str(&check.stdout).expect("JSON");
    let provides = checked["provides"].as_str().unwrap();
    match provides {
        "withheld" => assert_eq!(run.failed(), checked["why"].as_str().unwrap(), "{case:?}"),
        "nothing" => {
            let (response, said) = run.answered();
            assert!(response.auth.is_empty(), "{case:?}");
            let reason = if said.starts_with("No mirrors found") { "no-mirrors" } else { "no-credential" };
            assert_eq!(checked["reason"], reason, "{case:?}");
        }
        "answer" => {
            let (response, said) = run.answered();
            assert_eq!(said, format!("Answered with {} credential(s)", checked["credentials"]), "{case:?}");
            let sources = checked["sources"].as_array().unwrap().iter();
            let mut users: Vec<_> = sources
                .filter(|source| source["provided"] == true)
                .map(|source| named_user(&source["credential"]).unwrap())
                .collect();
            let mut seen = std::collections::HashSet::new();
            users.retain(|user| seen.insert(user.clone()));
            // The kubelet tries keys in reverse order of their bytes.
            let answered: Vec<_> = response.auth.values().rev().map(|given| given.username.clone()).collect();
            assert_eq!(answered, users, "{case:?}");
        }
        "auth-file" | "ticket" => {
            let (response, said) = run.answered();
            let (path, count) =
                said.strip_prefix("Wrote auth file to ").unwrap().split_once(" with ").unwrap();
            assert_eq!(count, format!("{} number of entries", checked["entries"]), "{case:?}");
            let has_ticket = response.auth.values().any(|given| !given.password.expose().is_empty());
            assert_eq!(has_ticket, provides == "ticket", "{case:?}");
            assert_file_holds(&fs::read(path).unwrap(), &checked, case);
        }
        other => panic!("{other}"),
    }
    if !matches!(provides, "auth-file" | "ticket") {
        assert_eq!(stage.left(), [""; 0], "{case:?}");
    }
    provides.to_owned()
}

#[test]
fn check_says_what_a_run_does() {
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig {
            cases: 150,
            max_shrink_iters: 30,
            failure_persistence: None,
            ..ProptestConfig::default()
        },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let seen = std::cell::RefCell::new(std::collections::BTreeMap::new());
    let compared = runner.run(&case(), |case| {
        *seen.borrow_mut().entry(assert_agree(&case)).or_insert(0) += 1;
        Ok(())
    });
    compared.unwrap();
    // Otherwise the cases say nothing about what they are for.
    let seen = seen.into_inner();
    for provided in ["auth-file", "ticket", "answer", "withheld", "nothing"] {
        assert!(seen.get(provided).is_some_and(|count| *count >= 2), "{provided} is rare: {seen:?}");
    }
}

/// The request has no tag and no digest, so a mirror for one kind of pull gets its credential as well.
#[test]
fn check_names_the_credential_of_a_mirror_that_serves_only_digests() {
    let stage = Stage::with_secret_on_the_node();
    stage.write(
        "registries.conf",
        "[[registry]]\nlocation = \"docker.io\"\nmirror-by-digest-only = true\n\
         [[registry.mirror]]\nlocation = \"mirror.example:5000\"\n",
    );
    stage.write("request", &request_for(IMAGE, &token(NAMESPACE)));
    let ran = stage.plugin_with_folder().args(&["check", "--request"]).arg(stage.path("request")).run("");
    let checked: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let mirror = &checked["sources"][0];
    assert_eq!((&mirror["serves"], &mirror["provided"]), (&"digest-only".into(), &true.into()));
    assert_eq!(mirror["credential"]["secret"], "team-a/pull");
}

#[test]
fn check_reads_no_more_of_a_request_than_a_run() {
    let stage = Stage::new();
    let ran = stage.plugin_with_folder().args(&["check", "--request", "/dev/zero"]).run("");
    assert_eq!(
        (ran.code, ran.line()),
        (Some(1), "crio-credential-provider: the request has more than 4 MiB")
    );
}
