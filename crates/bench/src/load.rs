//! What a node and a namespace hold in one row of the benchmark.

use pullwright_engine::credentials::Sensitive;
use pullwright_engine::go::base64;
use pullwright_engine::kubelet::Request;

/// The image that is pulled.
pub const IMAGE: &str = "docker.io/library/nginx";

/// How much there is of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Pull secrets in the namespace; each is for a mirror of its own.
    pub secrets: usize,
    /// `[[registry]]` entries; the first is that of the image, and each has at least one mirror.
    pub registries: usize,
    /// Mirrors of the image's registry; for each there is a Secret, if there are that many.
    pub mirrors: usize,
}

impl Load {
    /// The namespace with this many Secrets.
    #[must_use]
    pub fn namespace(&self) -> String {
        format!("with-{}", self.secrets)
    }

    /// The node's `registries.conf`.
    #[must_use]
    pub fn registries_conf(&self) -> String {
        let mirror = |number| format!("[[registry.mirror]]\nlocation = \"{}\"\n", mirror(number));
        let mut text = "[[registry]]\nlocation = \"docker.io\"\n".to_owned();
        text.extend((0..self.mirrors).map(mirror));
        for number in 1..self.registries {
            text += &format!("[[registry]]\nlocation = \"registry-{number}.example\"\n");
            text += &mirror(number);
        }
        text
    }

    /// The pull secrets, by name.
    pub fn secrets(&self) -> impl Iterator<Item = PullSecret> {
        (0..self.secrets).map(|number| PullSecret { number })
    }

    /// How many entries the auth file must have.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.secrets.min(self.mirrors)
    }
}

/// One Secret.
#[derive(Debug, Clone, Copy)]
pub struct PullSecret {
    number: usize,
}

impl PullSecret {
    /// Its type.
    pub const KIND: &str = "kubernetes.io/dockerconfigjson";
    /// The field that holds the credentials.
    pub const FIELD: &str = ".dockerconfigjson";

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        format!("pull-secret-{:04}", self.number)
    }

    /// What it holds, as `kubectl create secret docker-registry` writes it.
    #[must_use]
    pub fn content(&self) -> String {
        let (user, password) = (format!("user-{}", self.number), "a-password-of-ordinary-length");
        let auth = base64::encode(format!("{user}:{password}").as_bytes());
        let entry = serde_json::json!({"username": user, "password": password, "auth": auth});
        serde_json::json!({"auths": {mirror(self.number): entry}}).to_string()
    }
}

fn mirror(number: usize) -> String {
    format!("mirror-{number}.example:5000")
}

/// The kubelet's request for [`IMAGE`].
#[must_use]
pub fn request(token: &str) -> String {
    Request::on_behalf_of(Sensitive::from(token), std::collections::BTreeMap::new(), IMAGE).render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullwright_engine::credentials::AuthFile;

    #[test]
    fn each_secret_is_for_a_mirror_of_its_own() {
        let load = Load { secrets: 2, registries: 2, mirrors: 3 };
        let conf = load.registries_conf();
        assert_eq!(conf.matches("[[registry]]").count(), 2);
        assert_eq!(conf.matches("[[registry.mirror]]").count(), 4);
        for (number, secret) in load.secrets().enumerate() {
            assert!(secret.content().contains(&mirror(number)));
            AuthFile::parse(secret.content().as_bytes()).unwrap();
        }
        assert_eq!(load.entries(), 2);
    }
}
