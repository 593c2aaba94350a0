//! What the authors of objects are told.

use super::*;
use crate::reference::Reference;
use pullwright_findings::{Finding, Severity};

fn about(merged: &Merged, position: usize) -> Vec<String> {
    merged.verdicts[position].findings.iter().map(line).collect()
}

fn line(finding: &Finding) -> String {
    assert!(finding.help.is_some(), "{finding:?} does not say what to do");
    let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
    format!("{severity} {} {}: {}", finding.rule, finding.at, finding.message)
}

fn outcomes(merged: &Merged) -> Vec<Outcome> {
    merged.verdicts.iter().map(|verdict| verdict.outcome).collect()
}

fn nothing_else() -> RegistrySources {
    RegistrySources::default()
}

fn scopes(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|scope| (*scope).to_owned()).collect()
}

#[test]
fn a_bad_mirror_is_left_out_alone_in_the_operators_words() {
    for bad in ["", "*.other.com/ns-o1", "other.com/ns-o1  "] {
        let expected = |place: &str| {
            format!(
                "error mirrors/invalid-mirror spec.imageDigestMirrors[0].{place}: invalid format for mirror {bad:?}"
            )
        };
        let beside = idms("beside", vec![rule("quay.io", &["m.io", bad])]);
        let alone = idms("alone", vec![rule("x.io", &[bad])]);
        let forbidding = idms("forbidding", vec![never("y.io", &[bad])]);
        let result = merged(&[beside, alone, forbidding], &nothing_else());
        assert_eq!(outcomes(&result), [Outcome::Partly, Outcome::Rejected, Outcome::Partly]);
        assert_eq!(about(&result, 0), [expected("mirrors[1]")]);
        assert_eq!(about(&result, 1), [expected("mirrors[0]")]);
        let entries: Vec<_> =
            result.registries.iter().map(|entry| (entry.prefix.as_str(), entry.blocked)).collect();
        assert_eq!(entries, [("quay.io", false), ("y.io", true)], "never holds without a mirror");
    }
}

#[test]
fn a_slash_at_the_end_does_not_unblock_a_registry() {
    let sources = RegistrySources {
        blocked: vec!["quay.io/".to_owned()],
        insecure: vec!["x.io/team//".to_owned()],
        ..RegistrySources::default()
    };
    let result = merged(&[], &sources);
    let entries: Vec<_> = result
        .registries
        .iter()
        .map(|entry| (entry.prefix.as_str(), entry.blocked, entry.endpoint.insecure))
        .collect();
    assert_eq!(entries, [("quay.io", true, false), ("x.io/team", false, true)]);
    assert_eq!(result.sources.outcome, Outcome::Applied);
}

#[test]
fn a_bad_rule_is_rejected_alone_in_the_operators_words() {
    let cases = [
        (rule("", &["m.io"]), "source", "mirrors/invalid-source", r#"invalid format for source """#),
        (
            rule("*.insecure.com/ns-i1", &["m.io"]),
            "source",
            "mirrors/invalid-source",
            r#"invalid format for source "*.insecure.com/ns-i1""#,
        ),
        (
            rule("insecure.com/ns-i1 ", &["m.io"]),
            "source",
            "mirrors/invalid-source",
            r#"invalid format for source "insecure.com/ns-i1 ""#,
        ),
    ];
    for (bad, place, name, message) in cases {
        let expected = format!("error {name} spec.imageDigestMirrors[0].{place}: {message}");
        let beside = idms("beside", vec![bad.clone(), rule("*.insecure.com", &["n.io"])]);
        let alone = idms("alone", vec![bad]);
        let result = merged(&[beside, alone, icsp("other", vec![rule("x.io", &["y.io"])])], &nothing_else());
        assert_eq!(outcomes(&result), [Outcome::Partly, Outcome::Rejected, Outcome::Applied]);
        assert_eq!(about(&result, 0), [expected.as_str()]);
        assert_eq!(about(&result, 1), [expected.as_str()]);
        let prefixes: Vec<&str> = result.registries.iter().map(|entry| entry.prefix.as_str()).collect();
        assert_eq!(prefixes, ["*.insecure.com", "x.io"]);
    }
}

#[test]
fn never_wins_over_the_source_among_its_own_mirrors() {
    for (mirrors, own, asked) in [
        (&["m.io", "quay.io", "n.io"][..], 1, &["m.io", "n.io"][..]),
        (&["quay.io", "m.io"], 0, &["m.io"]),
        (&["quay.io"], 0, &[]),
    ] {
        let result = merged(&[idms("a", vec![never("quay.io", mirrors)])], &nothing_else());
        let [entry] = result.registries.as_slice() else { panic!("{:?}", result.registries) };
        let locations: Vec<_> = entry.mirrors.iter().map(|it| it.endpoint.location.as_str()).collect();
        assert_eq!((entry.prefix.as_str(), entry.blocked, locations.as_slice()), ("quay.io", true, asked));
        assert_eq!(
            about(&result, 0)[0],
            format!(
                r#"error mirrors/never-with-source spec.imageDigestMirrors[0].mirrors[{own}]: cannot set mirrorSourcePolicy: NeverContactSource if the source "quay.io" is one of the mirrors"#
            )
        );
        assert_eq!(outcomes(&result), [Outcome::Partly]);
    }
}

#[test]
fn a_bad_entry_of_registry_sources_is_left_out_in_the_operators_words() {
    let sources = RegistrySources {
        insecure: scopes(&["", "good.io"]),
        blocked: scopes(&["blocked.io", "https://bad.io"]),
        allowed: scopes(&["a.io/b:tag"]),
        search: Some(scopes(&["docker.io", "docker.io/library"])),
    };
    let result = merged(&[], &sources);
    let lines: Vec<String> = result.sources.findings.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            r#"error registry-sources/invalid-entry spec.registrySources.insecureRegistries[0]: invalid entry for insecure registries """#,
            r#"error registry-sources/invalid-entry spec.registrySources.blockedRegistries[1]: invalid entry for blocked registries "https://bad.io""#,
            r#"error registry-sources/invalid-entry spec.registrySources.allowedRegistries[0]: invalid entry for allowed registries "a.io/b:tag""#,
            r#"error registry-sources/invalid-entry spec.registrySources.containerRuntimeSearchRegistries[1]: invalid entry for search registries "docker.io/library""#,
            "warning registry-sources/blocked-and-allowed spec.registrySources.allowedRegistries: Only one of blockedRegistries or allowedRegistries may be set",
        ]
    );
    assert_eq!(result.sources.outcome, Outcome::Partly);
    assert_eq!(result.search, Some(scopes(&["docker.io"])));
    let prefixes: Vec<&str> = result.registries.iter().map(|entry| entry.prefix.as_str()).collect();
    assert_eq!(prefixes, ["blocked.io", "good.io"]);
}

#[test]
fn both_authors_hear_of_an_order_conflict() {
    let sets = [
        idms("b", vec![rule("quay.io", &["n.io", "m.io"])]),
        icsp("a", vec![rule("quay.io", &["m.io", "n.io"])]),
        idms("c", vec![rule("quay.io", &["o.io"])]),
    ];
    let result = merged(&sets, &nothing_else());
    assert_eq!(
        about(&result, 0),
        [
            r#"warning mirrors/order-conflict spec.imageDigestMirrors[0].mirrors: the order of these mirrors of "quay.io" contradicts ImageContentSourcePolicy/a: "n.io" stands before "m.io", but is asked after it"#
        ]
    );
    assert_eq!(
        about(&result, 1),
        [
            r#"warning mirrors/order-conflict spec.repositoryDigestMirrors[0].mirrors: the order of these mirrors of "quay.io" contradicts ImageDigestMirrorSet/b, which puts "n.io" before "m.io""#
        ]
    );
    assert!(about(&result, 2).is_empty());
    assert_eq!(outcomes(&result), [Outcome::Applied; 3]);
}

#[test]
fn two_rules_of_one_object_that_contradict_each_other_are_named_by_place() {
    let sets = [idms("a", vec![rule("quay.io", &["n.io", "m.io"]), rule("quay.io", &["m.io", "n.io"])])];
    let result = merged(&sets, &nothing_else());
    assert!(
        about(&result, 0)[0].contains("contradicts spec.imageDigestMirrors[0]"),
        "{:?}",
        about(&result, 0)
    );
    assert!(
        about(&result, 0)[1].contains("contradicts spec.imageDigestMirrors[1]"),
        "{:?}",
        about(&result, 0)
    );
}

#[test]
fn never_wins_over_allow_and_both_authors_hear_of_it() {
    let allow = Rule { policy: Some(SourcePolicy::AllowContactingSource), ..rule("quay.io", &["n.io"]) };
    let sets = [idms("never", vec![never("quay.io", &["m.io"])]), itms("allow", vec![allow])];
    let result = merged(&sets, &nothing_else());
    assert!(result.registries[0].blocked);
    assert_eq!(
        about(&result, 0),
        [
            r#"warning mirrors/policy-conflict spec.imageDigestMirrors[0].mirrorSourcePolicy: "quay.io" is never contacted, although ImageTagMirrorSet/allow says AllowContactingSource"#
        ]
    );
    assert_eq!(
        about(&result, 1),
        [
            r#"error mirrors/policy-conflict spec.imageTagMirrors[0].mirrorSourcePolicy: AllowContactingSource is not applied: "quay.io" is never contacted, because of NeverContactSource in ImageDigestMirrorSet/never"#
        ]
    );
    assert_eq!(outcomes(&result), [Outcome::Applied, Outcome::Partly]);
}

#[test]
fn never_wins_over_silence_also_in_the_oldest_kind_and_both_authors_hear_of_it() {
    let sets =
        [icsp("old", vec![rule("quay.io", &["n.io"])]), idms("never", vec![never("quay.io", &["m.io"])])];
    let result = merged(&sets, &nothing_else());
    assert!(result.registries[0].blocked);
    assert_eq!(
        about(&result, 0),
        [
            r#"warning mirrors/policy-conflict spec.repositoryDigestMirrors[0]: "quay.io" is never contacted, because of NeverContactSource in ImageDigestMirrorSet/never; nothing is said about it here"#
        ]
    );
    assert_eq!(
        about(&result, 1)[0],
        r#"warning mirrors/policy-conflict spec.imageDigestMirrors[0].mirrorSourcePolicy: "quay.io" is never contacted, although ImageContentSourcePolicy/old says nothing about it"#
    );
    assert_eq!(outcomes(&result), [Outcome::Applied; 2]);
}

#[test]
fn never_of_a_source_around_reaches_the_other_kind_and_its_author_hears_of_it() {
    let sets =
        [idms("never", vec![never("a.com", &["m.io"])]), itms("tags", vec![rule("a.com/c", &["t.io"])])];
    let result = merged(&sets, &nothing_else());
    assert_eq!(
        about(&result, 1),
        [
            r#"warning mirrors/policy-conflict spec.imageTagMirrors[0]: "a.com/c" is never contacted, because of NeverContactSource of "a.com" in ImageDigestMirrorSet/never; nothing is said about it here"#
        ]
    );
    assert_eq!(
        about(&result, 0),
        [
            r#"warning mirrors/other-kind-refused spec.imageDigestMirrors[0].mirrorSourcePolicy: pulls of "a.com" by tag are refused: NeverContactSource counts for them too, and no ImageTagMirrorSet names a mirror"#
        ]
    );
}

#[test]
fn a_mirror_that_is_never_asked_is_reported() {
    let sources = RegistrySources { blocked: scopes(&["m.io"]), ..nothing_else() };
    let sets = [
        idms("a", vec![rule("quay.io", &["n.io", "m.io:5000/quay"])]),
        idms("b", vec![rule("x.io", &["never.io/x"])]),
        idms("c", vec![never("never.io", &["y.io"])]),
    ];
    let result = merged(&sets, &sources);
    // The library lets m.io govern m.io:5000.
    assert_eq!(
        about(&result, 0),
        [
            r#"warning mirrors/blocked-mirror spec.imageDigestMirrors[0].mirrors[1]: mirror "m.io:5000/quay" of "quay.io" is never asked: "m.io" is blocked"#
        ]
    );
    assert_eq!(
        about(&result, 1)[1..],
        [
            r#"warning mirrors/blocked-mirror spec.imageDigestMirrors[0].mirrors[0]: mirror "never.io/x" of "x.io" is never asked: "never.io" is blocked"#
        ]
    );
}

#[test]
fn a_source_that_a_wildcard_hides_is_reported() {
    let sources = RegistrySources { insecure: scopes(&["*.example.com"]), ..nothing_else() };
    let sets = [idms("a", vec![rule("a.example.com", &["m.io"]), rule("b.example.com/x", &["m.io"])])];
    let result = merged(&sets, &sources);
    assert_eq!(
        about(&result, 0),
        [
            r#"warning mirrors/hidden-source spec.imageDigestMirrors[0].source: "a.example.com" is never used: nodes prefer "*.example.com", which is as long"#
        ]
    );
}

#[test]
fn a_source_that_takes_images_from_another_object_is_reported() {
    let sets = [
        idms("outer", vec![rule("a.com", &["m.io"])]),
        idms("inner", vec![rule("a.com/x", &["n.io"]), rule("a.com/x/y", &["n.io/y"])]),
        itms("tags", vec![rule("a.com/x", &["t.io"])]),
    ];
    let result = merged(&sets, &nothing_else());
    assert!(about(&result, 0).is_empty());
    // The rule for a.com/x/y hides one of its own object, whose author knows.
    assert_eq!(
        about(&result, 1),
        [
            r#"warning mirrors/hides-source spec.imageDigestMirrors[0].source: images of "a.com/x" are not pulled from the mirrors of "a.com" in ImageDigestMirrorSet/outer: only the most specific source applies"#
        ]
    );
    assert!(about(&result, 2).is_empty());
}

#[test]
fn a_source_that_escapes_a_never_around_it_is_reported() {
    let sets = [idms("a", vec![never("a.com", &["m.io"]), rule("a.com/x", &["n.io"])])];
    let result = merged(&sets, &nothing_else());
    let told = about(&result, 0);
    assert!(
        told.contains(&r#"warning mirrors/hides-source spec.imageDigestMirrors[1].source: "a.com/x" may be contacted: NeverContactSource of "a.com" in ImageDigestMirrorSet/a does not reach this more specific source"#.to_owned()),
        "{told:?}"
    );
}

#[test]
fn what_does_nothing_or_cannot_work_is_reported() {
    let sources =
        RegistrySources { insecure: scopes(&["foo.example.com:443", "m.io/sub"]), ..nothing_else() };
    let sets = [icsp(
        "a",
        vec![
            rule("x.io", &[]),
            never("y.io", &["y.io", "mirror"]),
            rule("library", &["m.io"]),
            rule("z.io", &["mirror/z", "m.io", "m.io"]),
            rule("*.example.com", &["n.io/sub"]),
        ],
    )];
    let result = merged(&sets, &sources);
    assert_eq!(
        about(&result, 0),
        [
            r#"warning mirrors/no-mirrors spec.repositoryDigestMirrors[0]: no mirror is named for "x.io", so this rule does nothing"#,
            r#"error mirrors/never-with-source spec.repositoryDigestMirrors[1].mirrors[0]: cannot set mirrorSourcePolicy: NeverContactSource if the source "y.io" is one of the mirrors"#,
            r#"error mirrors/unusable-mirror spec.repositoryDigestMirrors[1].mirrors[1]: "mirror" is left out: it cannot be the start of an image name, and would fail every pull of "y.io""#,
            r#"warning mirrors/never-matches spec.repositoryDigestMirrors[2].source: no image has a name below "library", so this rule is never used"#,
            r#"error mirrors/unusable-mirror spec.repositoryDigestMirrors[3].mirrors[0]: "mirror/z" is left out: it cannot be the start of an image name, and would fail every pull of "z.io""#,
            r#"warning mirrors/duplicate-mirror spec.repositoryDigestMirrors[3].mirrors[2]: "m.io" is named before; it counts where it stands first"#,
            r#"warning mirrors/other-ports spec.repositoryDigestMirrors[4].mirrors[0]: pulls from another port of "*.example.com", such as "registry.example.com:5000/app", fail: nodes apply this rule to them, and no name can be made of "n.io/sub:5000/app""#,
            r#"warning mirrors/other-kind-refused spec.repositoryDigestMirrors[1].mirrorSourcePolicy: pulls of "y.io" by tag are refused: NeverContactSource counts for them too, and no ImageTagMirrorSet names a mirror"#,
            r#"warning mirrors/port-below-wildcard spec.repositoryDigestMirrors[4].mirrors[0]: mirror "n.io/sub" does not serve "foo.example.com:443": a port cannot follow it"#,
        ]
    );
    assert_eq!(outcomes(&result), [Outcome::Partly]);
    let told: Vec<String> = result.sources.findings.iter().map(line).collect();
    assert_eq!(
        told,
        [
            r#"warning registry-sources/insecure-below-mirror spec.registrySources.insecureRegistries[1]: pulls of "library" through its mirror "m.io" are not insecure below "m.io/sub""#
        ]
    );
}

#[test]
fn what_a_mirror_makes_unpullable_is_reported() {
    let told = |source: &str, mirrors: &[&str]| -> Vec<String> {
        about(&merged(&[idms("a", vec![rule(source, mirrors)])], &nothing_else()), 0)
    };
    assert_eq!(
        told("a.com", &["n.io", "m.io/p", "m.io:80"]),
        [
            r#"warning mirrors/other-ports spec.imageDigestMirrors[0].mirrors[1]: pulls from another port of "a.com", such as "a.com:5000/app", fail: nodes apply this rule to them, and no name can be made of "m.io/p:5000/app""#
        ]
    );
    assert!(told("*.example.com", &["m.io:80"])[0].contains(r#""registry.example.com:5000/app""#));
    assert_eq!(
        told("quay.io/team/app", &["m.io/team/app", "k.io"]),
        [
            r#"warning mirrors/no-repository spec.imageDigestMirrors[0].mirrors[1]: if "quay.io/team/app" is a repository, every pull of it fails: with the mirror "k.io" in its place, no name of a repository is left"#
        ]
    );
    for (source, mirrors) in [
        ("a.com", &["m.io"][..]),
        ("a.com:443", &["m.io/p"]),
        // They answer at one port.
        ("docker.io", &["m.io:5000", "m.io/hub"]),
        ("*.dkr.ecr.eu-west-1.amazonaws.com", &["m.io/aws"]),
        ("quay.io/team", &["m.io"]),
        ("a.com/x", &["m.io/p"]),
    ] {
        assert_eq!(told(source, mirrors), [""; 0], "{source}");
    }
}

/// The claims of the test before this one, by the library's own rules.
#[test]
fn what_is_reported_as_unpullable_is() {
    for (source, mirror, works, fails) in [
        ("a.com", "m.io/p", "a.com/x:1", "a.com:5000/x:1"),
        ("*.example.com", "m.io:80", "a.example.com/x:1", "a.example.com:5000/x:1"),
        ("quay.io/team/app", "k.io", "quay.io/team/app/part:1", "quay.io/team/app:1"),
    ] {
        let result = merged(&[itms("a", vec![rule(source, &[mirror])])], &nothing_else());
        let conf = result.registries_conf("/etc/containers/registries.conf".into()).unwrap();
        let pull = |image: &str| conf.pull_sources(&Reference::parse_canonical(image).unwrap());
        assert!(pull(works).is_ok(), "{works}");
        assert!(pull(fails).is_err(), "{fails}");
    }
}

#[test]
fn nothing_is_said_about_objects_that_are_in_order() {
    let sets = [
        idms("a", vec![rule("quay.io", &["m.io/quay", "n.io"]), rule("*.redhat.io", &["m.io/redhat"])]),
        idms("b", vec![rule("quay.io", &["n.io", "o.io"]), never("registry.io:5000", &["m.io/r"])]),
        itms("c", vec![rule("quay.io", &["m.io/quay"]), never("registry.io:5000", &["m.io/r"])]),
    ];
    let sources = RegistrySources {
        insecure: scopes(&["m.io"]),
        blocked: scopes(&["bad.io", "quay.io/bad"]),
        ..nothing_else()
    };
    let result = merged(&sets, &sources);
    for verdict in result.verdicts.iter().chain([&result.sources]) {
        assert_eq!((verdict.outcome, verdict.findings.as_slice()), (Outcome::Applied, &[][..]));
    }
}
