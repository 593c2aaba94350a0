//! kubeconfig files, and the `kubectl` that tests use.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    Error,
    certificates::Identity,
    error::Doing,
    process::{Place, finish, outcome, spawn},
};

/// How a user of the API server says who it is.
pub(crate) enum Credential {
    Certificate(Identity),
    Token(String),
}

impl From<Identity> for Credential {
    fn from(identity: Identity) -> Self {
        Self::Certificate(identity)
    }
}

/// Writes a kubeconfig for one user of the API server at `server`.
pub(crate) fn write_kubeconfig(path: &Path, server: &str, ca: &Path, user: &Credential) -> Result<(), Error> {
    let user = match user {
        Credential::Certificate(Identity { certificate, key }) => {
            json!({"client-certificate": certificate, "client-key": key})
        }
        Credential::Token(token) => json!({"token": token}),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": ca}}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    });
    fs::write(path, format!("{config:#}\n")).doing("writing", path)
}

/// `kubectl` as one user: the cluster's administrator, unless a test uses another kubeconfig.
#[derive(Clone, Debug)]
pub struct Kubectl {
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// `kubectl` with this kubeconfig.
    #[must_use]
    pub fn new(kubeconfig: &Path) -> Self {
        Self { kubeconfig: kubeconfig.to_owned() }
    }

    fn command(&self, args: &[&str]) -> Result<std::process::Command, Error> {
        let mut command = Place::Host.command("kubectl")?;
        // Its cache is deleted together with the API server's files, and is never in somebody's home.
        let cache = self.kubeconfig.with_extension("cache");
        command.arg("--cache-dir").arg(cache).arg("--kubeconfig").arg(&self.kubeconfig).args(args);
        Ok(command)
    }

    /// Runs `kubectl` with `args` and returns its output.
    pub fn run(&self, args: &[&str]) -> Result<String, Error> {
        finish(self.command(args)?, &title(args))
    }

    /// Runs `kubectl … --output json` and returns the object or list.
    pub fn json(&self, args: &[&str]) -> Result<Value, Error> {
        let text = self.run(&[args, &["--output", "json"]].concat())?;
        serde_json::from_str(&text).map_err(|source| Error::Json { from: title(args), source })
    }

    /// Applies YAML or JSON documents with server-side apply.
    pub fn apply(&self, documents: &str) -> Result<(), Error> {
        let args = ["apply", "--server-side", "--force-conflicts", "--filename", "-"];
        let mut command = self.command(&args)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = title(&args);
        let mut child = spawn(command).doing("starting", Path::new(&name))?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(documents.as_bytes()).doing("writing to", Path::new(&name))?;
        }
        outcome(child.wait_with_output(), &name).map(drop)
    }
}

fn title(args: &[&str]) -> String {
    format!("kubectl {}", args.join(" "))
}
