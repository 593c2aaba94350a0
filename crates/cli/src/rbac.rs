//! `pullwright rbac`: prints the Role and `RoleBinding` with which the plugin may read the pull secrets of a namespace.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use pullwright_api::access::{AccessError, PullAccess, PullSecrets};
use pullwright_api::names::DEFAULT_SERVICE_ACCOUNT;
use pullwright_findings::Severity;
use serde_json::json;

use crate::diagnostic::Message;
use crate::{Failure, RunOutcome, Streams};

/// `pullwright rbac`
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The namespace
    namespace: String,
    /// A Secret that may be read, for a plugin with `--secrets named`; can be repeated [default: all Secrets of the namespace,
    /// for a plugin with `--secrets list`]
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,
    /// A service account that may read them; can be repeated
    #[arg(long = "service-account", value_name = "NAME", default_value = DEFAULT_SERVICE_ACCOUNT)]
    service_accounts: Vec<String>,
    /// The output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = ManifestFormat::Yaml)]
    format: ManifestFormat,
}

/// The formats that `kubectl apply` reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ManifestFormat {
    /// Two documents
    Yaml,
    /// One List
    Json,
}

pub(crate) fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<RunOutcome, Failure> {
    let access = arguments.access().map_err(|error| Message::error(error.to_string()))?;
    arguments.format.write(&access, streams.out)?;
    if access.secrets() == &PullSecrets::All {
        all_secrets(&access).write(streams.err)?;
    }
    Ok(RunOutcome::Good)
}

impl Arguments {
    fn access(&self) -> Result<PullAccess, AccessError> {
        let secrets = match self.secrets.as_slice() {
            [] => PullSecrets::All,
            names => PullSecrets::Named(names.iter().cloned().collect()),
        };
        PullAccess::new(self.namespace.parse()?, secrets, self.service_accounts.iter().cloned().collect())
    }
}

impl ManifestFormat {
    fn write(self, access: &PullAccess, out: &mut dyn Write) -> io::Result<()> {
        let (role, binding) = (access.role(), access.role_binding());
        match self {
            Self::Yaml => {
                let yaml = serde_saphyr::to_string(&role).map_err(io::Error::other)?;
                writeln!(out, "{yaml}---")?;
                let yaml = serde_saphyr::to_string(&binding).map_err(io::Error::other)?;
                out.write_all(yaml.as_bytes())
            }
            Self::Json => {
                let list = json!({"apiVersion": "v1", "kind": "List", "items": [role, binding]});
                writeln!(out, "{list:#}")
            }
        }
    }
}

/// The warning that goes with a Role for all Secrets.
fn all_secrets(access: &PullAccess) -> Message {
    let accounts: Vec<_> = access.service_accounts().iter().map(String::as_str).collect();
    let (accounts, namespace) = (accounts.join(", "), access.namespace());
    let text = format!("every Pod that runs as {accounts} can list all Secrets of {namespace}");
    let help = "name the pull secrets with --secret NAME, and run the plugin with `--secrets named`; see docs/plugin.md";
    Message { severity: Severity::Warning, ..Message::error(text).with_help(help) }
}
