//! What a node and a namespace hold in one row of the benchmark.

use std::collections::BTreeMap;

use pullwright_engine::credentials::Sensitive;
use pullwright_engine::kubelet::Request;
use pullwright_golang::base64;

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
    /// Secrets before those, as large as a Secret can be, with a hundred thousand entries that are none.
    pub hostile: usize,
    /// Whether the ServiceAccount names the Secrets, and each is asked for by itself.
    pub named: bool,
}

/// Ten Secrets and one mirror: the ordinary pull.
pub const ORDINARY: Load = Load { secrets: 10, registries: 1, mirrors: 1, hostile: 0, named: false };

impl Load {
    /// The namespace with this many Secrets.
    #[must_use]
    pub fn namespace(&self) -> String {
        match self.hostile {
            0 => format!("with-{}", self.secrets),
            hostile => format!("with-{}-and-{hostile}-hostile", self.secrets),
        }
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
        let hostile = (0..self.hostile).map(|number| PullSecret { number, hostile: true });
        hostile.chain((0..self.secrets).map(|number| PullSecret { number, hostile: false }))
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
    hostile: bool,
}

impl PullSecret {
    /// Its type.
    pub const KIND: &str = "kubernetes.io/dockerconfigjson";
    /// The field that holds the credentials.
    pub const FIELD: &str = ".dockerconfigjson";

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        // The hostile ones come first by name.
        format!("{}-{:04}", if self.hostile { "hostile-secret" } else { "pull-secret" }, self.number)
    }

    /// What it holds, as `kubectl create secret docker-registry` writes it.
    #[must_use]
    pub fn content(&self) -> String {
        if self.hostile {
            // It names a host of the pull, so that it is looked at.
            let entries: String = (0..100_000).map(|entry| format!(",\"{entry}\":0")).collect();
            return format!("{{\"auths\":{{\"{}\":{{}}{entries}}}}}", mirror(0));
        }
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
pub fn request(load: &Load, token: &str) -> String {
    let mut annotations = BTreeMap::new();
    if load.named {
        let names: Vec<String> = load.secrets().map(|secret| secret.name()).collect();
        annotations.insert("pullwright.dev/pull-secrets".to_owned(), names.join(","));
    }
    Request::on_behalf_of(Sensitive::from(token), annotations, IMAGE).render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullwright_engine::credentials::AuthFile;

    #[test]
    fn each_secret_is_for_a_mirror_of_its_own() {
        let load = Load { secrets: 2, registries: 2, mirrors: 3, ..ORDINARY };
        let conf = load.registries_conf();
        assert_eq!(conf.matches("[[registry]]").count(), 2);
        assert_eq!(conf.matches("[[registry.mirror]]").count(), 4);
        for (number, secret) in load.secrets().enumerate() {
            assert!(secret.content().contains(&mirror(number)));
            AuthFile::parse(secret.content().as_bytes()).unwrap();
        }
        assert_eq!(load.entries(), 2);
    }

    #[test]
    fn a_hostile_secret_is_as_large_as_one_can_be_and_comes_first() {
        let load = Load { secrets: 1, hostile: 2, named: true, ..ORDINARY };
        let names: Vec<_> = load.secrets().map(|secret| secret.name()).collect();
        assert_eq!(names, ["hostile-secret-0000", "hostile-secret-0001", "pull-secret-0000"]);
        let size = load.secrets().next().unwrap().content().len();
        assert!((800_000..1 << 20).contains(&size), "{size}");
        assert!(request(&load, "t").contains(&names.join(",")));
    }
}
