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

fn names(conf: &RegistriesConf, input: &str, mode: ShortNameMode) -> Result<Vec<String>, String> {
    let rule = ShortNameRule { mode, origin: None };
    let found = conf.candidates(input, &rule).map_err(|error| error.to_string())?;
    Ok(found.iter().map(|candidate| candidate.reference.to_string()).collect())
}

#[test]
fn crio_decides_about_a_short_name_with_several_candidates_whatever_registries_conf_says() {
    let text =
        "unqualified-search-registries = ['quay.io', 'docker.io']\n[aliases]\nfedora = 'r.io/fedora'\n";
    let refused = Err("short name mode is enforcing, but image name nginx returns ambiguous list".to_owned());
    for mode in ["enforcing", "permissive", "disabled"] {
        let loaded = conf(&[text, &format!("short-name-mode = '{mode}'\n")]);
        assert_eq!(names(&loaded, "nginx", ShortNameMode::Enforcing), refused, "{mode}");
        assert_eq!(
            names(&loaded, "nginx", ShortNameMode::Disabled).map(|names| names.len()),
            Ok(2),
            "{mode}"
        );
        assert!(names(&loaded, "fedora", ShortNameMode::Enforcing).is_ok(), "{mode}");
        assert!(names(&loaded, "a.io/x", ShortNameMode::Enforcing).is_ok(), "{mode}");
    }
    let one = conf(&["unqualified-search-registries = ['quay.io']\n"]);
    assert_eq!(names(&one, "nginx", ShortNameMode::Enforcing).unwrap(), ["quay.io/nginx:latest"]);
    assert_eq!(ShortNameRule::default().mode, ShortNameMode::Enforcing);
}

#[test]
fn an_ambiguous_short_name_says_what_it_may_stand_for_and_what_to_do() {
    let loaded = conf(&["unqualified-search-registries = ['quay.io', 'docker.io']\n"]);
    let rule = ShortNameRule { mode: ShortNameMode::Enforcing, origin: Some("/etc/crio/crio.conf".into()) };
    let help = loaded.candidates("nginx", &rule).unwrap_err().help().unwrap();
    for part in [
        "quay.io/nginx:latest or docker.io/library/nginx:latest",
        "an alias",
        "short_name_mode = \"disabled\"",
        "/etc/crio/crio.conf says enforcing",
    ] {
        assert!(help.contains(part), "{help}");
    }
}

#[test]
fn a_recorded_alias_comes_before_all_others_and_is_named_as_the_reason() {
    let path = Path::new("/var/cache/containers/short-name-aliases.conf");
    let text = "[aliases]\nnginx = 'recorded.io/nginx'\ngone = ''\n";
    let loaded = conf(&[
        "unqualified-search-registries = ['quay.io']\n[aliases]\nnginx = 'a.io/nginx'\ngone = 'a.io/gone'\nkept = 'a.io/kept'\n",
    ])
    .with_recorded(Recorded::parse(path.to_owned(), text));
    let first = |input: &str| loaded.candidates(input, &ShortNameRule::default()).unwrap().swap_remove(0);
    let nginx = first("nginx:1");
    assert_eq!(nginx.reference.to_string(), "recorded.io/nginx:1");
    assert_eq!(nginx.reason, CandidateReason::Alias { origin: path.to_owned() });
    assert_eq!(first("kept").reference.to_string(), "a.io/kept:latest");
    assert_eq!(first("gone").reference.to_string(), "quay.io/gone:latest", "taken back, so it is searched");
    assert_eq!(loaded.candidates_of_short_name("nginx")[0].name(), "recorded.io/nginx");
}

#[test]
fn recorded_aliases_with_a_fault_fail_short_names_and_nothing_else() {
    let broken = Recorded::parse("/a.conf".into(), "[aliases]\nnginx = 'nginx'\n");
    let loaded = conf(&["unqualified-search-registries = ['quay.io']\n"]).with_recorded(broken);
    assert_eq!(
        names(&loaded, "busybox", ShortNameMode::Enforcing),
        Err("loading short-name aliases config file \"/a.conf\": invalid alias \"nginx\": must contain registry and repository"
            .to_owned())
    );
    assert_eq!(names(&loaded, "quay.io/x", ShortNameMode::Enforcing).unwrap(), ["quay.io/x:latest"]);
    assert!(loaded.candidates_of_short_name("busybox").is_empty());
}

#[test]
fn aliases_are_recorded_for_root_in_one_place_and_for_users_in_their_caches() {
    let at = |uid, cache: Option<&str>, home: Option<&str>| {
        let env = LoaderEnv {
            uid,
            xdg_cache_home: cache.map(Into::into),
            home: home.map(Into::into),
            ..LoaderEnv::default()
        };
        env.recorded_aliases().map(|path| path.display().to_string())
    };
    let found = |folder: &str| Some(format!("{folder}/containers/short-name-aliases.conf"));
    assert_eq!(at(0, Some("/c"), Some("/root")), found("/var/cache"));
    assert_eq!(at(1000, Some("/c"), Some("/home/u")), found("/c"));
    assert_eq!(at(1000, None, Some("/home/u")), found("/home/u/.cache"));
    assert_eq!(at(1000, None, None), None);
}

#[test]
fn a_short_name_stands_for_its_alias_or_for_every_search_registry() {
    let text = "unqualified-search-registries = ['quay.io', 'docker.io']\n[aliases]\nfedora = 'r.io/fedora'\ngone = ''\n";
    let loaded = conf(&[text]);
    let names = |conf: &RegistriesConf, input: &str| names(conf, input, ShortNameMode::Disabled);
    assert_eq!(names(&loaded, "fedora:1").unwrap(), ["r.io/fedora:1"]);
    assert_eq!(names(&loaded, "nginx").unwrap(), ["quay.io/nginx:latest", "docker.io/library/nginx:latest"]);
    assert_eq!(names(&loaded, "gone").unwrap().len(), 2);
    assert_eq!(names(&loaded, "docker.io/nginx").unwrap(), ["docker.io/library/nginx:latest"]);
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
        let found = loaded.candidates(&format!("{name}:1@{SHA}"), &ShortNameRule::default()).unwrap();
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
