//! The scene: a node's files, a private mirror and an API server, all in this process and below one folder.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use pullwright_testkit::certificates::Authority;
use pullwright_testkit::standin::{ApiServer, Image, Login, Registry, Rule, Setup};

/// The image that Pods ask for.
pub(crate) const IMAGE: &str = "docker.io/library/hello:1";
/// The namespace with a Secret, and the one without.
pub(crate) const ALPHA: &str = "app-team-alpha";
pub(crate) const BETA: &str = "app-team-beta";
/// Who may pull from the mirror.
const ROBOT: (&str, &str) = ("alpha-robot", "only-in-the-secret");

/// Everything there is. It is gone when this is dropped.
pub(crate) struct Scene {
    pub(crate) mirror: Registry,
    pub(crate) api_server: ApiServer,
    pub(crate) authority: PathBuf,
    pub(crate) registries_conf: PathBuf,
    pub(crate) auth_dir: PathBuf,
    pub(crate) lock_dir: PathBuf,
    pub(crate) layouts: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn set() -> Result<Self> {
        let folder = tempfile::tempdir().context("making a folder for the scene")?;
        let path = |name: &str| folder.path().join(name);
        let authority = Authority::new(&path("pki"))?;
        let identity = authority.server("servers", &["127.0.0.1"])?;

        let setup =
            Setup { identity: Some(&identity), login: Login::Basic, users: &[ROBOT], ..Setup::default() };
        let mirror = Registry::start(setup)?;
        mirror.put("hub/library/hello", Some("1"), &Image::new(vec![b"hello from the mirror".to_vec()]));

        let api_server = ApiServer::start(&identity)?;
        for namespace in [ALPHA, BETA] {
            let user = format!("system:serviceaccount:{namespace}:default");
            api_server.know(&token(namespace), &user);
            let rule = Rule { user: &user, verbs: &["list"], resource: "secrets", namespace, names: &[] };
            api_server.allow(rule);
        }
        let secret = serde_json::json!({
            "auths": {mirror.address(): {"username": ROBOT.0, "password": ROBOT.1}}
        });
        let kind = "kubernetes.io/dockerconfigjson";
        api_server.put_secret(
            ALPHA,
            "mirror-login",
            kind,
            ".dockerconfigjson",
            secret.to_string().as_bytes(),
        );

        let registries_conf = path("registries.conf");
        // The source is blocked: nothing of this demo leaves the machine.
        let conf = format!(
            "[[registry]]\nlocation = \"docker.io\"\nblocked = true\n\n[[registry.mirror]]\nlocation = \"{}/hub\"\n",
            mirror.address()
        );
        fs::write(&registries_conf, conf).context("writing registries.conf")?;
        Ok(Self {
            mirror,
            api_server,
            authority: authority.certificate(),
            registries_conf,
            auth_dir: path("auth"),
            lock_dir: path("locks"),
            layouts: path("images"),
            _folder: folder,
        })
    }
}

/// A token with the claims of a real one; the stand-in knows it by its text.
pub(crate) fn token(namespace: &str) -> String {
    let claims = serde_json::json!({
        "aud": ["https://kubernetes.default.svc"],
        "sub": format!("system:serviceaccount:{namespace}:default"),
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": "default", "uid": "1"}},
    });
    let part = |text: &str| {
        let padded = pullwright_golang::base64::encode(text.as_bytes());
        padded.trim_end_matches('=').replace('+', "-").replace('/', "_")
    };
    format!("{}.{}.{}", part("{\"alg\":\"none\"}"), part(&claims.to_string()), part("unsigned"))
}
