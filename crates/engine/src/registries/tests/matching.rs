//! Which entry governs a name.

use super::*;
use crate::registries::index::matched;

#[test]
fn a_prefix_matches_at_boundaries() {
    let (bar, other) = (format!("example.com/foo/bar@{SHA}"), format!("example.com/foo@{SHA}"));
    let another = format!("example.com/foo@sha256:{}", "b".repeat(64));
    let (yet, yet_sub) = (
        format!("yet.another.example.com/foo/bar@{SHA}"),
        format!("yet.another.sub.example.com/foo/bar@{SHA}"),
    );
    for (name, prefix, part) in [
        ("docker.io", "docker.io", Some("docker.io")),
        ("docker.io", "example.com", None),
        ("example.com:5000", "example.com:5000", Some("example.com:5000")),
        ("example.com:50000", "example.com:5000", None),
        ("example.com:5000", "example.com", Some("example.com")),
        ("example.com/foo", "example.com", Some("example.com")),
        ("example.com/foo/bar", "example.com", Some("example.com")),
        ("example.com/foo/bar:baz", "example.com", Some("example.com")),
        (&bar, "example.com", Some("example.com")),
        ("docker.io", "docker.io/library", None),
        ("docker.io/library", "docker.io/library", Some("docker.io/library")),
        ("example.com/library", "docker.io/library", None),
        ("docker.io/libraryy", "docker.io/library", None),
        ("docker.io/library/busybox", "docker.io/library", Some("docker.io/library")),
        ("docker.io", "docker.io/library/busybox", None),
        ("docker.io/library/busybox", "docker.io/library/busybox", Some("docker.io/library/busybox")),
        ("example.com/library/busybox", "docker.io/library/busybox", None),
        ("docker.io/library/busybox2", "docker.io/library/busybox", None),
        ("example.com", "example.com/foo:bar", None),
        ("example.com/foo", "example.com/foo:bar", None),
        ("example.com/foo:bar", "example.com/foo:bar", Some("example.com/foo:bar")),
        ("example.com/foo:bar2", "example.com/foo:bar", None),
        ("example.com", &other, None),
        ("example.com/foo", &other, None),
        (&other, &other, Some(&other)),
        (&another, &other, None),
        ("example.com/foo", "*", None),
        ("docker.io", "*.io", Some("docker.io")),
        ("docker.io/foo", "*.com", None),
        ("example.com/foo", "*.co", None),
        ("example.com/foo", "*.example.com", None),
        ("example.com/foo", "*.com", Some("example.com")),
        ("example.com/foo:bar", "*.com", Some("example.com")),
        ("example.com/foo/bar:baz", "*.com", Some("example.com")),
        ("yet.another.example.com/foo", "**.example.com", None),
        ("yet.another.example.com/foo", "***.another.example.com", None),
        ("yet.another.example.com/foo", "**********.another.example.com", None),
        ("yet.another.example.com/foo/bar", "**********.another.example.com", None),
        ("yet.another.example.com/foo/bar", "*.another.example.com", Some("yet.another.example.com")),
        ("another.example.com/namespace.com/foo/bar/bbq:baz", "*.example.com", Some("another.example.com")),
        ("example.net/namespace-ends-in.com/foo/bar/bbq:baz", "*.com", None),
        ("another.example.com/namespace.com/foo/bar/bbq:baz", "*.namespace.com", None),
        ("sub.example.com/foo/bar", "*.com", Some("sub.example.com")),
        ("sub.example.com/foo/bar", "*.example.com", Some("sub.example.com")),
        ("another.sub.example.com/foo/bar/bbq:baz", "*.example.com", Some("another.sub.example.com")),
        ("another.sub.example.com/foo/bar/bbq:baz", "*.sub.example.com", Some("another.sub.example.com")),
        (&yet, "*.example.com", Some("yet.another.example.com")),
        (&yet_sub, "*.sub.example.com", Some("yet.another.sub.example.com")),
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
