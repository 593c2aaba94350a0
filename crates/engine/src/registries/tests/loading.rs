//! What the loader accepts, refuses, passes over and merges.

use super::*;

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
            Problem::Syntax { .. } => {
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
    let told: Vec<_> =
        findings.iter().map(|f| (f.rule.name(), f.at.to_string(), f.remedy().to_owned())).collect();
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
        assert!(findings.iter().any(|finding| finding.rule.name() == rule), "{text}: {findings:?}");
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
fn without_anything_said_the_defaults_hold() {
    let empty = conf(&["# nothing\n"]);
    assert_eq!(empty.registries(), Vec::<&Registry>::new());
    assert_eq!(empty.credential_helpers(), ["containers-auth.json"]);
    assert_eq!(empty.short_name_mode(), ShortNameMode::Permissive);
    assert_eq!(empty.unqualified_search_registries(), None);
}

#[test]
fn entries_are_told_in_the_order_of_their_prefixes() {
    let loaded = conf(&["[[registry]]\nlocation = 'registry.com'\n\
        [[registry.mirror]]\nlocation = 'mirror-1.registry.com'\n\
        [[registry.mirror]]\nlocation = 'mirror-2.registry.com'\ninsecure = true\n\
        [[registry]]\nlocation = 'blocked.registry.com'\nblocked = true\n\
        [[registry]]\nlocation = 'insecure.registry.com'\ninsecure = true\n\
        [[registry]]\nlocation = 'untrusted.registry.com'\ninsecure = true\n"]);
    let prefixes: Vec<&str> = loaded.registries().iter().map(|entry| entry.prefix.as_str()).collect();
    assert_eq!(
        prefixes,
        ["blocked.registry.com", "insecure.registry.com", "registry.com", "untrusted.registry.com"]
    );
    let mirrors = &loaded.find("registry.com/image:tag").unwrap().mirrors;
    let mirrors: Vec<_> =
        mirrors.iter().map(|mirror| (mirror.endpoint.location.as_str(), mirror.endpoint.insecure)).collect();
    assert_eq!(mirrors, [("mirror-1.registry.com", false), ("mirror-2.registry.com", true)]);
}

#[test]
fn drop_ins_replace_what_they_name_and_nothing_else() {
    let base = "unqualified-search-registries = ['example.com']\n[[registry]]\nlocation = 'base.com'\ninsecure = true\n";
    let first = "unqualified-search-registries = ['example-overwrite.com']\n\
        credential-helpers = ['we', 'will', 'be', 'overridden', 'later']\n[[registry]]\nlocation = '1.com'\n";
    let second = "credential-helpers = ['dropin-1', 'dropin-2']\n[[registry]]\nlocation = '1.com'\n\
        [[registry]]\nlocation = '2.com'\n[[registry]]\nlocation = 'base.com'\nblocked = true\n";
    let loaded = conf(&[base, first, second]);
    assert_eq!(loaded.unqualified_search_registries(), Some(&["example-overwrite.com".to_owned()][..]));
    assert_eq!(loaded.search_origin(), Some(Path::new("/1.conf")));
    assert_eq!(loaded.credential_helpers(), ["dropin-1", "dropin-2"]);
    let told: Vec<_> =
        loaded.registries().iter().map(|entry| (entry.prefix.as_str(), entry.blocked)).collect();
    assert_eq!(told, [("1.com", false), ("2.com", false), ("base.com", true)]);

    let searched = |later: &str| {
        let three =
            "unqualified-search-registries = ['registry-a.com', 'registry-c.com/', 'registry-d.com']\n";
        conf(&[three, later]).unqualified_search_registries().map(<[String]>::len)
    };
    assert_eq!(searched("# says nothing of it\n"), Some(3));
    assert_eq!(searched("unqualified-search-registries = []\n"), Some(0));
    let helped = |later: &str| {
        conf(&["credential-helpers = ['helper-1', 'helper-2']\n", later]).credential_helpers().join(" ")
    };
    assert_eq!(helped(""), "helper-1 helper-2");
    assert_eq!(helped("credential-helpers = []\n"), "containers-auth.json");
}

#[test]
fn locations_lose_trailing_slashes_and_nothing_else() {
    let location = |text: &str| {
        ConfFile::parse(&format!("[[registry]]\nlocation = '{text}'\n"))
            .map(|file| {
                RegistriesConf::merge([("/a".into(), file)]).registries()[0].endpoint.location.clone()
            })
            .map_err(|error| error.to_string())
    };
    for (text, expected) in [
        ("example.com/", "example.com"),
        ("example.com//////", "example.com"),
        ("example.com:5000/with/path", "example.com:5000/with/path"),
        ("john.doe@example.com", "john.doe@example.com"),
    ] {
        assert_eq!(location(text).as_deref(), Ok(expected));
    }
    assert!(location("https://example.com").is_err());
}

#[test]
fn aliases_that_are_no_table_are_none_and_a_finding_says_so() {
    for text in
        ["[[aliases]]\nnginx = 'a.io/nginx'\n", "aliases = ''\n", "aliases = 1\n", "aliases = ['x']\n"]
    {
        let file = ConfFile::parse(text).unwrap();
        let findings: Vec<_> =
            file.findings().iter().map(|finding| (finding.rule.name(), finding.at.to_string())).collect();
        assert_eq!(findings, [("registries/ignored-aliases", "aliases".to_owned())], "{text}");
        let loaded = conf(&["[aliases]\nnginx = 'b.io/nginx'\n", text]);
        assert_eq!(loaded.aliases()["nginx"].target.as_ref().unwrap().name(), "b.io/nginx", "{text}");
    }
    assert!(ConfFile::parse("[aliases]\nnginx = 1\n").is_err());
}

#[test]
fn a_table_that_a_person_adds_to_after_its_end_counts_whole() {
    let loaded = conf(&["aliases.nginx = 'a.io/nginx'\n[aliases]\nredis = 'a.io/redis'\n"]);
    assert_eq!(loaded.aliases().keys().collect::<Vec<_>>(), ["nginx", "redis"]);
}

#[test]
fn nesting_that_nobody_looks_at_may_be_deep() {
    let nested = |depth: usize| format!("x = {}{}\n", "[".repeat(depth), "]".repeat(depth));
    assert!(ConfFile::parse(&nested(90)).is_ok());
}

#[test]
fn names_that_differ_in_case_only_fill_one_field_in_the_order_of_their_bytes() {
    let file = ConfFile::parse(
        "[[Registry]]\nlocation = 'a.io'\nInsecure = false\ninsecure = true\n[[registry]]\nprefix = 'b.io'\n",
    )
    .unwrap();
    let rules: Vec<_> =
        file.findings().iter().map(|finding| (finding.rule.name(), finding.at.to_string())).collect();
    assert_eq!(
        rules,
        [
            ("registries/ambiguous-key", "Registry[0].Insecure".to_owned()),
            ("registries/ambiguous-key", "Registry".to_owned())
        ]
    );
    let loaded = RegistriesConf::merge([("/0.conf".into(), file)]);
    let [entry] = loaded.registries()[..] else { panic!() };
    assert_eq!(
        (entry.prefix.as_str(), entry.endpoint.location.as_str()),
        ("b.io", "a.io"),
        "items are filled one by one"
    );
    assert!(entry.endpoint.insecure);
}

#[test]
fn a_second_spelling_of_the_wrong_type_refuses_the_file() {
    for text in ["Aliases = {x = 1}\n[aliases]\n", "Registry = 1\n[[registry]]\nlocation = 'a.io'\n"] {
        assert!(ConfFile::parse(text).is_err(), "{text}");
    }
}
