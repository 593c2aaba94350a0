//! Pulls that do not work, and what is said about them.

use pullwright_golang::base64;
use serde_json::json;

use crate::team::Team;
use crate::world::{ALPHA, WORLD};

/// What a pull without a credential comes to.
fn assert_refused(team: &Team) {
    let said = team.pull().unwrap_err();
    assert!(
        said.contains("authentication required") && said.contains("registry docker.io is blocked"),
        "{said}"
    );
}

#[test]
fn a_namespace_without_secrets_is_not_let_in() {
    let team = Team::new("nothing");
    team.allow("list", &[]);
    let none = "None of 0 secret(s) of the namespace fits, will not write any auth file";
    assert_eq!(team.ask(), Ok(none.to_owned()));
    assert_refused(&team);
}

#[test]
fn without_a_role_the_server_s_own_words_are_told() {
    let team = Team::new("no-role");
    let said = "secrets is forbidden: User \"system:serviceaccount:no-role:puller\" cannot list resource \"secrets\" in \
                API group \"\" in the namespace \"no-role\" (403): give the Pod's service account a Role that allows it";
    assert_eq!(team.ask(), Err(said.to_owned()));
    assert_refused(&team);
}

/// `resourceNames` does not allow a list without a name; the message says which right is missing.
#[test]
fn a_role_for_names_is_not_one_for_the_list() {
    let team = Team::new("names-only");
    team.allow("get", &["pull"]);
    assert!(team.ask().unwrap_err().contains("cannot list resource \"secrets\""));
}

#[test]
fn a_token_for_another_audience_is_not_accepted() {
    let team = Team::new("audience");
    team.allow("list", &[]);
    let said = team.ask_with(&team.create_token("https://registry.example"), &[]).unwrap_err();
    let server = WORLD.plane.server();
    assert!(
        said.starts_with(&format!("{server} does not accept the service account's token (401 for ")),
        "{said}"
    );
    assert!(said.ends_with("is serviceAccountTokenAudience one of its --api-audiences?"), "{said}");
    assert_refused(&team);
}

#[test]
fn a_wrong_password_is_the_registry_s_to_refuse() {
    let team = Team::new("wrong-password");
    team.allow("list", &[]);
    let wrong = base64::encode(format!("{}:wrong", ALPHA.user).as_bytes());
    WORLD.apply(&[team.secret("pull", &json!({WORLD.mirror(): {"auth": wrong}}))]);
    assert!(team.ask().unwrap().starts_with("Wrote auth file to "));
    assert_refused(&team);
}

/// A certificate authority that is not the API server's: nobody is shown the token.
#[test]
fn the_server_must_be_the_one_that_is_known() {
    let other = pullwright_testkit::certificates::Authority::new(&WORLD.root.join("other-pki")).unwrap();
    let ca = other.certificate().display().to_string();
    let team = Team::new("other-ca").with(&["--certificate-authority", &ca]);
    let said = team.ask().unwrap_err();
    assert!(said.contains("is not the server that its certificate authority knows"), "{said}");
}
