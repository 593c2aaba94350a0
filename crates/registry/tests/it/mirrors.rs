//! Which source is asked, in which order, with which trust, and what is said when none of them helps.

use std::time::Duration;

use pullwright_engine::credentials::Credential;
use pullwright_engine::registries::MirrorUse;
use pullwright_registry::{CredentialError, Source};
use pullwright_testkit::certificates::Authority;
use pullwright_testkit::standin::{Fault, Image, Login, Registry, Setup, Trouble, digest};

use crate::scene::{Diary, Scene, image, insecure, requests, source, source_at};

/// An address at which nobody listens.
fn nobody() -> String {
    let registry = Registry::start(Setup::default()).unwrap();
    registry.address()
}

#[test]
fn the_next_source_is_asked_when_one_does_not_have_the_manifest() {
    let scene = Scene::new();
    let (empty, mirror, primary) = (scene.open_registry(), scene.open_registry(), scene.open_registry());
    for registry in [&mirror, &primary] {
        registry.put("team/app", Some("1"), &image());
    }
    let sources =
        [source_at(&nobody(), "1"), source(&empty, "1"), source(&mirror, "1"), source(&primary, "1")];
    let diary = Diary::default();
    let pulled = scene.pull_telling(&sources, &diary).unwrap();
    assert_eq!((pulled.position, pulled.source), (2, sources[2].from.reference.clone()));
    scene.assert_holds(&image());
    assert_eq!(primary.log(), []);
    let diary = diary.0.into_inner().unwrap();
    assert_eq!(diary[..4], ["SourceFailed", "SourceFailed", "SourceChosen", "Planned"]);
}

#[test]
fn each_source_is_shown_its_own_credential_and_no_other() {
    let scene = Scene::new();
    let registry = |user| {
        scene.registry(Setup { login: Login::Basic, users: &[(user, "password")], ..Setup::default() })
    };
    let (mirror, primary) = (registry("mirror-user"), registry("primary-user"));
    primary.put("team/app", Some("1"), &image());
    let with = |source, user| Source { credential: Ok(Some(Credential::basic(user, "password"))), ..source };
    let sources = [with(source(&mirror, "1"), "mirror-user"), with(source(&primary, "1"), "primary-user")];
    scene.pull(&sources).unwrap();
    for (registry, user) in [(&mirror, "mirror-user"), (&primary, "primary-user")] {
        let shown: Vec<_> = registry.log().into_iter().filter(|access| access.shown.is_some()).collect();
        assert!(!shown.is_empty());
        assert!(shown.iter().all(|access| access.user.as_deref() == Some(user)), "{shown:?}");
    }
}

#[test]
fn a_blocked_source_is_not_contacted() {
    let scene = Scene::new();
    let (blocked, mirror) = (scene.open_registry(), scene.open_registry());
    for registry in [&blocked, &mirror] {
        registry.put("team/app", Some("1"), &image());
    }
    let mut never = source(&blocked, "1");
    never.from.blocked_by = Some("example.com".to_owned());
    scene.pull(&[never.clone(), source(&mirror, "1")]).unwrap();
    let failure = scene.failure(&[never]);
    assert_eq!(failure, "registry example.com is blocked in registries.conf");
    assert_eq!(blocked.log(), []);
}

#[test]
fn a_source_that_serves_only_the_other_kind_of_pull_is_not_contacted() {
    let scene = Scene::new();
    let registry = scene.open_registry();
    registry.put("team/app", Some("1"), &image());
    let mut by_digest = source(&registry, "1");
    by_digest.from.serves = MirrorUse::DigestOnly;
    assert_eq!(scene.failure(&[by_digest]), "serves only pulls by digest");
    assert_eq!(registry.log(), []);
}

#[test]
fn a_source_whose_credential_is_not_known_is_not_asked_without_one() {
    let scene = Scene::new();
    let (registry, mirror) = (scene.open_registry(), scene.open_registry());
    for registry in [&registry, &mirror] {
        registry.put("team/app", Some("1"), &image());
    }
    let helper = CredentialError::Helper("secretservice".to_owned());
    let untold = Source { credential: Err(helper), ..source(&registry, "1") };
    let failure = scene.failure(std::slice::from_ref(&untold));
    assert!(failure.contains("credential helper \"secretservice\""), "{failure}");
    scene.pull(&[untold, source(&mirror, "1")]).unwrap();
    assert_eq!(registry.log(), []);
}

#[test]
fn when_all_fail_one_message_names_them_all() {
    let scene = Scene::new();
    let (one, two) = (scene.open_registry(), scene.open_registry());
    two.inject(Fault::always("/manifests/", Trouble::Status(418, None)));
    let failure = scene.failure(&[source(&one, "1"), source(&two, "1")]);
    let (one, two) = (one.address(), two.address());
    assert_eq!(
        failure,
        format!(
            "(Mirrors also failed: [{one}/team/app:1: reading manifest 1 in {one}/team/app: {one} answered 404 (manifest unknown)]): \
             {two}/team/app:1: reading manifest 1 in {two}/team/app: {two} answered 418"
        )
    );
    assert!(matches!(scene.pull(&[]), Err(pullwright_registry::PullError::NoSource)));
}

#[test]
fn a_mirror_with_other_bytes_than_the_digest_asks_for_is_passed_over() {
    let scene = Scene::new();
    let (mirror, primary) = (scene.open_registry(), scene.open_registry());
    let version = primary.put("team/app", None, &image());
    // A whole image, with nothing wrong but that it is another one.
    let other = Image::new(vec![b"another layer".to_vec()]);
    mirror.put("team/app", None, &other);
    let manifest = String::from_utf8(other.manifest()).unwrap();
    mirror.inject(Fault::always("/manifests/", Trouble::Body(manifest)));
    let pulled = scene.pull(&[source(&mirror, &version), source(&primary, &version)]).unwrap();
    assert_eq!(pulled.position, 1);
    scene.assert_holds(&image());
}

#[test]
fn a_blob_that_fails_later_does_not_send_us_elsewhere() {
    let scene = Scene::new();
    let (mirror, primary) = (scene.open_registry(), scene.open_registry());
    for registry in [&mirror, &primary] {
        registry.put("team/app", Some("1"), &image());
    }
    let layer = digest(&image().layers[0]);
    mirror.inject(Fault::always(&layer, Trouble::Status(404, None)));
    let failure = scene.failure(&[source(&mirror, "1"), source(&primary, "1")]);
    let address = mirror.address();
    assert_eq!(failure, format!("{address}/team/app:1: reading blob {layer}: {address} answered 404"));
    assert_eq!(primary.log(), []);
    assert_eq!(scene.named(), None);
    assert_eq!(scene.unfinished(), Vec::<String>::new());
}

#[test]
fn a_mirror_that_never_answers_costs_only_the_time_allowed() {
    let mut scene = Scene::new();
    scene.options.timeouts.answer = Duration::from_secs(1);
    let mirror = scene.open_registry();
    mirror.inject(Fault::always("", Trouble::NeverAnswers));
    let failure = scene.failure(&[source(&mirror, "1")]);
    assert!(failure.ends_with("sent nothing for 1 s"), "{failure}");
    assert_eq!(mirror.log().len(), 1);
}

#[test]
fn certificates_of_strangers_are_refused_before_anything_is_asked() {
    let mut scene = Scene::new();
    let other = tempfile::tempdir().unwrap();
    let authority = Authority::new(other.path()).unwrap();
    scene.identity = authority.server("stranger", &["127.0.0.1"]).unwrap();
    let stranger = scene.open_registry();
    stranger.put("team/app", Some("1"), &image());
    let failure = scene.failure(&[source(&stranger, "1")]);
    assert!(failure.contains("invalid peer certificate"), "{failure}");
    assert_eq!(stranger.log(), []);

    let insecure = insecure(source(&stranger, "1"));
    scene.pull(&[insecure]).unwrap();
    scene.assert_holds(&image());
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let mut scene = Scene::new();
    let other = tempfile::tempdir().unwrap();
    let authority = Authority::new(other.path()).unwrap();
    scene.identity = authority.server("other-name", &["registry.example"]).unwrap();
    let pem = std::fs::read(authority.certificate()).unwrap();
    scene.options.authorities = pullwright_registry::certificates(&pem).unwrap();
    let registry = scene.open_registry();
    let failure = scene.failure(&[source(&registry, "1")]);
    assert!(failure.contains("not valid for name"), "{failure}");
    assert_eq!(registry.log(), []);
}

#[test]
fn plain_http_is_spoken_only_to_insecure_sources() {
    let scene = Scene::new();
    let plain =
        Registry::start(Setup { login: Login::Basic, users: &[("team", "password")], ..Setup::default() })
            .unwrap();
    plain.put("team/app", Some("1"), &image());
    let secure =
        Source { credential: Ok(Some(Credential::basic("team", "password"))), ..source(&plain, "1") };
    scene.pull(std::slice::from_ref(&secure)).unwrap_err();
    assert_eq!(plain.log(), []);
    let insecure = insecure(secure);
    scene.pull(&[insecure]).unwrap();
    scene.assert_holds(&image());
}

#[test]
fn a_proxying_registry_hears_which_upstream_is_meant() {
    let scene = Scene::new();
    let proxy = scene.open_registry();
    proxy.put("team/app", Some("1"), &image());
    let mut source = source(&proxy, "1");
    source.from.namespace_proxy = "quay.io".to_owned();
    scene.pull(&[source]).unwrap();
    assert_eq!(requests(&proxy, "?ns=quay.io"), 4);
}
