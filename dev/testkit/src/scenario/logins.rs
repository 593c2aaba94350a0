//! What a namespace provides for a pull: Secrets, service accounts, and permissions to read them.

use std::fs;

pub use pullwright_golang::base64::encode as base64;
use serde_json::{Value, json};

use crate::{Error, error::Doing, registry::Login, scenario::Scenario};

/// The format in which a Secret contains logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// `kubernetes.io/dockerconfigjson`
    DockerConfigJson,
    /// `kubernetes.io/dockercfg`, the older format.
    DockerCfg,
}

impl Scenario<'_> {
    /// Gives the namespace a login for the registry called `registry`: as a Secret that its default service account may
    /// read, and to the stand-in plugin.
    pub fn give_login(&self, registry: &str, login: Login) -> Result<(), Error> {
        let auths = json!({self.address(registry)?: entry(login)});
        self.add_secret(&format!("login-{registry}"), SecretKind::DockerConfigJson, &auths)?;
        self.allow_secrets("default")?;
        let file = self.node().file("/etc/kubernetes/stand-in.login");
        fs::write(&file, format!("{} {}\n", login.user, login.password)).doing("writing", &file)
    }

    /// The address of a registry, which is its key in a Secret.
    pub fn address(&self, registry: &str) -> Result<String, Error> {
        Ok(self.node().registry(registry)?.registry().address())
    }

    /// Adds a Secret with entries by registry; [`entry`] makes one from a login.
    pub fn add_secret(&self, name: &str, kind: SecretKind, auths: &Value) -> Result<(), Error> {
        let (kind, key, content) = match kind {
            SecretKind::DockerConfigJson => {
                ("kubernetes.io/dockerconfigjson", ".dockerconfigjson", json!({"auths": auths}))
            }
            SecretKind::DockerCfg => ("kubernetes.io/dockercfg", ".dockercfg", auths.clone()),
        };
        let metadata = json!({"name": name, "namespace": self.namespace()});
        let data = json!({key: content.to_string()});
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata, "stringData": data,
        });
        self.apply(&secret.to_string())
    }

    /// Allows a service account to get and list all Secrets of the namespace.
    pub fn allow_secrets(&self, service_account: &str) -> Result<(), Error> {
        let all = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]);
        self.allow(service_account, &all)
    }

    /// Gives a service account a Role with these rules.
    pub fn allow(&self, service_account: &str, rules: &Value) -> Result<(), Error> {
        let group = "rbac.authorization.k8s.io";
        let metadata = json!({"name": service_account, "namespace": self.namespace()});
        let role = json!({
            "apiVersion": format!("{group}/v1"), "kind": "Role", "metadata": metadata, "rules": rules,
        });
        let subject =
            json!({"kind": "ServiceAccount", "name": service_account, "namespace": self.namespace()});
        let binding = json!({
            "apiVersion": format!("{group}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": service_account}, "subjects": [subject],
        });
        self.apply(&format!("{role}\n---\n{binding}"))
    }
}

/// Returns a login in the format of Secrets.
#[must_use]
pub fn entry(login: Login) -> Value {
    let Login { user, password } = login;
    json!({"username": user, "password": password, "auth": base64(format!("{user}:{password}").as_bytes())})
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_pads_each_length_of_the_last_group() {
        let encoded = [&b"a:b"[..], b"a:bc", b"a:bcd", b"mirroruser:mirrorpass"].map(base64);
        assert_eq!(encoded, ["YTpi", "YTpiYw==", "YTpiY2Q=", "bWlycm9ydXNlcjptaXJyb3JwYXNz"]);
    }
}
