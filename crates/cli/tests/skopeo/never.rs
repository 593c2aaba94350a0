//! `NeverContactSource`: the source has the image, and its log stays empty.

use crate::lab::Lab;

#[test]
fn with_mirrors_that_are_down_or_lack_the_image_a_pull_by_digest_fails_and_the_source_is_not_contacted() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let conf = lab.render("the-source-of-digest-mirrors-is-never-contacted.yaml");
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app@DIGEST").fails_blocked_by("hub.test"),
        ["404 mirror-1.test/team/app@DIGEST", "404 mirror-2.test/hub/team/app@DIGEST"]
    );
}

#[test]
fn the_last_mirror_serves_what_the_source_must_not() {
    let lab = Lab::with(&["hub.test/team/app", "mirror-2.test/hub/team/app"]);
    let conf = lab.render("the-source-of-digest-mirrors-is-never-contacted.yaml");
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app@DIGEST").succeeds(),
        ["404 mirror-1.test/team/app@DIGEST", "200 mirror-2.test/hub/team/app@DIGEST"]
    );
}

#[test]
fn never_of_a_digest_set_counts_for_pulls_by_tag() {
    let lab = Lab::with(&["hub.test/team/app", "mirror-1.test/team/app"]);
    let conf = lab.render("the-source-of-digest-mirrors-is-never-contacted.yaml");
    assert!(lab.pull(&conf, "hub.test/team/app:1").fails_blocked_by("hub.test").is_empty());
}

#[test]
fn never_of_a_tag_set_counts_for_both_kinds_of_pull() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let conf = lab.render("the-source-of-tag-mirrors-is-never-contacted.yaml");
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app:1").fails_blocked_by("hub.test"),
        ["404 mirror-1.test/team/app:1"]
    );
    assert!(lab.pull(&conf, "hub.test/team/app@DIGEST").fails_blocked_by("hub.test").is_empty());
}

#[test]
fn unlike_openshift_never_holds_in_an_insecure_scope_inside_the_source() {
    let lab = Lab::with(&["hub.test/x/app", "hub.test/x/other", "mirror-1.test/x/app"]);
    let conf = lab.render("an-insecure-scope-inside-a-source-that-is-never-contacted.yaml");
    assert_eq!(lab.pull(&conf, "hub.test/x/app@DIGEST").succeeds(), ["200 mirror-1.test/x/app@DIGEST"]);
    assert_eq!(
        lab.pull(&conf, "hub.test/x/other@DIGEST").fails_blocked_by("hub.test/x"),
        ["404 mirror-1.test/x/other@DIGEST"]
    );
    assert!(lab.pull(&conf, "hub.test/x/app:1").fails_blocked_by("hub.test/x").is_empty());
}

#[test]
fn unlike_openshift_never_of_a_digest_set_holds_for_a_tag_set_inside_its_source() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let conf = lab.render("a-tag-set-inside-a-source-that-is-never-contacted.yaml");
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app:1").fails_blocked_by("hub.test/team"),
        ["404 mirror-1.test/team/app:1"]
    );
    assert_eq!(
        lab.pull(&conf, "hub.test/team/app@DIGEST").fails_blocked_by("hub.test/team"),
        ["404 mirror-2.test/team/app@DIGEST"]
    );
}
