//! Pulls that work, each with another way to have the credential.

use pullwright_golang::base64;
use pullwright_testkit::control_plane::AUDIENCE;
use pullwright_testkit::registry::Login;
use serde_json::{Value, json};

use crate::team::Team;
use crate::world::{ALPHA, BETA, WORLD};

/// An entry of an auth file as `kubectl create secret docker-registry` writes it.
fn entry(Login { user, password }: Login) -> Value {
    json!({"username": user, "password": password, "auth": base64::encode(format!("{user}:{password}").as_bytes())})
}

fn wrote(said: &Result<String, String>) -> bool {
    said.as_ref().is_ok_and(|line| line.starts_with("Wrote auth file to "))
}

#[test]
fn the_file_of_the_namespace_opens_the_mirror() {
    let team = Team::new("happy");
    team.allow("list", &[]);
    WORLD.apply(&[team.secret("pull", &json!({WORLD.mirror(): entry(ALPHA)}))]);
    let said = team.ask();
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["alpha".to_owned()]));
    // One file is for one pull.
    assert!(team.pull().unwrap_err().contains("authentication required"));
}

#[test]
fn a_secret_made_by_kubectl_opens_the_mirror() {
    let team = Team::new("kubectl");
    team.allow("list", &[]);
    let login = [
        format!("--docker-server=https://{}/v1/", WORLD.mirror()),
        format!("--docker-username={}", BETA.user),
        format!("--docker-password={}", BETA.password),
    ];
    let login = login.each_ref().map(String::as_str);
    let create = ["create", "secret", "docker-registry", "pull", "--namespace", "kubectl"];
    WORLD.plane.kubectl().run(&[&create[..], &login[..]].concat()).unwrap();
    let said = team.ask();
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["beta".to_owned()]));
}

#[test]
fn a_prefix_without_mirrors_is_rewritten() {
    let team = Team::new("prefix");
    team.registries(&format!(
        "[[registry]]\nprefix = \"docker.io/library\"\nlocation = \"{}/library\"\ninsecure = true\n",
        WORLD.mirror()
    ));
    team.allow("list", &[]);
    let scope = format!("{}/library", WORLD.mirror());
    WORLD.apply(&[team.secret("pull", &json!({scope: entry(ALPHA)}))]);
    let said = team.ask();
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["alpha".to_owned()]));
}

#[test]
fn a_secret_of_the_old_type_opens_the_mirror() {
    let team = Team::new("dockercfg");
    team.allow("list", &[]);
    let content = json!({WORLD.mirror(): entry(ALPHA)}).to_string();
    let fields = json!({"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": content}});
    WORLD.apply(&[team.object("v1", "Secret", "pull", fields)]);
    let said = team.ask();
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["alpha".to_owned()]));
}

#[test]
fn a_secret_without_the_auth_field_opens_the_mirror() {
    let team = Team::new("plain");
    team.allow("list", &[]);
    let plain = json!({"username": ALPHA.user, "password": ALPHA.password});
    WORLD.apply(&[team.secret("pull", &json!({WORLD.mirror(): plain}))]);
    let said = team.ask();
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["alpha".to_owned()]));
}

#[test]
fn of_two_secrets_the_first_valid_one_is_shown() {
    let team = Team::new("two-secrets");
    team.allow("list", &[]);
    WORLD.apply(&[
        team.secret("a-empty", &json!({WORLD.mirror(): {}})),
        team.secret("b-first", &json!({WORLD.mirror(): entry(BETA)})),
        team.secret("c-second", &json!({WORLD.mirror(): entry(ALPHA)})),
    ]);
    let said = team.ask();
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["beta".to_owned()]));
}

/// No right to list: the other Secrets of the namespace stay unknown to its Pods.
#[test]
fn names_in_an_annotation_need_no_right_to_list() {
    let team = Team::new("annotated").with(&["--secrets", "named"]);
    team.allow("get", &["pull"]);
    WORLD.apply(&[
        team.secret("pull", &json!({WORLD.mirror(): entry(ALPHA)})),
        team.secret("not-for-pods", &json!({WORLD.mirror(): entry(BETA)})),
    ]);
    let annotations = [("pullwright.dev/pull-secrets", "not-for-pods, pull, missing")];
    let said = team.ask_with(&team.create_token(AUDIENCE), &annotations);
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["alpha".to_owned()]));
}

#[test]
fn names_in_the_service_account_need_no_right_to_list() {
    let team = Team::new("image-pull-secrets").with(&["--secrets", "named"]);
    team.allow("get", &["pull"]);
    WORLD.apply(&[
        team.object("v1", "ServiceAccount", "puller", json!({"imagePullSecrets": [{"name": "pull"}]})),
        team.secret("pull", &json!({WORLD.mirror(): entry(ALPHA)})),
    ]);
    let said = team.ask();
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["alpha".to_owned()]));
}

/// More than two pages: what the real server wants back to go on is taken as it is.
#[test]
fn the_last_of_a_thousand_secrets_opens_the_mirror() {
    let team = Team::new("thousand");
    team.allow("list", &[]);
    let other =
        |number| team.secret(&format!("s{number:04}"), &json!({format!("r{number}.example"): entry(BETA)}));
    let last = team.secret("z-last", &json!({WORLD.mirror(): entry(ALPHA)}));
    let secrets: Vec<_> = (0..1000).map(other).chain([last]).collect();
    // Not by `apply`, which asks twice for each.
    team.create(&secrets);
    let said = team.ask();
    assert!(wrote(&said), "{said:?}");
    assert_eq!(team.pull(), Ok(vec!["alpha".to_owned()]));
}
