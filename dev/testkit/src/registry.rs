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

/// The names in its certificate, which a node maps to its loopback.
const NAMES: &[&str] = &["127.0.0.1", "localhost", "node-a", "docker.io", "registry-1.docker.io"];

/// A user and password of a registry or for one.
#[derive(Clone, Copy, Debug)]
pub struct Login {
    /// The user name.
    pub user: &'static str,
    /// The password; test data, not a secret.
    pub password: &'static str,
}

/// The configuration of a registry.
#[derive(Clone, Debug)]
pub struct Registry {
    /// The name, for its folder and log.
    pub name: &'static str,
    /// The port on the loopback.
    pub port: u16,
    /// The users that may use it; if empty, everybody may.
    pub logins: Vec<Login>,
    /// Whether it uses TLS, with a certificate of the test's authority.
    pub tls: bool,
}

impl Registry {
    /// Host and port, as in an image's name.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts it with all its files in `root`.
    pub fn start(self, place: Place, root: &Path, authority: &Authority) -> Result<RunningRegistry, Error> {
        let folder = root.join("registries").join(self.name);
        let data = folder.join("data");
        fs::create_dir_all(&data).doing("creating", &data)?;
        let mut config = serde_json::json!({
            "version": "0.1",
            // Only at this level do the lines about served requests name the user.
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

    /// The name of its service and its log.
    fn service(&self) -> String {
        format!("registry-{}", self.name)
    }

    /// Writes the file of users; the registry supports only bcrypt.
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

/// Returns the users whose credentials were sent to a registry, according to its log: those that it knew, and those that it
/// did not.
#[must_use]
pub fn users_shown(log: &str) -> BTreeSet<String> {
    let known = log.split("auth.user.name=").skip(1).filter_map(|rest| rest.split_whitespace().next());
    let unknown =
        log.split("error authenticating user \\\"").skip(1).filter_map(|rest| rest.split('\\').next());
    let users = known.chain(unknown).map(|user| user.trim_matches('"').to_owned());
    // If CRI-O has no credential, it sends an empty user and password.
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
    /// Behind a lock, because tests that share the registry stop and start it.
    service: Mutex<Option<Service>>,
}

impl RunningRegistry {
    /// The configuration.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The log: one line for each access, with the user that it knew ("authorized request") or why it knew none.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Stops it: nobody can connect until [`Self::start`].
    pub fn stop(&self) {
        self.replace(None);
    }

    /// Starts it again with its data.
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

    /// Pushes the OCI layout in `layout` as `repository`, which ends with a tag, and returns the digest that it has there.
    pub fn push(&self, layout: &Path, repository: &str) -> Result<String, Error> {
        let from = format!("oci:{}", layout.display());
        let to = format!("docker://{}/{repository}", self.registry.address());
        // The policy is disabled, since the machine's may refuse; so is registries.conf, since the node's may block; and
        // certificates are not verified, since pulls test TLS.
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
