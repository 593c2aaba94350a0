//! Sources inside each other, and wildcards: the most specific one decides.

use crate::lab::Lab;

#[test]
fn the_most_specific_source_decides_alone() {
    let lab = Lab::with(&["hub.test/team/app", "mirror-1.test/team/app", "mirror-1.test/teamwork/app"]);
    let conf = lab.render("a-source-inside-another.yaml");
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app@DIGEST").succeeds(),
        ["404 mirror-2.test/ours/app@DIGEST", "200 hub.test/team/app@DIGEST"]
    );
    // A name that only begins like it is not inside it.
    assert_eq!(
        lab.pull(&conf, "hub.test/teamwork/app@DIGEST").succeeds(),
        ["200 mirror-1.test/teamwork/app@DIGEST"]
    );
}

#[test]
fn unlike_openshift_a_blocked_scope_inside_two_sources_has_the_mirrors_of_the_inner_one() {
    let lab = Lab::with(&["hub.test/b/c/app", "mirror-1.test/b/c/app", "mirror-2.test/b/c/app"]);
    let conf = lab.render("a-blocked-scope-inside-two-sources.yaml");
    assert_eq!(lab.pull(&conf, "hub.test/b/c/app@DIGEST").succeeds(), ["200 mirror-2.test/b/c/app@DIGEST"]);
}

/// The registry has no TLS: only as an insecure mirror can it be asked at all.
#[test]
fn unlike_openshift_an_inherited_mirror_inside_an_insecure_scope_is_insecure() {
    let lab = Lab::with(&["hub.test/sub/app", "plain.test/sub/app"]);
    let conf = lab.render("an-insecure-scope-inside-an-inherited-mirror.yaml");
    assert_eq!(lab.pull(&conf, "hub.test/sub/app@DIGEST").succeeds(), ["200 plain.test/sub/app@DIGEST"]);
}

#[test]
fn unlike_openshift_a_tag_set_inside_a_digest_set_leaves_pulls_by_digest_their_mirrors() {
    let lab = Lab::with(&["hub.test/c/app", "mirror-1.test/c/app", "mirror-2.test/app"]);
    let conf = lab.render("a-tag-set-inside-a-digest-set.yaml");
    assert_eq!(lab.pull(&conf, "hub.test/c/app@DIGEST").succeeds(), ["200 mirror-1.test/c/app@DIGEST"]);
    assert_eq!(lab.pull(&conf, "hub.test/c/app:1").succeeds(), ["200 mirror-2.test/app:1"]);
}

/// No host below example.test is looked up, so that none needs to exist.
#[test]
fn a_wildcard_source_gives_its_mirrors_to_each_host_that_has_none_of_its_own() {
    let lab = Lab::with(&["mirror-1.test/all/team/app", "mirror-2.test/special/team/app"]);
    let conf = lab.render("a-wildcard-source-and-a-host-inside-it.yaml");
    for host in ["any.example.test", "deep.below.example.test"] {
        assert_eq!(
            lab.pull(&conf, &format!("{host}/team/app@DIGEST")).succeeds(),
            ["200 mirror-1.test/all/team/app@DIGEST"]
        );
    }
    assert_eq!(
        lab.pull(&conf, "special.example.test/team/app@DIGEST").succeeds(),
        ["200 mirror-2.test/special/team/app@DIGEST"]
    );
    assert_eq!(
        lab.pull(&conf, "any.example.test/team/other@DIGEST").fails_blocked_by("*.example.test"),
        ["404 mirror-1.test/all/team/other@DIGEST"]
    );
}

#[test]
fn unlike_openshift_an_insecure_host_inside_a_wildcard_source_fails_nothing_and_has_its_mirrors() {
    let lab = Lab::with(&["mirror-1.test/all/team/app"]);
    let conf = lab.render("an-insecure-host-inside-a-wildcard-source.yaml");
    for host in ["app.example.test", "any.example.test"] {
        assert_eq!(
            lab.pull(&conf, &format!("{host}/team/app@DIGEST")).succeeds(),
            ["200 mirror-1.test/all/team/app@DIGEST"]
        );
    }
    assert_eq!(
        lab.pull(&conf, "app.example.test/team/other@DIGEST").fails_blocked_by("app.example.test"),
        ["404 mirror-1.test/all/team/other@DIGEST"]
    );
}

/// The library appends the port to the mirror. One name that is none fails the pull before anybody is asked.
#[test]
fn an_image_with_a_port_is_not_pulled_through_the_mirrors_of_a_wildcard_source() {
    let lab = Lab::with(&["mirror-1.test/all/team/app"]);
    let conf = lab.render("a-wildcard-source-and-a-host-inside-it.yaml");
    let pull = lab.pull(&conf, "any.example.test:5000/team/app@DIGEST");
    let said = pull.outcome.unwrap_err();
    assert!(said.contains("rewriting reference: invalid reference format"), "{said}");
    assert!(pull.asked.is_empty(), "{:?}", pull.asked);
}
