//! The loader's and the matcher's behaviour, from the test data of the Go library and from its quirks.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::index::matched;
use super::sources::rewrite;
use super::*;
use crate::reference::{Dialect, Reference};

const SHA: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn testdata(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/registries").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn conf(texts: &[&str]) -> RegistriesConf {
    let file =
        |(index, text): (usize, &&str)| (format!("/{index}.conf").into(), ConfFile::parse(text).unwrap());
    RegistriesConf::merge(texts.iter().enumerate().map(file))
}

fn reference(text: &str) -> Reference {
    Reference::parse(Dialect::Runtime, text).unwrap()
}

fn sources(conf: &RegistriesConf, text: &str) -> Result<Vec<String>, String> {
    let shown =
        |source: &PullSource| format!("{}{}", source.reference, if source.insecure { "!" } else { "" });
    let sources = conf.pull_sources(&reference(text)).map_err(|error| error.to_string())?;
    Ok(sources.iter().map(shown).collect())
}

#[test]
fn each_rejected_file_says_why() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/registries/reject");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let expected = text.lines().next().unwrap().strip_prefix("# refused: ").unwrap().replace("\\n", "\n");
        let error = ConfFile::parse(&text).expect_err(&path.display().to_string());
        match &error.problem {
            Problem::Syntax(_) => {
                assert_eq!(expected, "SYNTAX", "{}", path.display());
                assert!(error.span.is_some());
            }
            _ => assert_eq!(error.to_string(), expected, "{}", path.display()),
        }
        count += 1;
    }
    assert!(count >= 20, "the fixtures are gone");
}

#[test]
fn a_version_1_file_is_refused_with_the_same_settings_in_version_2() {
    let error = ConfFile::parse(&testdata("reject/version1.conf")).unwrap_err();
    let Problem::Version1 { converted } = error.problem else { panic!("{error}") };
    let converted = conf(&[&converted]);
    assert_eq!(
        converted.unqualified_search_registries().unwrap(),
        ["registry-a.com".to_owned(), "registry-c.com".to_owned()]
    );
    let entry = converted.find("registry-b.com/x").unwrap();
    assert!(entry.blocked && entry.endpoint.insecure);
}

#[test]
fn a_refusal_points_at_its_place() {
    let text =
        "[[registry]]\nlocation = 'a.com'\n[[registry.mirror]]\nlocation = 'm.com'\n[[registry.mirror]]\n";
    assert_eq!(ConfFile::parse(text).unwrap_err().at.to_string(), "registry[0].mirror[1]");
}

#[test]
fn what_is_passed_over_is_reported() {
    let text = "[[registry]]\nlocation = 'a.com'\nurl = 'x'\nmirror_by_digest_only = true\n[[registry]]\nlocation = 'a.com'\n";
    let findings = ConfFile::parse(text).unwrap().findings();
    let told: Vec<_> = findings.iter().map(|f| (f.rule, f.at.to_string(), f.help.clone().unwrap())).collect();
    assert_eq!(
        told,
        [
            (
                "registries/unknown-key",
                "registry[0].mirror_by_digest_only".into(),
                "did you mean \"mirror-by-digest-only\"?".into()
            ),
            ("registries/unknown-key", "registry[0].url".into(), "did you mean \"location\"?".into()),
            (
                "registries/duplicate-prefix",
                "registry[1]".into(),
                "put all its mirrors into the first entry".into()
            ),
        ]
    );
}

#[test]
fn entries_that_can_never_work_are_reported() {
    for (text, rule) in [
        ("location = 'a.*.com'", "registries/never-matches"),
        ("prefix = '/'\nlocation = 'q.com'", "registries/never-matches"),
        ("location = 'example.com/foo:bar'", "registries/never-matches"),
        ("location = 'docker://p.com'", "registries/never-matches"),
        ("location = 'a.com'\n[[registry.mirror]]\nlocation = 'mirror'", "registries/unusable-location"),
        ("location = 'a.com'\n[[registry.mirror]]\nlocation = 'm.com/UP'", "registries/unusable-location"),
        ("prefix = 'a.com'\nlocation = 'b.com'\nblocked = true", "registries/blocked-elsewhere"),
    ] {
        let findings = ConfFile::parse(&format!("[[registry]]\n{text}\n")).unwrap().findings();
        assert!(findings.iter().any(|finding| finding.rule == rule), "{text}: {findings:?}");
    }
    let good = "[[registry]]\nlocation = 'a.com'\n[[registry.mirror]]\nlocation = 'm.com/ns//'\n[[registry]]\nprefix = '*.e.com'\n";
    assert_eq!(ConfFile::parse(good).unwrap().findings(), []);
}

#[test]
fn names_of_fields_match_without_regard_to_case() {
    let loaded =
        conf(&["[[Registry]]\nLOCATION = 'a.com'\nBlocked = true\n[[registry]]\nlocation='unseen.com'\n"]);
    assert!(loaded.find("unseen.com/x").is_some());
    let loaded = conf(&["[[Registry]]\nLOCATION = 'a.com'\nBlocked = true\n\"bloc\u{212a}ed\" = false\n"]);
    assert!(loaded.find("a.com/x").is_some());
}

#[test]
fn a_prefix_matches_at_boundaries() {
    let (bar, other) = (format!("example.com/foo/bar@{SHA}"), format!("example.com/foo@{SHA}"));
    for (name, prefix, part) in [
        ("docker.io", "docker.io", Some("docker.io")),
        ("docker.io", "example.com", None),
        ("example.com:5000", "example.com:5000", Some("example.com:5000")),
        ("example.com:50000", "example.com:5000", None),
        ("example.com:5000", "example.com", Some("example.com")),
        ("example.com/foo/bar", "example.com", Some("example.com")),
        ("example.com/foo/bar:baz", "example.com", Some("example.com")),
        (&bar, "example.com", Some("example.com")),
        ("docker.io", "docker.io/library", None),
        ("example.com/library", "docker.io/library", None),
        ("docker.io/libraryy", "docker.io/library", None),
        ("docker.io/library/busybox", "docker.io/library", Some("docker.io/library")),
        ("docker.io/library/busybox2", "docker.io/library/busybox", None),
        ("example.com/foo", "example.com/foo:bar", None),
        ("example.com/foo:bar", "example.com/foo:bar", Some("example.com/foo:bar")),
        ("example.com/foo:bar2", "example.com/foo:bar", None),
        (&other, &other, Some(&other)),
        ("example.com/foo", "*", None),
        ("docker.io", "*.io", Some("docker.io")),
        ("docker.io/foo", "*.com", None),
        ("example.com/foo", "*.co", None),
        ("example.com/foo", "*.example.com", None),
        ("example.com/foo:bar", "*.com", Some("example.com")),
        ("yet.another.example.com/foo", "**.example.com", None),
        ("yet.another.example.com/foo", "***.another.example.com", None),
        ("yet.another.example.com/foo/bar", "*.another.example.com", Some("yet.another.example.com")),
        ("another.example.com/namespace.com/foo/bar/bbq:baz", "*.example.com", Some("another.example.com")),
        ("example.net/namespace-ends-in.com/foo/bar/bbq:baz", "*.com", None),
        ("another.example.com/namespace.com/foo/bar/bbq:baz", "*.namespace.com", None),
        ("sub.example.com/foo/bar", "*.com", Some("sub.example.com")),
        ("another.sub.example.com/foo/bar/bbq:baz", "*.sub.example.com", Some("another.sub.example.com")),
    ] {
        assert_eq!(matched(name, prefix).map(|end| &name[..end]), part, "{name} by {prefix}");
    }
}

#[test]
fn the_longest_prefix_governs() {
    let loaded = conf(&[
        &testdata("find/registries.conf"),
        &testdata("find/10-replaces-by-prefix.conf"),
        &testdata("find/20-adds-beside-a-shorter-name.conf"),
    ]);
    assert_eq!(loaded.registries().len(), 16);
    let digest = format!("foo.bar.example.com:6000/omg/wtf/bbq@{SHA}");
    for (name, prefix, location) in [
        ("simple-prefix.com/foo/bar:latest", "simple-prefix.com", "registry.com:5000"),
        ("simple-prefix.com/", "simple-prefix.com", "registry.com:5000"),
        ("simple-prefix.com", "simple-prefix.com", "registry.com:5000"),
        ("not.so.simple-prefix.com/", "*.so.simple-prefix.com", "subdomain-prefix.com"),
        ("not.quite.simple-prefix.com/", "*.simple-prefix.com", "subdomain-prefix-2.com"),
        (
            "not.quite.simple-prefix.com:5000/with/path/and/beyond:tag",
            "*.simple-prefix.com",
            "subdomain-prefix-2.com",
        ),
        (
            "really.not.quite.simple-prefix.com:5000/with/path/and/beyond:tag",
            "*.not.quite.simple-prefix.com",
            "subdomain-prefix-1-overridden-by-dropin-location.com",
        ),
        ("foo.docker.io:5000/omg/wtf/bbq:foo", "*.docker.io", "subdomain-prefix-2.com"),
        (&digest, "*.bar.example.com", "subdomain-prefix-3-overridden-by-dropin-location.com"),
        ("foo.bar.docker.io:5000/omg/wtf/bbq:foo", "*.bar.docker.io", "subdomain-prefix-4.com"),
        ("foo.bar.example.com:5000/omg/wtf/bbq:foo", "foo.bar.example.com:5000", "subdomain-prefix-5.com"),
        (
            "complex-prefix.com:4000/with/path/and/beyond:tag",
            "complex-prefix.com:4000/with/path",
            "another-registry.com:5000",
        ),
        ("no-prefix.com/foo:tag", "no-prefix.com", "no-prefix.com"),
        ("empty-prefix.com/foo:tag", "empty-prefix.com", "empty-prefix.com"),
    ] {
        let found = loaded.find(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!((found.prefix.as_str(), found.endpoint.location.as_str()), (prefix, location), "{name}");
    }
    assert_eq!(loaded.find("simple-prefix.comx"), None);
    let replaced = loaded.find("x.bar.example.com/y").unwrap();
    assert_eq!(loaded.origin(replaced), Some(Path::new("/1.conf")));
}

#[test]
fn quirks_of_the_longest_prefix() {
    let of = |prefixes: &[&str], name: &str| {
        let text: String =
            prefixes.iter().map(|p| format!("[[registry]]\nprefix = '{p}'\nlocation = 'l.com'\n")).collect();
        conf(&[&text]).find(name).map(|entry| entry.prefix.clone())
    };
    assert_eq!(of(&["a.example.com", "*.example.com"], "a.example.com/x").as_deref(), Some("*.example.com"));
    assert_eq!(
        of(&["ab.example.com", "*.example.com"], "ab.example.com/x").as_deref(),
        Some("ab.example.com")
    );
    assert_eq!(of(&["*.example.com"], "a.example.com.example.com/x"), None);
    assert_eq!(of(&["*.example.com"], "a.example.com.evil.org/x"), None);
    assert_eq!(of(&["*.example.com"], "example.com/x"), None);
    assert_eq!(
        of(&["example.com", "example.com:5000"], "example.com:5000/x").as_deref(),
        Some("example.com:5000")
    );
    assert_eq!(of(&["Example.com"], "example.com/x"), None);
    assert_eq!(of(&["example.com/foo:bar"], "example.com/foo"), None);
    assert_eq!(of(&["/"], "p.com/x"), None);
}

#[test]
fn rewriting_puts_the_location_in_place_of_the_prefix() {
    let (foo, bbq) =
        (format!("example.com/foo@{SHA}"), format!("alien.vs.predator.foobar.io:5000/foo@{SHA}"));
    for (name, prefix, location, result) in [
        ("example.com/image", "example.com", "example.com", "example.com/image"),
        (
            "example.com:5000/image:latest",
            "example.com:5000",
            "example.com:5000",
            "example.com:5000/image:latest",
        ),
        (&foo, "example.com", "example.com", &foo),
        ("example.com/foo/image:latest", "example.com/foo", "example.com", "example.com/image:latest"),
        (
            "example.com/foo/image:latest",
            "example.com/foo",
            "example.com/path",
            "example.com/path/image:latest",
        ),
        ("docker.io/library/image", "docker.io/library", "example.com", "example.com/image"),
        ("docker.io/library/image", "docker.io", "example.com", "example.com/library/image"),
        ("docker.io/library/prefix/image", "docker.io/library/prefix", "example.com", "example.com/image"),
        ("docker.io/namespace/image", "*.io", "example.com", "example.com/namespace/image"),
        (
            "sub.example.io/library/prefix/image",
            "*.example.io",
            "example.com",
            "example.com/library/prefix/image",
        ),
        (
            "another.sub.example.io:5000/library/prefix/image:latest",
            "*.sub.example.io",
            "example.com",
            "example.com:5000/library/prefix/image:latest",
        ),
        (
            "foo.bar.io/ns1/ns2/ns3/ns4",
            "*.bar.io",
            "omg.bbq.com/roflmao",
            "omg.bbq.com/roflmao/ns1/ns2/ns3/ns4",
        ),
        (
            "abc.internal.registry.com/foo:bar",
            "*.internal.registry.com",
            "",
            "abc.internal.registry.com/foo:bar",
        ),
        (&bbq, "*.foobar.io", "", &bbq),
    ] {
        let rewritten = rewrite(&reference(name), prefix, location).map(|r| r.to_string());
        assert_eq!(rewritten.as_deref(), Ok(result), "{name} {prefix} {location}");
    }
}

#[test]
fn rewriting_fails_in_the_runtime_s_words() {
    let foo = format!("example.com/foo@{SHA}");
    for (name, prefix, location, error) in [
        (
            "example.com/foo/image:latest",
            "example.com/foo",
            "example.com/path/",
            "rewriting reference: invalid reference format",
        ),
        (&foo, "example.com/foo", "example.com", "rewriting reference: repository name must be canonical"),
        (
            "example.com:5000/image:latest",
            "example.com",
            "",
            "invalid prefix 'example.com' for empty location, should be in the format: *.example.com",
        ),
        (
            "example.com:5000/image:latest",
            "example.com",
            "example.com:5000",
            "rewriting reference: invalid reference format",
        ),
        (
            "example.com/foo/image:latest",
            "example.com//foo",
            "example.com/path",
            "invalid prefix 'example.com//foo' for reference 'example.com/foo/image:latest'",
        ),
        (
            "example.com/foo/image",
            "example.com/f",
            "x.com",
            "invalid prefix 'example.com/f' for reference 'example.com/foo/image'",
        ),
        (
            "docker.io/library/image",
            "*.com",
            "x.com",
            "invalid prefix '*.com' for reference 'docker.io/library/image'",
        ),
    ] {
        let result = rewrite(&reference(name), prefix, location).map_err(|error| error.to_string());
        assert_eq!(result, Err(error.to_owned()), "{name} {prefix} {location}");
    }
}

#[test]
fn mirrors_come_first_and_only_where_they_serve_the_pull() {
    let loaded = conf(&[&testdata("sources/registries.conf")]);
    assert_eq!(loaded.registries().len(), 9);
    let m = |letter: char, numbers: &[&str]| -> Vec<String> {
        numbers.iter().map(|n| format!("mirror-{n}.registry-{letter}.com")).collect()
    };
    for (prefix, by_digest, by_tag) in [
        ("registry-a.com/foo", m('a', &["1", "2"]), m('a', &["1", "2"])),
        ("registry-b.com/foo", m('b', &["1", "2"]), vec![]),
        ("registry-a.com/baz", m('a', &["1", "2"]), m('a', &["1", "2"])),
        ("registry-b.com/baz", m('b', &["1", "2"]), vec![]),
        ("registry-c.com/baz", m('c', &["1", "2"]), m('c', &["1"])),
        ("registry-d.com/baz", m('d', &["1", "2"]), vec![]),
        ("registry-e.com/baz", vec![], m('e', &["1", "2"])),
        ("registry-f.com/baz", m('f', &["1"]), m('f', &["1", "2"])),
        ("registry-g.com/baz", m('g', &["1", "3", "4"]), m('g', &["2", "3", "4"])),
    ] {
        let primary = format!("{}/bar", prefix.split_once('/').unwrap().0);
        for (version, mirrors) in [(format!("@{SHA}"), by_digest), (":aaa".to_owned(), by_tag)] {
            let expected: Vec<String> = mirrors
                .iter()
                .chain([&primary])
                .map(|location| {
                    let insecure = if location == "mirror-2.registry-a.com" { "!" } else { "" };
                    format!("{location}/image{version}{insecure}")
                })
                .collect();
            assert_eq!(
                sources(&loaded, &format!("{prefix}/image{version}")),
                Ok(expected),
                "{prefix}{version}"
            );
        }
    }
}

#[test]
fn quirks_of_pull_sources() {
    let one = |prefix: &str, location: &str, mirror: &str| {
        let mirror = if mirror.is_empty() {
            String::new()
        } else {
            format!("[[registry.mirror]]\nlocation='{mirror}'\n")
        };
        conf(&[&format!("[[registry]]\nprefix='{prefix}'\nlocation='{location}'\n{mirror}")])
    };
    let ok = |texts: &[&str]| Ok(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    let err = |text: &str| Err(format!("rewriting reference: {text}"));
    assert_eq!(
        sources(&one("a.com/library", "docker.io", ""), "a.com/library/busybox:1"),
        err("repository name must be canonical")
    );
    assert_eq!(
        sources(&one("a.com", "docker.io", ""), "a.com/library/busybox:1"),
        ok(&["docker.io/library/busybox:1"])
    );
    assert_eq!(
        sources(&one("a.com", "a.com", "mirror"), "a.com/x:1"),
        err("repository name must be canonical")
    );
    assert_eq!(
        sources(&one("a.com", "a.com", "localhost/m"), "a.com/x:1"),
        ok(&["localhost/m/x:1", "a.com/x:1"])
    );
    assert_eq!(
        sources(&one("a.com", "a.com", "m.com/UP"), "a.com/x:1"),
        err("invalid reference format: repository name must be lowercase")
    );
    // A port that the prefix does not name stays behind the location.
    assert_eq!(
        sources(&one("a.com", "a.com", "m.com"), "a.com:5000/x:1"),
        ok(&["m.com:5000/x:1", "a.com:5000/x:1"])
    );
    assert_eq!(
        sources(&one("a.com", "a.com", "m.com:443"), "a.com:5000/x:1"),
        err("invalid reference format")
    );
    assert_eq!(
        sources(&one("a.com/ns/repo", "a.com/ns/repo", "m.com/other"), "a.com/ns/repo:1"),
        ok(&["m.com/other:1", "a.com/ns/repo:1"])
    );
    assert_eq!(
        sources(&one("a.com", "a.com", "m.com/ns//"), "a.com/x:1"),
        ok(&["m.com/ns/x:1", "a.com/x:1"])
    );
    assert_eq!(sources(&one("a.com/x", "b.com/y:2", ""), "a.com/x:1"), err("invalid reference format"));
    let wildcard = conf(&["[[registry]]\nlocation = '*.e.com'\n"]);
    assert_eq!(sources(&wildcard, "a.e.com/x:1"), err("invalid reference format"));
    assert_eq!(sources(&RegistriesConf::default(), "a.com/x:1"), ok(&["a.com/x:1"]));
}

#[test]
fn blocked_is_asked_of_the_place_that_would_be_contacted() {
    let loaded =
        conf(&["[[registry]]\nlocation='a.com'\nblocked=true\n[[registry.mirror]]\nlocation='m.com'\n\
        [[registry.mirror]]\nlocation='b.com/bad'\n[[registry]]\nlocation='b.com'\nblocked=true\n\
        [[registry]]\nprefix='p.com'\nlocation='q.com'\nblocked=true\n"]);
    let blocked = |name: &str| -> Vec<Option<String>> {
        loaded.pull_sources(&reference(name)).unwrap().into_iter().map(|source| source.blocked_by).collect()
    };
    assert_eq!(blocked("a.com/x"), [None, Some("b.com".to_owned()), Some("a.com".to_owned())]);
    assert_eq!(blocked("p.com/x"), [None], "names that are sent elsewhere are not blocked");
}

#[test]
fn a_later_file_replaces_entries_whole_and_lists_if_it_has_them() {
    let base = "unqualified-search-registries = ['example.com']\ncredential-helpers = ['helper-1']\n\
        short-name-mode = 'enforcing'\n[[registry]]\nlocation = 'base.com'\ninsecure = true\n\
        [aliases]\ndocker = 'docker.io/library/foo'\n'quay/foo' = 'quay.io/library/foo'\nempty = ''\n";
    let later = "unqualified-search-registries = []\ncredential-helpers = []\n\
        [[registry]]\nlocation = 'base.com'\nblocked = true\n[aliases]\ndocker = 'docker.io/config1'\n";
    let silent = "short-name-mode = ''\n";
    let merged = conf(&[base, later, silent]);
    let entry = merged.find("base.com/x").unwrap();
    assert!(entry.blocked && !entry.endpoint.insecure);
    assert_eq!(merged.unqualified_search_registries(), Some(&[][..]));
    assert_eq!(merged.search_origin(), Some(Path::new("/1.conf")));
    assert_eq!(merged.credential_helpers(), ["containers-auth.json"]);
    assert_eq!(merged.short_name_mode(), ShortNameMode::Enforcing);
    let alias = |name: &str| merged.aliases()[name].target.as_ref().map(ToString::to_string);
    assert_eq!(alias("docker").as_deref(), Some("docker.io/library/config1"));
    assert_eq!(alias("quay/foo").as_deref(), Some("quay.io/library/foo"));
    assert_eq!(alias("empty"), None);
    assert_eq!(RegistriesConf::default().unqualified_search_registries(), None);
}

#[test]
fn aliases_are_short_names_for_repositories() {
    let accepted =
        |name: &str, value: &str| ConfFile::parse(&format!("[aliases]\n'{name}' = '{value}'\n")).is_ok();
    for value in
        ["docker.io/library/fedora", "localhost/fedora", "localhost:5000/fedora", "localhost:5000/ns/fedora"]
    {
        assert!(accepted("fedora", value), "{value}");
    }
    let with_digest = format!("docker.io/library/fedora@{SHA}");
    for value in
        ["fedora", "fedora:latest", "library/fedora", "$$4455%%", "docker://foo", "q.io/x:1", &with_digest]
    {
        assert!(!accepted("fedora", value), "{value}");
    }
    for name in ["library/fedora", "fedora", "1234567489"] {
        assert!(accepted(name, "q.io/x"), "{name}");
    }
    for name in ["library/fedora:1", "$$4455%%", "docker://foo", "", "quay.io/x", "localhost/x"] {
        assert!(!accepted(name, "q.io/x"), "{name}");
    }
}

#[test]
fn a_short_name_stands_for_its_alias_or_for_every_search_registry() {
    let text = "unqualified-search-registries = ['quay.io', 'docker.io']\n[aliases]\nfedora = 'r.io/fedora'\ngone = ''\n";
    let loaded = conf(&[text]);
    let names = |conf: &RegistriesConf, input: &str| -> Result<Vec<String>, String> {
        let found = conf.candidates(input).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|candidate| candidate.reference.to_string()).collect())
    };
    assert_eq!(names(&loaded, "fedora:1").unwrap(), ["r.io/fedora:1"]);
    assert_eq!(names(&loaded, "nginx").unwrap(), ["quay.io/nginx:latest", "docker.io/library/nginx:latest"]);
    assert_eq!(names(&loaded, "gone").unwrap().len(), 2);
    assert_eq!(names(&loaded, "docker.io/nginx").unwrap(), ["docker.io/library/nginx:latest"]);
    let enforcing = conf(&[text, "short-name-mode = 'enforcing'\n"]);
    assert_eq!(
        names(&enforcing, "nginx"),
        Err("short name mode is enforcing, but image name nginx returns ambiguous list".to_owned())
    );
    assert!(names(&enforcing, "fedora").is_ok());
    assert_eq!(
        names(&RegistriesConf::default(), "nginx"),
        Err(
            "short-name \"nginx\" did not resolve to an alias and no containers-registries.conf(5) was found"
                .to_owned()
        )
    );
}

/// The algorithm of the Go library: every entry is tried on the name.
fn find_by_scanning<'a>(conf: &'a RegistriesConf, name: &str) -> Option<&'a Registry> {
    let mut best: Option<&Registry> = None;
    for entry in conf.registries() {
        if matched(name, &entry.prefix).is_some()
            && entry.prefix.len() > best.map_or(0, |best| best.prefix.len())
        {
            best = Some(entry);
        }
    }
    best
}

prop_compose! {
    fn name()(text in "([ab*]\\.){0,3}[ab.*]{1,3}(:[12])?(/[ab.]{1,2}){0,3}([:@][ab])?") -> String { text }
}

proptest! {
    #[test]
    fn the_index_finds_what_scanning_finds(
        prefixes in proptest::collection::vec(name(), 0..12),
        names in proptest::collection::vec(name(), 1..8),
    ) {
        let tables: String = prefixes.iter()
            .filter(|prefix| !(prefix.starts_with("*.") && prefix.contains(['/', '@', ':'])))
            .map(|prefix| format!("[[registry]]\nprefix = '{prefix}'\nlocation = 'l.com'\n"))
            .collect();
        let loaded = conf(&[&tables]);
        for name in &names {
            prop_assert_eq!(loaded.find(name), find_by_scanning(&loaded, name), "{}", name);
        }
    }

    /// parse∘render is the identity.
    #[test]
    fn a_rendered_configuration_loads_to_itself(
        prefixes in proptest::collection::vec((name(), any::<bool>(), any::<bool>(), "[a-z\"\\\\\u{0}-\u{20}é]{0,6}"), 0..6),
        search in proptest::option::of(proptest::collection::vec("[a-z]{1,5}", 0..3)),
    ) {
        let mut text = search.map(|hosts| format!("unqualified-search-registries = {hosts:?}\n")).unwrap_or_default();
        for (prefix, insecure, digest_only, proxy) in prefixes {
            if !(prefix.starts_with("*.") && prefix.contains(['/', '@', ':'])) {
                let proxy: String = proxy.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
                text += &format!("[[registry]]\nprefix = '{prefix}'\nlocation = '{prefix}x'\ninsecure = {insecure}\n\
                    mirror-by-digest-only = {digest_only}\nnamespace-proxy = \"{proxy}\"\n\
                    [[registry.mirror]]\nlocation = 'm.com'\n");
            }
        }
        let Ok(file) = ConfFile::parse(&text) else { return Ok(()) };
        let loaded = RegistriesConf::merge([("/a.conf".into(), file)]);
        let again = conf(&[&loaded.render()]);
        prop_assert_eq!(again.registries(), loaded.registries());
        prop_assert_eq!(again.unqualified_search_registries(), loaded.unqualified_search_registries());
        prop_assert_eq!(again.render(), loaded.render());
    }

    #[test]
    fn no_text_makes_the_loader_fall_over(text in any::<String>()) {
        let _ = ConfFile::parse(&text);
    }
}
