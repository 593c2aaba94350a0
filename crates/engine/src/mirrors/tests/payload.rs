//! What `blockedRegistries` may do to the release image: the cases of the Machine Config Operator's tests, and where we
//! differ.

use super::*;
use pullwright_findings::Severity;

const RELEASE: &str = "payload-reg.io/release-image@sha256:\
    4207ba569ff014931f1b5d125fe3751936a768e119546683c899eb09f3cdceb0";

fn by_digest(repository: &str) -> String {
    RELEASE.replace("payload-reg.io/release-image", repository)
}

fn protected(release: &str, sources: &RegistrySources, sets: &[MirrorSet]) -> Merged {
    merge_protecting(&MergeInputs { sets, sources }, &Payload::parse(release).unwrap())
}

fn blocking(scopes: &[&str]) -> RegistrySources {
    RegistrySources { blocked: owned(scopes), ..RegistrySources::default() }
}

fn owned(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|scope| (*scope).to_owned()).collect()
}

/// The scopes that are blocked in the file, those that the policy rejects, those that it accepts, and those that were
/// dropped with an error.
fn outcome(merged: &Merged, sources: &RegistrySources) -> [Vec<String>; 4] {
    let blocked =
        merged.registries.iter().filter(|entry| entry.blocked && sources.blocked.contains(&entry.prefix));
    let policy = merged.policy.clone().unwrap();
    let with = |requirement| {
        let scopes = policy.iter().flat_map(|policy| &policy.scopes);
        scopes.filter(|(_, said)| **said == requirement).map(|(scope, _)| scope.clone()).collect()
    };
    let errors = merged.sources.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let dropped = errors.map(|finding| {
        assert_eq!(finding.rule.name(), "registry-sources/blocks-payload");
        let index = sources.blocked.iter().position(|scope| {
            let words = "to blocked registries, cannot block the repository being used by the payload";
            finding.message == format!("error adding [\"{scope}\"] {words}")
        });
        let index = index.unwrap_or_else(|| panic!("{}", finding.message));
        assert_eq!(finding.at.to_string(), format!("spec.registrySources.blockedRegistries[{index}]"));
        sources.blocked[index].clone()
    });
    let mut blocked: Vec<_> = blocked.map(|entry| entry.prefix.clone()).collect();
    blocked.sort();
    [blocked, with(Requirement::Reject), with(Requirement::Accept), dropped.collect()]
}

struct Case {
    claim: &'static str,
    release: String,
    blocked: &'static [&'static str],
    sets: Vec<MirrorSet>,
    /// As [`outcome`] has them.
    expected: [&'static [&'static str]; 4],
}

fn hold(cases: Vec<Case>) {
    for Case { claim, release, blocked, sets, expected } in cases {
        let sources = blocking(blocked);
        let merged = protected(&release, &sources, &sets);
        assert_eq!(outcome(&merged, &sources), expected.map(owned), "{claim}");
        let outcome = match expected {
            [_, _, _, []] => ObjectOutcome::Applied,
            [[], ..] => ObjectOutcome::Rejected,
            _ => ObjectOutcome::Partly,
        };
        assert_eq!(merged.sources.outcome, outcome, "{claim}");
    }
}

#[test]
fn the_payload_is_protected_as_the_machine_config_operator_does_it() {
    let unrelated =
        || vec![idms("other", vec![rule("other-reg.io", &["mirror-1.io/other", "mirror-2.io/other"])])];
    let mirrors = ["mirror-1.io/payload", "mirror-2.io/payload"];
    let plain: [&[&str]; 4] = [&["block-2.io", "block.io"], &["block-2.io", "block.io"], &[], &[]];
    let all: &[&str] = &["block-2.io", "block.io", "payload-reg.io"];
    let mirrored: [&[&str]; 4] = [all, all, &["payload-reg.io/release-image"], &[]];
    let blocked = &["block.io", "payload-reg.io", "block-2.io"];
    hold(vec![
        Case {
            claim: "nothing of the payload is blocked",
            release: RELEASE.to_owned(),
            blocked: &["block.io", "block-2.io"],
            sets: Vec::new(),
            expected: plain,
        },
        Case {
            claim: "nothing of the payload is blocked, and something else is mirrored",
            release: RELEASE.to_owned(),
            blocked: &["block.io", "block-2.io"],
            sets: unrelated(),
            expected: plain,
        },
        Case {
            claim: "blocked, and only something else is mirrored",
            release: RELEASE.to_owned(),
            blocked,
            sets: unrelated(),
            expected: [plain[0], plain[1], &[], &["payload-reg.io"]],
        },
        Case {
            claim: "blocked, and mirrored",
            release: RELEASE.to_owned(),
            blocked,
            sets: vec![idms("payload", vec![rule("payload-reg.io/release-image", &mirrors)])],
            expected: mirrored,
        },
        Case {
            claim: "blocked, and mirrored by the older kind",
            release: RELEASE.to_owned(),
            blocked,
            sets: vec![icsp("payload", vec![rule("payload-reg.io/release-image", &mirrors)])],
            expected: mirrored,
        },
        Case {
            claim: "the mirror of the registry is blocked for the payload",
            release: by_digest("quay.io/openshift-release-dev"),
            blocked: &["quay.io", "block.io/openshift-release-dev"],
            sets: vec![idms("payload", vec![rule("quay.io", &["block.io"])])],
            expected: [
                &["block.io/openshift-release-dev"],
                &["block.io/openshift-release-dev"],
                &[],
                &["quay.io"],
            ],
        },
        Case {
            claim: "the mirror of the payload is blocked with its registry",
            release: by_digest("quay.io/openshift-release-dev"),
            blocked: &["quay.io", "block.io"],
            sets: vec![idms(
                "payload",
                vec![rule("quay.io/openshift-release-dev", &["block.io/openshift-release-dev"])],
            )],
            expected: [&["block.io"], &["block.io"], &[], &["quay.io"]],
        },
        Case {
            claim: "the payload is mirrored with its registry",
            release: by_digest("blah.io/payload/myimage"),
            blocked: &["blah.io/payload", "docker.io"],
            sets: vec![idms("payload", vec![rule("blah.io", &["mirror-1.io", "mirror-2.io"])])],
            expected: [
                &["blah.io/payload", "docker.io"],
                &["blah.io/payload", "docker.io"],
                &["blah.io/payload/myimage"],
                &[],
            ],
        },
        Case {
            claim: "nothing is left of the list",
            release: RELEASE.to_owned(),
            blocked: &["*.io", "payload-reg.io/release-image"],
            sets: Vec::new(),
            expected: [&[], &[], &[], &["*.io", "payload-reg.io/release-image"]],
        },
    ]);
}

#[test]
fn only_a_mirror_that_nodes_may_ask_by_digest_counts() {
    hold(vec![
        Case {
            claim: "mirrors of tags do not count",
            release: RELEASE.to_owned(),
            blocked: &["block.io", "payload-reg.io"],
            sets: vec![itms("payload", vec![rule("payload-reg.io/release-image", &["mirror-1.io/payload"])])],
            expected: [&["block.io"], &["block.io"], &[], &["payload-reg.io"]],
        },
        Case {
            claim: "mirrors of tags do not count for an image that is named by tag either",
            release: "payload-reg.io/release-image:4.20".to_owned(),
            blocked: &["block.io", "payload-reg.io"],
            sets: vec![itms("payload", vec![rule("payload-reg.io/release-image", &["mirror-1.io/payload"])])],
            expected: [&["block.io"], &["block.io"], &[], &["payload-reg.io"]],
        },
        Case {
            claim: "a blocked mirror does not count even if nodes prefer a wildcard that is as long",
            release: RELEASE.to_owned(),
            blocked: &["a.block.io", "payload-reg.io"],
            sets: vec![idms(
                "payload",
                vec![rule("payload-reg.io", &["a.block.io/payload"]), rule("*.block.io", &["mirror-1.io"])],
            )],
            expected: [&["a.block.io"], &["a.block.io"], &[], &["payload-reg.io"]],
        },
    ]);
}

/// Each would have kept the nodes of a cluster from pulling what they are made from, or everything else.
#[test]
fn the_payload_is_protected_better_than_by_the_machine_config_operator_here() {
    let repository = "payload-reg.io/release-image";
    let mirrored = |mirror: &str| vec![idms("payload", vec![rule(repository, &[mirror])])];
    let never = idms("never", vec![never("mirror-1.io", &["elsewhere.io"])]);
    hold(vec![
        Case {
            claim: "the policy does not reject everything else if exactly the payload is blocked",
            release: RELEASE.to_owned(),
            blocked: &["payload-reg.io/release-image"],
            sets: mirrored("mirror-1.io/payload"),
            expected: [&["payload-reg.io/release-image"], &[], &["payload-reg.io/release-image"], &[]],
        },
        Case {
            claim: "the payload may be blocked twice",
            release: RELEASE.to_owned(),
            blocked: &["payload-reg.io", "payload-reg.io/release-image"],
            sets: mirrored("mirror-1.io/payload"),
            expected: [
                &["payload-reg.io", "payload-reg.io/release-image"],
                &["payload-reg.io"],
                &["payload-reg.io/release-image"],
                &[],
            ],
        },
        Case {
            claim: "nodes block every port of a blocked host: of the mirror",
            release: RELEASE.to_owned(),
            blocked: &["block.io", "payload-reg.io"],
            sets: mirrored("block.io:5000/payload"),
            expected: [&["block.io"], &["block.io"], &[], &["payload-reg.io"]],
        },
        Case {
            claim: "nodes block every port of a blocked host: of the payload",
            release: by_digest("payload-reg.io:5000/release-image"),
            blocked: &["block.io", "payload-reg.io"],
            sets: Vec::new(),
            expected: [&["block.io"], &["block.io"], &[], &["payload-reg.io"]],
        },
        Case {
            claim: "a mirror that is never contacted does not count",
            release: RELEASE.to_owned(),
            blocked: &["block.io", "payload-reg.io"],
            sets: [mirrored("mirror-1.io/payload"), vec![never]].concat(),
            expected: [&["block.io"], &["block.io"], &[], &["payload-reg.io"]],
        },
    ]);
}

#[test]
fn what_was_taken_off_the_list_is_pulled_from_its_own_registry() {
    let sources = blocking(&["payload-reg.io", "block.io"]);
    let release = Payload::parse(RELEASE).unwrap();
    let asked = |merged: &Merged| {
        let conf = merged.registries_conf("/etc/containers/registries.conf".into()).unwrap();
        let sources =
            conf.pull_sources(&crate::reference::Reference::parse_canonical(RELEASE).unwrap()).unwrap();
        sources.iter().filter(|source| source.blocked_by.is_none()).count()
    };
    assert_eq!(release.repository(), "payload-reg.io/release-image");
    assert_eq!(asked(&merged(&[], &sources)), 0, "without the image nothing is protected");
    assert_eq!(asked(&protected(RELEASE, &sources, &[])), 1);
}

#[test]
fn the_author_learns_that_the_payload_is_not_allowed() {
    let allowing = |scopes: &[&str]| RegistrySources { allowed: owned(scopes), ..RegistrySources::default() };
    for enough in ["payload-reg.io", "payload-reg.io/release-image", "*.io"] {
        let merged = protected(RELEASE, &allowing(&["quay.io", enough]), &[]);
        assert_eq!(merged.sources.findings, [], "{enough}");
    }
    let merged = protected(RELEASE, &allowing(&["quay.io", "payload-reg.io/other"]), &[]);
    let [finding] = merged.sources.findings.as_slice() else { panic!("{:?}", merged.sources) };
    assert_eq!(
        (finding.severity, finding.rule.name(), finding.at.to_string()),
        (
            Severity::Warning,
            "registry-sources/payload-not-allowed",
            "spec.registrySources.allowedRegistries".to_owned()
        )
    );
    assert_eq!(merged.sources.outcome, ObjectOutcome::Applied);
}

#[test]
fn a_release_image_has_to_be_named_in_full() {
    for bad in ["", "release-image", "payload-reg.io/Release", "payload-reg.io/release@sha256:00"] {
        let error = Payload::parse(bad).unwrap_err().to_string();
        assert!(error.starts_with("error parsing reference of release image "), "{error}");
    }
}
