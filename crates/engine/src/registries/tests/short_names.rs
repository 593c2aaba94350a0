//! Aliases and search registries.

use super::*;

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

/// CRI-O drops the tag before it asks, whichever way the name was found.
#[test]
fn a_name_with_tag_and_digest_is_asked_for_by_digest_alone() {
    let loaded = conf(&["unqualified-search-registries = ['quay.io']\n[aliases]\nfedora = 'r.io/fedora'\n"]);
    for (name, asked) in [("q.io/x", "q.io/x"), ("fedora", "r.io/fedora"), ("nginx", "quay.io/nginx")] {
        let found = loaded.candidates(&format!("{name}:1@{SHA}")).unwrap();
        assert_eq!(found[0].reference.to_string(), format!("{asked}@{SHA}"));
    }
}

#[test]
fn aliases_of_later_files_win_and_empty_ones_take_back() {
    let base = "short-name-mode = 'enforcing'\n[aliases]\ndocker = 'docker.io/library/foo'\n\
        'quay/foo' = 'quay.io/library/foo'\nexample = 'example.com/library/foo'\nempty = ''\n";
    let first = "[aliases]\ndocker = 'docker.io/library/config1'\nconfig1 = 'config1.com/image'\nbarz = 'barz.com/image/config1'\n";
    let second = "short-name-mode = 'permissive'\n[aliases]\nconfig2 = 'config2.com/image'\n\
        barz = 'barz.com/config2'\nadded3 = 'xxx.com/image'\nexample = ''\n";
    let loaded = conf(&[base, first, second]);
    assert_eq!(loaded.aliases().len(), 8);
    assert_eq!(loaded.short_name_mode(), ShortNameMode::Permissive);
    for (name, target, origin) in [
        ("docker", Some("docker.io/library/config1"), "/1.conf"),
        ("quay/foo", Some("quay.io/library/foo"), "/0.conf"),
        ("barz", Some("barz.com/config2"), "/2.conf"),
        ("example", None, "/2.conf"),
        ("empty", None, "/0.conf"),
    ] {
        let alias = &loaded.aliases()[name];
        assert_eq!(alias.target.as_ref().map(ToString::to_string).as_deref(), target, "{name}");
        assert_eq!(alias.origin, Path::new(origin), "{name}");
    }
}
