//! A node with an API server, which does as it is told.

use pullwright_testkit::certificates::Authority;
use pullwright_testkit::standin::{ApiServer, Rule};

use crate::inputs::{auths, request, token};
use crate::plugin::{Plugin, Ran};
use crate::stage::{IMAGE, MIRROR, MIRRORED, NAMESPACE, Stage};

pub(crate) const USER: &str = "system:serviceaccount:team-a:default";
pub(crate) const PULL_SECRET: &str = "kubernetes.io/dockerconfigjson";
/// What most requests are for.
pub(crate) const WHAT: &str = "the list of pull secrets in namespace team-a";

/// A node, and an API server that knows its Pod's token and lets it do nothing yet.
pub(crate) struct Cluster {
    pub(crate) stage: Stage,
    pub(crate) authority: Authority,
    pub(crate) api: ApiServer,
    pub(crate) token: String,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let stage = Stage::new();
        let authority = Authority::new(&stage.path("pki")).unwrap();
        let api = ApiServer::start(&authority.server("api", &["127.0.0.1"]).unwrap()).unwrap();
        let token = token(NAMESPACE);
        api.know(&token, USER);
        Self { stage, authority, api, token }
    }

    /// The same, and the Pod may list the namespace's Secrets, of which one opens the mirror.
    pub(crate) fn with_secret() -> Self {
        let cluster = Self::new();
        cluster.allow(&["list"], "secrets", &[]);
        cluster.put("pull", &auths(&[(MIRROR, "puller")]));
        cluster
    }

    pub(crate) fn allow(&self, verbs: &[&str], resource: &str, names: &[&str]) {
        self.api.allow(Rule { user: USER, verbs, resource, namespace: NAMESPACE, names });
    }

    pub(crate) fn put(&self, name: &str, content: &str) {
        self.api.put_secret(NAMESPACE, name, PULL_SECRET, ".dockerconfigjson", content.as_bytes());
    }

    pub(crate) fn plugin(&self) -> Plugin {
        self.plugin_on(&self.stage)
    }

    /// The plugin on another node of the same cluster.
    pub(crate) fn plugin_on(&self, stage: &Stage) -> Plugin {
        let ca = self.stage.path("pki/ca.crt");
        stage.plugin().args(&["--server", &self.api.url(), "--certificate-authority"]).arg(ca)
    }

    pub(crate) fn ask(&self) -> Ran {
        self.plugin().run(request(&self.token))
    }

    /// The paths asked for, with what was answered.
    pub(crate) fn asked(&self) -> Vec<(String, u16)> {
        self.api.log().into_iter().map(|access| (access.path, access.status)).collect()
    }

    pub(crate) fn wrote_for(&self, ran: &Ran, user: &str) {
        assert!(ran.answered().1.starts_with("Wrote auth file to "), "{ran:?}");
        assert_eq!(self.stage.users_for(&[MIRRORED, IMAGE]), [Some(user.to_owned()), None]);
    }

    /// It failed with this, and nothing was written.
    pub(crate) fn failed_with(&self, ran: &Ran, said: &str) {
        let said = said.replace("SERVER", &self.api.url());
        assert_eq!(ran.failed(), said);
        assert!(!self.stage.auth_dir().exists());
    }
}
