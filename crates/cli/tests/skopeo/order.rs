//! Who is asked after whom.

use crate::lab::Lab;

const IMAGE: &str = "hub.test/team/app@DIGEST";

#[test]
fn the_first_mirror_lacks_the_image_and_the_second_has_it() {
    let lab = Lab::with(&["hub.test/team/app", "mirror-1.test/hub/team/app"]);
    let conf = lab.render("one-list-against-the-alphabet.yaml");
    assert_eq!(
        lab.pull(&conf, IMAGE).succeeds(),
        ["404 mirror-2.test/team/app@DIGEST", "200 mirror-1.test/hub/team/app@DIGEST"]
    );
}

#[test]
fn lists_of_two_objects_are_one_list_with_the_source_at_its_end() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let conf = lab.render("two-lists-that-meet-in-one-mirror.yaml");
    assert_eq!(
        lab.pull(&conf, IMAGE).succeeds(),
        [
            "404 mirror-3.test/team/app@DIGEST",
            "404 mirror-1.test/team/app@DIGEST",
            "404 mirror-2.test/team/app@DIGEST",
            "200 hub.test/team/app@DIGEST",
        ]
    );
}

/// The firsts of both lists, then their seconds.
#[test]
fn lists_that_have_nothing_in_common_take_turns() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let conf = lab.render("two-lists-that-have-nothing-in-common.yaml");
    assert_eq!(
        lab.pull(&conf, IMAGE).succeeds(),
        [
            "404 mirror-1.test/team/app@DIGEST",
            "404 mirror-2.test/team/app@DIGEST",
            "404 plain.test/team/app@DIGEST",
            "404 mirror-3.test/team/app@DIGEST",
            "200 hub.test/team/app@DIGEST",
        ]
    );
}

#[test]
fn unlike_openshift_a_source_that_no_list_names_is_last_even_if_the_lists_contradict_each_other() {
    let lab = Lab::with(&["hub.test/team/app"]);
    let conf = lab.render("two-lists-that-contradict-each-other.yaml");
    assert_eq!(
        lab.pull(&conf, IMAGE).succeeds(),
        [
            "404 mirror-1.test/team/app@DIGEST",
            "404 mirror-2.test/team/app@DIGEST",
            "200 hub.test/team/app@DIGEST",
        ]
    );
}

/// And is asked again at the end, as the library does with what every entry is about.
#[test]
fn a_source_in_its_own_list_is_asked_where_it_stands() {
    let lab = Lab::with(&[]);
    let conf = lab.render("the-source-between-its-mirrors.yaml");
    let pull = lab.pull(&conf, IMAGE);
    assert!(pull.outcome.unwrap_err().contains("manifest unknown"));
    assert_eq!(
        pull.asked,
        [
            "404 mirror-1.test/team/app@DIGEST",
            "404 hub.test/team/app@DIGEST",
            "404 mirror-2.test/team/app@DIGEST",
            "404 hub.test/team/app@DIGEST",
        ]
    );
}

#[test]
fn a_mirror_that_is_blocked_itself_is_passed_over() {
    let lab = Lab::with(&["mirror-1.test/team/app", "mirror-2.test/team/app"]);
    let conf = lab.render("a-mirror-that-is-blocked-itself.yaml");
    assert_eq!(lab.pull(&conf, IMAGE).succeeds(), ["200 mirror-2.test/team/app@DIGEST"]);
}
