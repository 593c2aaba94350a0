//! Pulls by digest and pulls by tag go different ways.

use crate::lab::Lab;

const BY_DIGEST: &str = "hub.test/team/app@DIGEST";
const BY_TAG: &str = "hub.test/team/app:1";

/// All three have it, so that nothing but the kind of the pull decides.
#[test]
fn a_pull_by_digest_asks_the_digest_mirror_alone_and_one_by_tag_the_tag_mirror_alone() {
    let lab = Lab::with(&["hub.test/team/app", "mirror-1.test/team/app", "mirror-2.test/team/app"]);
    let conf = lab.render("one-mirror-for-digests-and-another-for-tags.yaml");
    assert_eq!(lab.pull(&conf, BY_DIGEST).succeeds(), ["200 mirror-1.test/team/app@DIGEST"]);
    assert_eq!(lab.pull(&conf, BY_TAG).succeeds(), ["200 mirror-2.test/team/app:1"]);
}

#[test]
fn a_pull_by_digest_goes_past_the_tag_mirror_to_the_source() {
    let lab = Lab::with(&["hub.test/team/app", "mirror-2.test/team/app"]);
    let conf = lab.render("one-mirror-for-digests-and-another-for-tags.yaml");
    assert_eq!(
        lab.pull(&conf, BY_DIGEST).succeeds(),
        ["404 mirror-1.test/team/app@DIGEST", "200 hub.test/team/app@DIGEST"]
    );
}

#[test]
fn a_pull_by_tag_goes_past_the_digest_mirror_to_the_source() {
    let lab = Lab::with(&["hub.test/team/app", "mirror-1.test/team/app"]);
    let conf = lab.render("one-mirror-for-digests-and-another-for-tags.yaml");
    assert_eq!(
        lab.pull(&conf, BY_TAG).succeeds(),
        ["404 mirror-2.test/team/app:1", "200 hub.test/team/app:1"]
    );
}

#[test]
fn a_mirror_without_tls_is_asked_if_its_scope_is_insecure() {
    let lab = Lab::with(&["plain.test/team/app"]);
    let conf = lab.render("a-mirror-without-tls-in-an-insecure-scope.yaml");
    assert_eq!(lab.pull(&conf, BY_DIGEST).succeeds(), ["200 plain.test/team/app@DIGEST"]);
}
