//! The plugin's command line and environment. The options themselves are in [`table`].

mod table;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use pullwright_engine::kubelet::Namespace;
use pullwright_engine::plan::Delivery;
use pullwright_flags::FlagError;
use pullwright_handover::Bounds;

pub(crate) use table::PROGRAM;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Answer a request from the kubelet.
    Provide(Options),
    /// Print what the plugin would do for a request in a file.
    Check {
        /// The same options as for a real run.
        options: Options,
        /// The file with the request.
        request: PathBuf,
        /// The namespace, for a request without a token.
        namespace: Option<Namespace>,
    },
    /// Remove unclaimed files from an auth folder.
    Sweep(Options),
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// `--version-json`.
    VersionJson,
}

/// How the plugin works; see `--help`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `--registries-conf`
    pub registries_conf: Option<PathBuf>,
    /// `--registries-conf-dir`
    pub registries_conf_dir: Option<PathBuf>,
    /// `--auth-dir`
    pub auth_dir: PathBuf,
    /// `--lock-dir`
    pub lock_dir: PathBuf,
    /// `--remove-unclaimed-after`, `--remove-tickets-after` and `--remove-in-use-after`
    pub bounds: Bounds,
    /// `--global-auth-file`
    pub global_auth_file: PathBuf,
    /// `--deliver` and `--answer-credentials-to-every-host-of-the-pull`
    pub delivery: Delivery,
    /// `false` with `--no-pull-record`.
    pub pull_record: bool,
    /// `--secrets` and `--secrets-folder`
    pub secrets: SecretsFrom,
    /// `--namespace-without-token`
    pub namespace_without_token: Option<Namespace>,
    /// `--server`
    pub server: Option<String>,
    /// `--certificate-authority`
    pub certificate_authority: Option<PathBuf>,
    /// `--kubeconfig`
    pub kubeconfig: Option<PathBuf>,
    /// `--proxy-from-environment`
    pub proxy_from_environment: bool,
    /// `--api-timeout`
    pub api_timeout: Duration,
    /// `--journal-socket`
    pub journal_socket: PathBuf,
    /// `--outcomes-dir`
    pub outcomes_dir: PathBuf,
}

/// Where Secrets come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretsFrom {
    /// All pull secrets of the namespace.
    List,
    /// Those that the ServiceAccount names.
    Named {
        /// The annotation that may name them.
        annotation: String,
    },
    /// Manifests on this node.
    Folder(PathBuf),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            registries_conf: None,
            registries_conf_dir: None,
            auth_dir: pullwright_handover::DEFAULT_AUTH_FOLDER.into(),
            lock_dir: pullwright_handover::DEFAULT_LOCK_FOLDER.into(),
            bounds: Bounds::default(),
            global_auth_file: "/var/lib/kubelet/config.json".into(),
            delivery: Delivery::AuthFile,
            pull_record: true,
            secrets: SecretsFrom::List,
            namespace_without_token: None,
            server: None,
            certificate_authority: None,
            kubeconfig: None,
            proxy_from_environment: false,
            api_timeout: Duration::from_secs(10),
            journal_socket: "/run/systemd/journal/socket".into(),
            outcomes_dir: pullwright_outcomes::DEFAULT_FOLDER.into(),
        }
    }
}

/// Why the command line or the environment is not valid.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// An option is unknown, or its value is not valid.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// An option makes sense only with another one.
    #[error("{option} needs {needs}")]
    Needs {
        /// The option.
        option: &'static str,
        /// What it needs.
        needs: &'static str,
    },
}

/// The subcommand with which a put starts the sweeper.
const SWEEP: &str = "sweep";
const ANNOTATION: &str = "pullwright.dev/pull-secrets";

/// Parses the command line on top of the environment.
///
/// # Errors
/// If an option is unknown, or its value is not valid.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> Result<Command, OptionsError> {
    let mut settings = Settings::default();
    PROGRAM.parse(&mut settings, arguments, var)?;
    settings.finish()
}

impl Options {
    /// The arguments that make this program the sweeper of the same folder.
    #[must_use]
    pub fn sweep_arguments(&self) -> Vec<OsString> {
        let path = |path: &PathBuf| path.clone().into_os_string();
        let seconds = |bound: Duration| OsString::from(bound.as_secs().to_string());
        let options = [
            ("--auth-dir", path(&self.auth_dir)),
            ("--lock-dir", path(&self.lock_dir)),
            ("--remove-unclaimed-after", seconds(self.bounds.sweep.unclaimed)),
            ("--remove-tickets-after", seconds(self.bounds.sweep.ticket)),
            ("--remove-in-use-after", seconds(self.bounds.sweep.in_use)),
        ];
        let options = options.into_iter().flat_map(|(name, value)| [name.into(), value]);
        std::iter::once(SWEEP.into()).chain(options).collect()
    }
}

/// What the options set while they are parsed. Some of them take effect only in combination.
#[derive(Default)]
pub(crate) struct Settings {
    options: Options,
    /// A request for help or the version, which takes precedence over everything else.
    question: Option<Command>,
    verb: Verb,
    request: Option<PathBuf>,
    namespace: Option<Namespace>,
    named: bool,
    annotation: Option<String>,
    folder: Option<PathBuf>,
    deliver: Deliver,
    every_host: bool,
}

/// The subcommand.
#[derive(Default, PartialEq, Eq)]
enum Verb {
    #[default]
    Provide,
    Check,
    Sweep,
}

/// The value of `--deliver`.
#[derive(Default)]
enum Deliver {
    #[default]
    File,
    Ticket,
    Answer,
}

impl Settings {
    fn finish(mut self) -> Result<Command, OptionsError> {
        let needs = |option, needs| Err(OptionsError::Needs { option, needs });
        if let Some(question) = self.question {
            return Ok(question);
        }
        self.options.delivery = match (self.deliver, self.every_host) {
            (Deliver::File | Deliver::Ticket, true) => {
                return needs("--answer-credentials-to-every-host-of-the-pull", "--deliver answer");
            }
            (Deliver::File, false) => Delivery::AuthFile,
            (Deliver::Ticket, false) => Delivery::Ticket,
            (Deliver::Answer, every_host) => Delivery::Answer { every_host },
        };
        if self.options.delivery == Delivery::Ticket && !self.options.pull_record {
            return needs("--no-pull-record", "--deliver file: a ticket is always for one service account");
        }
        self.options.secrets = match (self.folder, self.named) {
            (Some(folder), _) => SecretsFrom::Folder(folder),
            (None, true) => {
                SecretsFrom::Named { annotation: self.annotation.unwrap_or_else(|| ANNOTATION.to_owned()) }
            }
            (None, false) => SecretsFrom::List,
        };
        let from_folder = matches!(self.options.secrets, SecretsFrom::Folder(_));
        if self.options.namespace_without_token.is_some() && !from_folder {
            let why = "--secrets-folder: without a token no Secret can be asked for";
            return needs("--namespace-without-token", why);
        }
        let options = self.options;
        match (self.verb, self.request, self.namespace) {
            (Verb::Check, Some(request), namespace) => Ok(Command::Check { options, request, namespace }),
            (Verb::Check, None, _) => needs("check", "--request FILE"),
            (_, Some(_), _) => needs("--request", "the sub-command check"),
            (_, None, Some(_)) => needs("--namespace", "the sub-command check"),
            (Verb::Provide, None, None) => Ok(Command::Provide(options)),
            (Verb::Sweep, None, None) => Ok(Command::Sweep(options)),
        }
    }
}

#[cfg(test)]
mod tests;
