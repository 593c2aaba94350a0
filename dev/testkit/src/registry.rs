//! Real registries (docker-registry) with passwords and TLS.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{
    Error,
    certificates::Authority,
    error::Doing,
    process::{Log, Place, Service},
};

/// What its certificate is for: the names that a node maps to its loopback.
const NAMES: &[&str] = &["127.0.0.1", "localhost", "node-a", "docker.io", "registry-1.docker.io"];

/// A user and password of a registry or for one.
#[derive(Clone, Copy, Debug)]
pub struct Login {
    /// The user name.
    pub user: &'static str,
    /// The password; test data, not a secret.
    pub password: &'static str,
}

/// What a registry is like.
#[derive(Clone, Debug)]
pub struct Registry {
    /// Its name, for its folder and log.
    pub name: &'static str,
    /// The port of the loopback it listens on.
    pub port: u16,
    /// Who may use it; nobody named means everybody may.
    pub logins: Vec<Login>,
    /// Whether it speaks TLS, with a certificate of the test's authority.
    pub tls: bool,
}

impl Registry {
    /// Host and port, as in an image's name.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts it with everything it writes in `root`.
    pub fn start(self, place: Place, root: &Path, authority: &Authority) -> Result<RunningRegistry, Error> {
        let folder = root.join("registries").join(self.name);
        let data = folder.join("data");
        fs::create_dir_all(&data).doing("creating", &data)?;
        let mut config = serde_json::json!({
            "version": "0.1",
            // Only at this level do lines about what was served name the user.
            "log": {"level": "debug", "accesslog": {"disabled": false}},
            // The registry purges uploads at a random minute, and logs it: tests read that log for requests.
            "storage": {
                "filesystem": {"rootdirectory": data},
                "delete": {"enabled": true},
                "maintenance": {"uploadpurging": {"enabled": false}},
            },
            "http": {"addr": self.address()},
        });
        if self.tls {
            let identity = authority.server(&format!("registry-{}", self.name), NAMES)?;
            config["http"]["tls"] =
                serde_json::json!({"certificate": identity.certificate, "key": identity.key});
        }
        if !self.logins.is_empty() {
            config["auth"] =
                serde_json::json!({"htpasswd": {"realm": self.name, "path": self.passwords(&folder)?}});
        }
        // JSON is YAML.
        let file = folder.join("config.yml");
        fs::write(&file, format!("{config:#}\n")).doing("writing", &file)?;
        let logs = root.join("logs");
        fs::create_dir_all(&logs).doing("creating", &logs)?;
        let log = Log::of(&logs, &self.service());
        let registry =
            RunningRegistry { place, registry: self, config: file, logs, log, service: Mutex::default() };
        registry.start()?;
        Ok(registry)
    }

    /// The name of its service, and so of its log.
    fn service(&self) -> String {
        format!("registry-{}", self.name)
    }

    /// The file of users; the registry takes bcrypt only.
    fn passwords(&self, folder: &Path) -> Result<PathBuf, Error> {
        let path = folder.join("htpasswd");
        let mut lines = String::new();
        for login in &self.logins {
            lines += Place::Host.run("htpasswd", &["-nbB", login.user, login.password])?.trim_end();
            lines.push('\n');
        }
        fs::write(&path, lines).doing("writing", &path)?;
        Ok(path)
    }
}

/// The users whose credentials a registry was shown, as its log names them: those that it knew, and those that it did not.
#[must_use]
pub fn users_shown(log: &str) -> BTreeSet<String> {
    let known = log.split("auth.user.name=").skip(1).filter_map(|rest| rest.split_whitespace().next());
    let unknown =
        log.split("error authenticating user \\\"").skip(1).filter_map(|rest| rest.split('\\').next());
    let users = known.chain(unknown).map(|user| user.trim_matches('"').to_owned());
    // Where CRI-O has no credential it says so with an empty user and password.
    users.filter(|user| !user.is_empty()).collect()
}

/// A registry that runs until it is dropped.
#[derive(Debug)]
pub struct RunningRegistry {
    place: Place,
    registry: Registry,
    config: PathBuf,
    logs: PathBuf,
    log: Log,
    /// What tests that share it stop and start again.
    service: Mutex<Option<Service>>,
}

impl RunningRegistry {
    /// What it is like.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Its log: one line for each access, with the user it knew ("authorized request") or why it knew none.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Nobody gets a connection until [`Self::start`].
    pub fn stop(&self) {
        self.replace(None);
    }

    /// Starts it with all that it had.
    pub fn start(&self) -> Result<(), Error> {
        let mut command = self.place.command("docker-registry")?;
        command.arg("serve").arg(&self.config);
        let mut service = Service::start(&self.registry.service(), command, &self.logs)?;
        service.wait_for_log("listening on", Duration::from_secs(30))?;
        self.replace(Some(service));
        Ok(())
    }

    fn replace(&self, service: Option<Service>) {
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = service;
    }

    /// Pushes the OCI layout in `layout` as `repository`, which ends with a tag, and gives the digest it has there.
    pub fn push(&self, layout: &Path, repository: &str) -> Result<String, Error> {
        let from = format!("oci:{}", layout.display());
        let to = format!("docker://{}/{repository}", self.registry.address());
        // A policy of its own, since the machine's may refuse; no registries.conf, since the node's may block; and no
        // verifying, since TLS here is tested by pulling.
        let mut args = vec!["--insecure-policy", "--registries-conf=/dev/null", "copy", "--quiet"];
        args.push("--dest-tls-verify=false");
        // Layers are compressed on the way, so the digest is not the layout's.
        let digest = layout.with_extension("digest");
        let digest_file = format!("--digestfile={}", digest.display());
        args.push(&digest_file);
        let login = self.registry.logins.first().map(|login| format!("{}:{}", login.user, login.password));
        if let Some(login) = &login {
            args.extend(["--dest-creds", login]);
        }
        args.extend([from.as_str(), to.as_str()]);
        self.place.run("skopeo", &args)?;
        fs::read_to_string(&digest).doing("reading", &digest)
    }
}

#[cfg(test)]
mod tests {
    use super::users_shown;

    #[test]
    fn users_are_found_whether_the_registry_knew_them_or_not() {
        let log = r#"level=debug msg="authorizing request" vars.name=library/x
level=error msg="error authenticating user \"stranger\": authentication failure" vars.name=library/x
level=error msg="error authenticating user \"\": authentication failure" vars.name=library/x
level=debug msg=GetImageManifest auth.user.name=known go.version=go1.19.8
level=error msg="response completed with error" auth.user.name=known err.code="manifest unknown""#;
        assert_eq!(users_shown(log).into_iter().collect::<Vec<_>>(), ["known", "stranger"]);
    }
}
