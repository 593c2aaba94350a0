//! Selections: who wins, what is passed over, and that no credential leaves its scope.

use proptest::prelude::*;

use super::super::{Absence, Because, Choice, Credential, PullSecret, Scope, Secret, SecretName, select};
use super::{auth_file, basic, pull_secret, secret};

fn namespace(secret: &str, key: &str) -> Choice {
    let secret = SecretName { namespace: "team".into(), name: secret.into() };
    Choice::Namespace { secret, key: key.into() }
}

fn global(key: &str) -> Choice {
    Choice::Global { key: key.into() }
}

#[test]
fn the_most_specific_key_wins_then_the_first_secret() {
    let secrets = [
        pull_secret("a", r#"{"q.io": {"auth": "YTpob3N0"}, "r.io": {"auth": "YTpy"}}"#),
        pull_secret("b", r#"{"q.io/team": {"auth": "Yjp0ZWFt"}, "https://r.io/v2/": {"auth": "Yjpy"}}"#),
    ];
    let selection =
        select(&secrets, None, ["q.io/team/app", "q.io/other", "r.io/app", "s.io/app", "q.io.evil.com/app"]);
    let choices: Vec<Choice> = selection.choices().cloned().collect();
    let nothing = || Choice::None(Absence::NoKey);
    assert_eq!(
        choices,
        [namespace("b", "q.io/team"), namespace("a", "q.io"), namespace("a", "r.io"), nothing(), nothing()]
    );
    assert_eq!(selection.credential(0), Some(basic("b", "team")));
    assert_eq!(selection.credential(3), None);
    let shadowed: Vec<_> = selection.shadowed(0).into_iter().map(|one| (one.choice, one.because)).collect();
    assert_eq!(shadowed, [(namespace("a", "q.io"), Because::LessSpecific)]);
    let shadowed: Vec<_> = selection.shadowed(2).into_iter().map(|one| (one.choice, one.because)).collect();
    assert_eq!(shadowed, [(namespace("b", "https://r.io/v2/"), Because::LaterSecret)]);
}

#[test]
fn a_broken_entry_lets_the_next_secret_win() {
    let secrets =
        [pull_secret("a", r#"{"q.io": {"auth": "!"}}"#), pull_secret("b", r#"{"q.io": {"auth": "dTpw"}}"#)];
    assert_eq!(select(&secrets, None, ["q.io/app"]).choices().next(), Some(&namespace("b", "q.io")));
}

#[test]
fn the_namespace_comes_before_a_more_specific_global_key() {
    let secrets = [pull_secret("a", r#"{"mirror.local": {"auth": "dTpw"}}"#)];
    let file = auth_file(include_str!("../../../testdata/auth/global-with-helpers-and-unknown-fields.json"));
    let sources = [
        "mirror.local/library/nginx",
        "docker.io/library/nginx",
        "quay.io/x/y",
        "helped.local/x",
        "none.local/x",
    ];
    let selection = select(&secrets, Some(&file), sources);
    let choices: Vec<Choice> = selection.choices().cloned().collect();
    assert_eq!(
        choices,
        [
            namespace("a", "mirror.local"),
            global("https://index.docker.io/v1/"),
            global("quay.io"),
            Choice::Helper { name: "ecr-login".into() },
            Choice::None(Absence::NoKey),
        ]
    );
    let shadowed: Vec<_> = selection.shadowed(0).into_iter().map(|one| (one.choice, one.because)).collect();
    assert_eq!(shadowed, [(global("mirror.local/library"), Because::NamespaceFirst)]);
    assert_eq!(selection.credential(1), Some(basic("global", "hub")));
}

#[test]
fn a_helper_gives_way_when_its_host_has_a_credential_of_the_namespace() {
    let secrets = [pull_secret("a", r#"{"q.io/team": {"auth": "dTpw"}}"#)];
    let file = auth_file(r#"{"credHelpers": {"q.io": "ecr"}}"#);
    let selection = select(&secrets, Some(&file), ["q.io/other/x", "q.io/team/x"]);
    let lost = Choice::None(Absence::HelperLeftOut { name: "ecr".into() });
    assert_eq!(selection.choices().cloned().collect::<Vec<_>>(), [lost, namespace("a", "q.io/team")]);
    let undisturbed = select(&secrets, Some(&file), ["q.io/other/x"]);
    assert_eq!(undisturbed.choices().next(), Some(&Choice::Helper { name: "ecr".into() }));
}

#[test]
fn a_choice_is_shown_without_secrets() {
    let secrets = [pull_secret("a", r#"{"q.io": {"auth": "dTpodW50ZXIy"}}"#)];
    let selection = select(&secrets, None, ["q.io/app", "q.io/app:tag"]);
    let shown: Vec<String> =
        selection.choices().map(|choice| serde_json::to_string(choice).unwrap()).collect();
    assert_eq!(
        shown,
        [
            r#"{"from":"namespace","secret":"team/a","key":"q.io"}"#,
            r#"{"from":"none","reason":"lookup-failed","error":"key q.io/app:tag contains a ':' character after host[:port]"}"#,
        ]
    );
}

/// Keys in all spellings over a few hosts and components that are prefixes of one another.
pub(super) fn key() -> impl Strategy<Value = String> {
    let host = prop::sample::select(vec![
        "q.io",
        "q.io",
        "q.io",
        "q.io:5000",
        "q.io.evil.com",
        "docker.io",
        "index.docker.io",
        "registry-1.docker.io",
    ]);
    let component = prop::sample::select(vec!["a", "a", "ab", "v1"]);
    let scheme = prop::sample::select(vec!["", "", "https://", "http://"]);
    let tail = prop::sample::select(vec!["", "", "/", "/v1/", "/v2"]);
    (scheme, host, prop::collection::vec(component, 0..3), tail).prop_map(|(scheme, host, path, tail)| {
        let name = path.iter().fold(host.to_owned(), |name, component| format!("{name}/{component}"));
        format!("{scheme}{name}{tail}")
    })
}

pub(super) fn source() -> impl Strategy<Value = String> {
    let host = prop::sample::select(vec![
        "q.io",
        "q.io",
        "q.io",
        "q.io:5000",
        "q.io.evil.com",
        "docker.io",
        "index.docker.io",
        "r.io",
    ]);
    let component = prop::sample::select(vec!["a", "a", "ab", "v1"]);
    (host, prop::collection::vec(component, 0..4)).prop_map(|(host, path)| {
        path.iter().fold(host.to_owned(), |name, component| format!("{name}/{component}"))
    })
}

/// Secrets whose entries have a user that names Secret and key, so that a credential tells where it comes
/// from.
pub(super) fn secrets() -> impl Strategy<Value = Vec<Vec<(String, String)>>> {
    let form = prop::sample::select(vec!["auth", "auth", "fields", "token", "both", "broken", "empty"]);
    let entries = prop::collection::vec((key(), form), 0..6);
    prop::collection::vec(entries, 0..3).prop_map(|secrets| {
        let entry = |secret: usize, key: String, form: &str| {
            let user = format!("{secret} {}", key.replace(':', "_"));
            let auth = pullwright_golang::base64::encode(format!("{user}:p").as_bytes());
            let entry = match form {
                "auth" => format!(r#"{{"auth": "{auth}"}}"#),
                "fields" => format!(r#"{{"username": "{user}", "password": "p"}}"#),
                "token" => format!(r#"{{"identitytoken": "{user}"}}"#),
                "both" => format!(r#"{{"auth": "{}", "identitytoken": "t"}}"#, auth.trim_end_matches('=')),
                "broken" => r#"{"auth": "!"}"#.to_owned(),
                _ => "{}".to_owned(),
            };
            (key, entry)
        };
        let secrets = secrets.into_iter().enumerate();
        secrets
            .map(|(n, entries)| entries.into_iter().map(|(key, form)| entry(n, key, form)).collect())
            .collect()
    })
}

pub(super) fn read_secrets(secrets: &[Vec<(String, String)>], reversed: bool) -> Vec<PullSecret> {
    let read = |(n, entries): (usize, &Vec<(String, String)>)| {
        // Of equal keys the last wins, so they are made unique before their order is changed.
        let unique: std::collections::BTreeMap<_, _> =
            entries.iter().map(|(key, entry)| (key, entry)).collect();
        let mut texts: Vec<String> =
            unique.iter().map(|(key, entry)| format!("\"{key}\": {entry}")).collect();
        if reversed {
            texts.reverse();
        }
        let bare: Secret = secret(
            &n.to_string(),
            "kubernetes.io/dockercfg",
            ".dockercfg",
            &format!("{{{}}}", texts.join(",")),
        );
        PullSecret::read(&bare).unwrap()
    };
    secrets.iter().enumerate().map(read).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// The choice is what a plain reading of the rule over all entries gives, and it never leaves its scope.
    #[test]
    fn the_choice_follows_the_rule(secrets in secrets(), sources in prop::collection::vec(source(), 1..5)) {
        let secrets = read_secrets(&secrets, false);
        let selection = select(&secrets, None, sources.iter().map(String::as_str));
        for (position, source) in sources.iter().enumerate() {
            let all = secrets.iter().flat_map(PullSecret::entries);
            let covering: Vec<_> = all.filter(|entry| entry.scope.covers(source)).collect();
            let longest = covering.iter().map(|entry| entry.scope.as_str().len()).max();
            let expected = covering.iter().find(|entry| Some(entry.scope.as_str().len()) == longest);
            let expected: Option<Credential> = expected.map(|entry| entry.credential.clone());
            prop_assert_eq!(selection.credential(position), expected);
            prop_assert_eq!(selection.shadowed(position).len(), covering.len().saturating_sub(1));
            if let Some(Choice::Namespace { key, .. }) = selection.choices().nth(position) {
                prop_assert!(Scope::parse(key).unwrap().covers(source));
            }
        }
    }

    /// The order of the keys in a Secret does not matter.
    #[test]
    fn the_order_of_keys_does_not_matter(secrets in secrets(), sources in prop::collection::vec(source(), 1..5)) {
        let (forward, backward) = (read_secrets(&secrets, false), read_secrets(&secrets, true));
        let names = || sources.iter().map(String::as_str);
        let (forward, backward) = (select(&forward, None, names()), select(&backward, None, names()));
        prop_assert!(forward.choices().eq(backward.choices()));
    }
}
