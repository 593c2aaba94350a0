//! Real registries (docker-registry) with passwords and TLS.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::Signal;

use crate::{
    Error,
    certificates::Authority,
    error::Doing,
    process::{Log, Place, Service},
};

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
            "storage": {"filesystem": {"rootdirectory": data}, "delete": {"enabled": true}},
            "http": {"addr": self.address()},
        });
        if self.tls {
            let identity =
                authority.server(&format!("registry-{}", self.name), &["127.0.0.1", "localhost"])?;
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
        let mut command = place.command("docker-registry")?;
        command.arg("serve").arg(&file);
        let logs = root.join("logs");
        fs::create_dir_all(&logs).doing("creating", &logs)?;
        let mut service = Service::start(&format!("registry-{}", self.name), command, &logs)?;
        service.wait_for_log("listening on", Duration::from_secs(30))?;
        Ok(RunningRegistry { place, registry: self, service })
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

/// A registry that runs until it is dropped.
#[derive(Debug)]
pub struct RunningRegistry {
    place: Place,
    registry: Registry,
    service: Service,
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
        self.service.log()
    }

    /// Nobody gets an answer until [`Self::go_on`].
    pub fn freeze(&self) -> Result<(), Error> {
        self.service.signal(Signal::STOP)
    }

    /// Answers again.
    pub fn go_on(&self) -> Result<(), Error> {
        self.service.signal(Signal::CONT)
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
