//! What is asked for an image, in order.

use super::*;
use crate::registries::sources::rewrite;

fn sources(conf: &RegistriesConf, text: &str) -> Result<Vec<String>, String> {
    let shown =
        |source: &PullSource| format!("{}{}", source.reference, if source.insecure { "!" } else { "" });
    let sources = conf.pull_sources(&reference(text)).map_err(|error| error.to_string())?;
    Ok(sources.iter().map(shown).collect())
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
        ("example.com/image:latest", "example.com", "example.com", "example.com/image:latest"),
        ("example.com:5000/image", "example.com:5000", "example.com:5000", "example.com:5000/image"),
        ("docker.io/library/image:latest", "docker.io", "docker.io", "docker.io/library/image:latest"),
        ("docker.io/library/prefix/image", "*.io", "example.com", "example.com/library/prefix/image"),
        ("blah.foo.bar.com/omg:bbq", "*.com", "", "blah.foo.bar.com/omg:bbq"),
        ("alien.vs.predator.foobar.io:5000/omg", "*.foobar.io", "", "alien.vs.predator.foobar.io:5000/omg"),
        (
            "alien.vs.predator.foobar.io:5000/omg:bbq",
            "*.foobar.io",
            "",
            "alien.vs.predator.foobar.io:5000/omg:bbq",
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
fn a_name_that_the_prefix_does_not_match_is_not_rewritten() {
    let foo = format!("example.com/foo@{SHA}");
    for (name, prefix, location) in [
        ("example.com/image:latest", "image", "anotherimage"),
        ("example.com/foo/image:latest", "example.com/foo/", "example.com"),
        ("example.com/foo/image", "example.com/f", "example.com/foo"),
        ("example.com/foo:latest", "example.com/f", "example.com/foo"),
        (&foo, "example.com/f", "example.com/foo"),
        ("docker.io/library/image", "example.com", "example.com"),
        ("docker.io/library/image", "*.com", "example.com"),
        ("foo.docker.io/library/image", "*.example.com", "example.com/image"),
        ("foo.docker.io/library/image", "*.docker.com", "example.com/image"),
    ] {
        let result = rewrite(&reference(name), prefix, location).map_err(|error| error.to_string());
        assert_eq!(result, Err(format!("invalid prefix '{prefix}' for reference '{name}'")));
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
