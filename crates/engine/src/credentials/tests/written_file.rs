//! The written auth file: the runtime finds in it exactly what was chosen, for every source.

use proptest::prelude::*;

use super::super::{Absence, AuthFile, Choice, Lookup, select};
use super::documents::near_document;
use super::selection::{key, read_secrets, secrets, source};
use super::{auth_file, basic, pull_secret};

const GLOBAL: &str = include_str!("../../../testdata/auth/global-with-helpers-and-unknown-fields.json");

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn nothing_is_written_when_the_namespace_gives_nothing() {
    let secrets = [pull_secret("a", r#"{"elsewhere.io": {"auth": "dTpw"}}"#)];
    assert_eq!(select(&secrets, Some(&auth_file(GLOBAL)), ["quay.io/x"]).auth_file(), None);
    assert_eq!(select(&secrets, None, []).auth_file(), None);
}

#[test]
fn the_file_holds_the_choice_and_the_rest_of_the_global_file() {
    let secrets = [pull_secret(
        "a",
        r#"{"mirror.local": {"username": "team", "password": "pw"}, "helped.local/team": {"identitytoken": "t"}}"#,
    )];
    let file = auth_file(GLOBAL);
    let sources = [
        "mirror.local/library/nginx",
        "helped.local/team/x",
        "helped.local/other/x",
        "docker.io/library/nginx",
    ];
    let written = select(&secrets, Some(&file), sources).auth_file().unwrap();
    let left_out = &written.helpers_left_out[0];
    assert_eq!((left_out.host.as_str(), left_out.name.as_str()), ("helped.local", "ecr-login"));
    assert_eq!(left_out.sources, ["helped.local/other/x"]);
    assert_eq!(
        text(written.bytes.expose()),
        r#"{
	"auths": {
		"docker.io/library/nginx": { "auth": "Z2xvYmFsOmh1Yg==" },
		"helped.local": {},
		"helped.local/other/x": {},
		"helped.local/team/x": {"auth":"PHRva2VuPjo=","identitytoken":"t"},
		"https://index.docker.io/v1/": { "auth": "Z2xvYmFsOmh1Yg==" },
		"mirror.local/library": { "auth": "Z2xvYmFsOmxpYnJhcnk=", "email": "ops@example.org" },
		"mirror.local/library/nginx": {"auth":"dGVhbTpwdw=="},
		"quay.io": { "auth": "Z2xvYmFsOnF1YXk=" }
	},
	"credHelpers": {
		"other.local": "gcr"
	},
	"HttpHeaders": { "User-Agent": "docker/29" },
	"credsStore": "secretservice"
}
"#
    );
    assert!(!format!("{written:?}").contains("dGVhbTpwdw"));
}

/// A Secret has room for a password of a megabyte, and a node may have many mirrors on one host.
#[test]
fn the_file_is_bounded_and_who_gets_nothing_is_not_shown_another_s_credential() {
    let large = "p".repeat(900_000);
    let document =
        format!(r#"{{"q.io": {{"username": "u", "password": "{large}"}}, "k.io": {{"auth": "dTpw"}}}}"#);
    let (secrets, file) =
        ([pull_secret("a", &document)], auth_file(r#"{"auths": {"q.io": {"auth": "Zzpn"}}}"#));
    let sources: Vec<_> =
        (0..20).map(|number| format!("q.io/{number}")).chain(["k.io/x".to_owned()]).collect();
    let written = select(&secrets, Some(&file), sources.iter().map(String::as_str)).auth_file().unwrap();
    assert!(written.bytes.expose().len() < 5 << 20, "{} bytes", written.bytes.expose().len());
    assert_eq!(written.sources_left_out.len(), 17);
    let read = AuthFile::parse(written.bytes.expose()).unwrap();
    let found = sources.iter().map(|source| matches!(read.lookup(source), Lookup::Found { .. }));
    let expected = (0..20).map(|number| number < 3).chain([true]);
    assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn a_source_without_its_helper_does_not_wake_up_leftover_entries() {
    let secrets = [pull_secret("a", r#"{"q.io/team": {"auth": "dTpw"}}"#)];
    let file = auth_file(r#"{"auths": {"q.io": {"auth": "b2xkOm9sZA=="}}, "credHelpers": {"q.io": "ecr"}}"#);
    let written = select(&secrets, Some(&file), ["q.io/team/x", "q.io/other/x"]).auth_file().unwrap();
    let written = AuthFile::parse(written.bytes.expose()).unwrap();
    assert!(
        matches!(written.lookup("q.io/team/x"), Lookup::Found { credential, .. } if credential == basic("u", "p"))
    );
    assert_eq!(written.lookup("q.io/other/x"), Lookup::None { stopped_at: Some("q.io/other/x") });
}

/// A global file in any state that the runtime accepts, often with helpers and several spellings of one host.
fn global() -> impl Strategy<Value = Option<AuthFile>> {
    let entry = prop::sample::select(vec![
        r#"{"auth": "Zzox"}"#,
        r#"{"auth": "Zzoy", "x": 1}"#,
        "{}",
        "null",
        r#"{"auth": "!"}"#,
    ]);
    let host = prop::sample::select(vec!["q.io", "q.io", "docker.io", "index.docker.io"]);
    let tidy = (prop::collection::vec((key(), entry), 0..6), prop::collection::vec(host, 0..2)).prop_map(
        |(auths, helpers)| {
            let auths: Vec<String> = auths.iter().map(|(key, entry)| format!("\"{key}\": {entry}")).collect();
            let helpers: Vec<String> = helpers.iter().map(|host| format!("\"{host}\": \"ecr\"")).collect();
            format!(r#"{{"auths": {{{}}}, "credHelpers": {{{}}}}}"#, auths.join(","), helpers.join(","))
        },
    );
    prop_oneof![3 => tidy, 1 => near_document()].prop_map(|text| AuthFile::parse(text.as_bytes()).ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_runtime_finds_exactly_the_choice(
        secrets in secrets(),
        global in global(),
        sources in prop::collection::vec(prop_oneof![9 => source(), 1 => key()], 1..6),
    ) {
        let secrets = read_secrets(&secrets, false);
        let selection = select(&secrets, global.as_ref(), sources.iter().map(String::as_str));
        let any = selection.choices().any(|choice| matches!(choice, Choice::Namespace { .. }));
        let Some(content) = selection.auth_file() else {
            prop_assert!(!any, "a choice of the namespace was not written");
            return Ok(());
        };
        prop_assert!(any, "a file was written for nothing");
        let written = AuthFile::parse(content.bytes.expose()).unwrap();
        for (position, (source, choice)) in selection.iter().enumerate() {
            match (choice, written.lookup(source)) {
                (Choice::Namespace { .. } | Choice::Global { .. }, Lookup::Found { credential, .. }) => {
                    prop_assert_eq!(Some(credential), selection.credential(position));
                }
                (Choice::Helper { name }, Lookup::Helper { name: found }) => prop_assert_eq!(name, found),
                (Choice::None(Absence::LookupFailed { error }), Lookup::Failed(failed)) => {
                    prop_assert_eq!(error, &failed.to_string());
                }
                (Choice::None(Absence::NoKey | Absence::EmptyEntry { .. } | Absence::HelperLeftOut { .. }), Lookup::None { .. }) => {}
                (choice, found) => prop_assert!(false, "{source}: chose {choice:?}, found {found:?}"),
            }
        }
        // What was global and is not in the way is still there, to the byte.
        if let Some(global) = &global {
            for key in global.document().keys().filter(|key| !sources.iter().any(|source| source == key)) {
                prop_assert_eq!(global.document().entry_with_key(key), written.document().entry_with_key(key));
            }
            for (host, name) in global.document().helpers() {
                let left_out = content.helpers_left_out.iter().any(|one| one.host == host && one.name == name);
                prop_assert!(left_out != written.document().helpers().any(|helper| helper == (host, name)));
            }
        }
    }

    /// Writing is stable: nothing depends on the order of the sources.
    #[test]
    fn the_order_of_sources_does_not_matter(
        secrets in secrets(), global in global(), sources in prop::collection::vec(source(), 1..6),
    ) {
        let secrets = read_secrets(&secrets, false);
        let forward = select(&secrets, global.as_ref(), sources.iter().map(String::as_str)).auth_file();
        let backward = select(&secrets, global.as_ref(), sources.iter().rev().map(String::as_str)).auth_file();
        prop_assert_eq!(forward.map(|content| content.bytes), backward.map(|content| content.bytes));
    }
}
