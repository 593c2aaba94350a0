//! What a person asks of the program.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use pullwright_engine::kubelet::{ApiVersion, Request};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::inputs::{auths, manifest, request, token, token_until};
use crate::plugin::Ran;
use crate::stage::{IMAGE, MIRROR, MIRRORED, NAMESPACE, Stage};

/// The program with these arguments alone.
fn said(args: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crio-credential-provider"));
    Ran::new(command.args(args).env_clear().stdin(Stdio::null()).output().expect("it ends"), false)
}

#[test]
fn it_says_its_version() {
    let ran = said(&["--version"]);
    // The second line is the one that the Go plugin's own tests look for.
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(ran.stdout, format!("crio-credential-provider (pullwright) {version}\nVersion: {version}\n"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let ran = said(&["--version-json"]);
    let json: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn what_the_help_names_is_an_option() {
    let help = said(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    let words = help.stdout.split_whitespace().filter(|word| word.starts_with("--"));
    let options: BTreeSet<_> = words.map(|word| word.trim_end_matches([',', ';', ':', ']'])).collect();
    assert!(options.len() > 20, "{options:?}");
    for option in options {
        // What is wrong with the value does not matter here.
        let ran = said(&["check", option, "no value of any option"]);
        assert!(!ran.stderr.contains("invalid option"), "{option}: {ran:?}");
    }
    assert!(help.stdout.lines().all(|line| line.chars().count() <= 120), "{}", help.stdout);
}

#[test]
fn the_sub_commands_of_the_help_run() {
    let help = said(&["--help"]).stdout;
    let lines = help.lines().filter_map(|line| line.strip_prefix("  crio-credential-provider "));
    let words: Vec<_> = lines.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(words, ["[OPTIONS]", "check", "sweep"]);
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name).display().to_string();
    let ran = said(&["sweep", "--auth-dir", &path("auth"), "--lock-dir", &path("locks")]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "nothing is there to be removed");
}

#[test]
fn wrong_usage_is_told_apart_from_a_fault() {
    for (args, says) in [
        (&["--bogus"][..], "crio-credential-provider: invalid option '--bogus'\nTry --help.\n"),
        (&["bogus"], "crio-credential-provider: unexpected argument \"bogus\"\nTry --help.\n"),
        (&["check"], "crio-credential-provider: check needs --request FILE\nTry --help.\n"),
        (
            &["check", "--request", "r", "--namespace", "../x"],
            "crio-credential-provider: --namespace does not take \"../x\": use the name of a namespace\nTry --help.\n",
        ),
    ] {
        let ran = said(args);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(2), "", says));
    }
}

#[test]
fn check_prints_the_plan_and_writes_nothing() {
    let stage = Stage::new();
    stage.write("secrets/a.json", &manifest("a", &auths(&[(MIRROR, "puller")])));
    stage.write("secrets/b.json", &manifest("b", "broken"));
    stage.write("config.json", "broken");
    // A request that was kept: its token has long ended.
    stage.write("request", &request(&token_until(NAMESPACE, 1_700_000_000)));
    let ran = stage.plugin_with_folder().args(&["check", "--request"]).arg(stage.path("request")).run("");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&plan["image"], &plan["namespace"]), (&IMAGE.into(), &NAMESPACE.into()));
    assert_eq!((&plan["provides"], &plan["entries"]), (&"auth-file".into(), &1.into()));
    let sources = plan["sources"].as_array().expect("sources");
    assert_eq!(sources[0]["credential"]["secret"], "team-a/a");
    assert_eq!((&sources[0]["provided"], &sources[1]["provided"]), (&true.into(), &false.into()));
    let lines: Vec<_> = ran.stderr.lines().collect();
    assert!(lines[0].starts_with("passed over: Secret team-a/b: .dockerconfigjson: "), "{ran:?}");
    assert!(lines[1].starts_with("passed over: global auth file "), "{ran:?}");
    assert_eq!(lines.len(), 2);
    assert!(ran.stdout.contains(MIRRORED));
    assert!(!stage.auth_dir().exists() && !stage.path("locks").exists());
}

#[test]
fn check_needs_a_namespace_from_the_token_or_from_a_person() {
    let stage = Stage::with_secret_on_the_node();
    let anonymous = Request::anonymous(ApiVersion::V1, IMAGE);
    stage.write("request", &anonymous.render());
    let check = || stage.plugin_with_folder().args(&["check", "--request"]).arg(stage.path("request"));
    let ran = check().run("");
    assert_eq!(ran.failed(), "the request has no token, so the namespace is not known: add --namespace");
    let plan: Value =
        serde_json::from_str(&check().args(&["--namespace", "team-b"]).run("").stdout).expect("JSON");
    assert_eq!(plan["namespace"], "team-b");
    // The token wins: what is replayed is what happened.
    stage.write("request", &request(&token(NAMESPACE)));
    let plan: Value =
        serde_json::from_str(&check().args(&["--namespace", "team-b"]).run("").stdout).expect("JSON");
    assert_eq!(plan["namespace"], NAMESPACE);
}

#[test]
fn check_asks_the_api_server_as_a_pull_would() {
    let cluster = Cluster::with_secret();
    cluster.stage.write("request", &request(&cluster.token));
    let check = cluster.plugin().args(&["check", "--request"]).arg(cluster.stage.path("request"));
    let ran = check.run("");
    let plan: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(plan["sources"][0]["credential"]["secret"], "team-a/pull");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(!cluster.stage.auth_dir().exists());
}

#[test]
fn each_option_can_be_given_in_the_environment() {
    let stage = Stage::with_secret_on_the_node();
    let ran = stage
        .plugin()
        .env("CRIO_CREDENTIAL_PROVIDER_SECRETS_FOLDER", stage.path("secrets"))
        .env("CRIO_CREDENTIAL_PROVIDER_NO_PULL_RECORD", "true")
        .ask();
    let (response, said) = ran.answered();
    assert!(response.auth.is_empty() && said.starts_with("Wrote auth file to "), "{ran:?}");
}
