//! Who is shown a credential, and who is not.

use pullwright_engine::credentials::Credential;
use pullwright_registry::Source;
use pullwright_testkit::standin::{Fault, Login, Registry, Setup, Trouble, digest};

use crate::scene::{Scene, image, insecure, requests, source};

const PASSWORD: &str = "canary-7f3a";
const USERS: &[(&str, &str)] = &[("team", PASSWORD)];

fn with(credential: Credential, source: Source) -> Source {
    Source { credential: Ok(Some(credential)), ..source }
}

fn team(source: Source) -> Source {
    with(Credential::basic("team", PASSWORD), source)
}

fn private(scene: &Scene, login: Login) -> Registry {
    let registry = scene.registry(Setup {
        login,
        users: USERS,
        identity_tokens: &[("identity-canary", "robot")],
        ..Setup::default()
    });
    registry.put("team/app", Some("1"), &image());
    registry
}

/// The users of all requests for manifests and blobs.
fn users(registry: &Registry) -> Vec<Option<String>> {
    let mut users: Vec<_> = registry
        .log()
        .into_iter()
        .filter(|access| access.path.contains("/team/app/"))
        .map(|access| access.user)
        .collect();
    users.dedup();
    users
}

#[test]
fn a_password_opens_a_registry_that_asks_for_one() {
    for login in [Login::Basic, Login::Token] {
        let scene = Scene::new();
        let registry = private(&scene, login);
        scene.pull(&[team(source(&registry, "1"))]).unwrap();
        assert_eq!(users(&registry), [Some("team".to_owned())]);
        let ping = &registry.log()[0];
        assert_eq!((ping.path.as_str(), &ping.shown), ("/v2/", &None));
    }
}

#[test]
fn an_identity_token_is_exchanged_and_never_shown_to_the_registry() {
    let scene = Scene::new();
    let registry = private(&scene, Login::Token);
    let credential = Credential { identity_token: Some("identity-canary".into()), ..Credential::default() };
    scene.pull(&[with(credential, source(&registry, "1"))]).unwrap();
    assert_eq!(users(&registry), [Some("robot".to_owned())]);
    let log = registry.log();
    let token = log.iter().find(|access| access.path == "/token").unwrap();
    assert_eq!((token.method.as_str(), &token.shown), ("POST", &None));
}

#[test]
fn a_refusal_says_what_was_shown_and_nothing_of_it() {
    for login in [Login::Basic, Login::Token] {
        let scene = Scene::new();
        let registry = private(&scene, login);
        let without = scene.failure(&[source(&registry, "1")]);
        assert!(without.contains("answered 401"), "{without}");
        assert!(without.ends_with("; no credential was shown"), "{without}");

        let wrong = Credential::basic("team", "wrong-canary");
        let refused = scene.failure(&[with(wrong, source(&registry, "1"))]);
        assert!(refused.ends_with("; the credential was not accepted"), "{refused}");
        assert!(!refused.contains("canary"), "{refused}");
        assert_eq!(scene.named(), None);
    }
}

#[test]
fn a_password_that_a_registry_repeats_is_not_shown() {
    let scene = Scene::new();
    let registry = private(&scene, Login::Basic);
    let echo = format!(r#"{{"errors": [{{"code": "DENIED", "message": "not {PASSWORD}!"}}]}}"#);
    registry.inject(Fault::always("/manifests/", Trouble::Says(403, echo)));
    let failure = scene.failure(&[team(source(&registry, "1"))]);
    assert!(failure.contains("answered 403"), "{failure}");
    assert!(!failure.contains(PASSWORD), "{failure}");
}

#[test]
fn a_token_that_runs_out_is_renewed() {
    let scene = Scene::new();
    let registry = private(&scene, Login::Token);
    let realm = format!(r#"Bearer realm="https://{}/token""#, registry.address());
    registry.inject(Fault::new("/blobs/", 1, Trouble::Challenge(realm)));
    scene.pull(&[team(source(&registry, "1"))]).unwrap();
    scene.assert_holds(&image());
    assert_eq!(requests(&registry, "/token"), 2);
}

#[test]
fn a_registry_that_never_has_enough_is_given_up() {
    let scene = Scene::new();
    for (login, asked) in [(Login::Basic, 1), (Login::Token, 2)] {
        let registry = private(&scene, login);
        let challenge = match login {
            Login::Token => format!(r#"Bearer realm="https://{}/token""#, registry.address()),
            Login::Basic | Login::Anybody => r#"Basic realm="x""#.to_owned(),
        };
        registry.inject(Fault::always("/manifests/", Trouble::Challenge(challenge)));
        let failure = scene.failure(&[team(source(&registry, "1"))]);
        assert!(failure.contains("answered 401"), "{failure}");
        assert_eq!(requests(&registry, "/manifests/"), asked, "a new token is tried once");
    }
}

#[test]
fn a_token_service_may_be_elsewhere_but_not_in_the_clear() {
    let scene = Scene::new();
    let service = private(&scene, Login::Token);
    let plain = Registry::start(Setup { login: Login::Token, users: USERS, ..Setup::default() }).unwrap();
    for (realm, good) in [
        (format!("https://{}/token", service.address()), true),
        (format!("http://{}/token", plain.address()), false),
    ] {
        let registry = scene.registry(Setup { login: Login::Token, realm: Some(&realm), ..Setup::default() });
        registry.put("team/app", Some("1"), &image());
        let pulled = scene.pull(&[team(source(&registry, "1"))]);
        if good {
            pulled.unwrap();
        } else {
            let failure = pulled.unwrap_err().to_string();
            assert!(
                failure.ends_with("is reached by plain http; the credential was not sent there"),
                "{failure}"
            );
        }
    }
    assert_eq!(requests(&service, "/token"), 1);
    assert_eq!(plain.log(), []);
}

#[test]
fn where_blobs_are_redirected_to_nothing_is_shown() {
    let scene = Scene::new();
    let registry = private(&scene, Login::Basic);
    let storage = scene.open_registry();
    for blob in image().layers.iter().chain([&image().config()]) {
        let digest = storage.put_blob("storage", blob);
        let elsewhere = format!("https://{}/v2/storage/blobs/{digest}?signature=x", storage.address());
        registry.inject(Fault::always(&format!("/team/app/blobs/{digest}"), Trouble::Redirect(elsewhere)));
    }
    scene.pull(&[team(source(&registry, "1"))]).unwrap();
    scene.assert_holds(&image());
    let log = storage.log();
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|access| access.shown.is_none()), "{log:?}");
}

#[test]
fn a_redirect_from_tls_to_plain_http_is_followed_only_where_that_was_allowed() {
    let scene = Scene::new();
    let registry = private(&scene, Login::Basic);
    let storage = Registry::start(Setup::default()).unwrap();
    let layer = digest(&image().layers[0]);
    storage.put_blob("storage", &image().layers[0]);
    let elsewhere = format!("http://{}/v2/storage/blobs/{layer}", storage.address());
    registry.inject(Fault::always(&layer, Trouble::Redirect(elsewhere)));
    let failure = scene.failure(&[team(source(&registry, "1"))]);
    assert!(failure.ends_with("a redirect from https to plain http at 127.0.0.1; refused"), "{failure}");
    assert_eq!(storage.log(), []);
    let insecure = insecure(team(source(&registry, "1")));
    scene.pull(&[insecure]).unwrap();
    scene.assert_holds(&image());
}

#[test]
fn redirects_in_a_circle_end() {
    let scene = Scene::new();
    let registry = private(&scene, Login::Basic);
    let itself = "/v2/team/app/manifests/1".to_owned();
    registry.inject(Fault::always("/manifests/", Trouble::Redirect(itself)));
    let failure = scene.failure(&[team(source(&registry, "1"))]);
    assert!(failure.ends_with("more than 10 redirects"), "{failure}");
    assert_eq!(requests(&registry, "/manifests/"), 11);
}
