//! What the plugin is told on its command line and in its environment.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;
use pullwright_engine::kubelet::Namespace;
use pullwright_engine::plan::Delivery;
use pullwright_handover::Bounds;


/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Answer a request of the kubelet.
    Provide(Options),
    /// Replay a request from a file and print the plan.
    Check {
        /// The same options as for the real thing.
        options: Options,
        /// The request.
        request: PathBuf,
        /// The namespace, for a request without token.
        namespace: Option<Namespace>,
    },
    /// Be the sweeper of an auth folder.
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
    /// `--deliver` and the flag that is named for its danger.
    pub delivery: Delivery,
    /// Unless `--no-pull-record`.
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
}

/// Where Secrets come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretsFrom {
    /// A list of the namespace.
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
        }
    }
}

/// Why the command line cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// Not an option, or one without its value.
    #[error(transparent)]
    Usage(#[from] lexopt::Error),
    /// A value that the option does not take.
    #[error("{option} does not take {value:?}: {expected}")]
    Value {
        /// The option.
        option: String,
        /// What was given.
        value: OsString,
        /// What it takes.
        expected: &'static str,
    },
    /// An option that only makes sense with another one.
    #[error("{option} needs {needs}")]
    Needs {
        /// The option.
        option: &'static str,
        /// What it needs.
        needs: &'static str,
    },
}

/// The longest time for Secrets: the kubelet kills the plugin after 60 s, and the hand-over may take 40.
const API_TIMEOUT_MAX: u64 = 19;
/// The sub-command with which a put starts the sweeper.
const SWEEP: &str = "sweep";
const ENV_PREFIX: &str = "CRIO_CREDENTIAL_PROVIDER_";
const ANNOTATION: &str = "pullwright.dev/pull-secrets";

/// The options with a value, then those without.
const VALUED: &[&str] = &[
    "registries-conf",
    "registries-conf-dir",
    "auth-dir",
    "lock-dir",
    "remove-unclaimed-after",
    "remove-tickets-after",
    "remove-in-use-after",
    "global-auth-file",
    "deliver",
    "secrets",
    "secrets-annotation",
    "secrets-folder",
    "namespace-without-token",
    "server",
    "certificate-authority",
    "kubeconfig",
    "api-timeout",
    "journal-socket",
];
const SWITCHES: &[&str] =
    &["answer-credentials-to-every-host-of-the-pull", "no-pull-record", "proxy-from-environment"];

/// Parses the command line over the environment.
///
/// # Errors
/// An option that is not one, or a value that it does not take.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> Result<Command, OptionsError> {
    let mut settings = Settings::default();
    for name in VALUED.iter().chain(SWITCHES) {
        let variable = format!("{ENV_PREFIX}{}", name.replace('-', "_").to_ascii_uppercase());
        if let Some(value) = var(&variable).filter(|value| !value.is_empty()) {
            settings.set(name, value, &variable)?;
        }
    }
    let (mut check, mut sweep, mut request, mut namespace) = (false, false, None, None);
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => return Ok(Command::Help),
            Long("version") => return Ok(Command::Version),
            Long("version-json") => return Ok(Command::VersionJson),
            Long("request") if check => request = Some(PathBuf::from(parser.value()?)),
            Long("namespace") if check => namespace = Some(namespace_in(parser.value()?, "--namespace")?),
            Long(name) => {
                let name = name.to_owned();
                if VALUED.contains(&name.as_str()) {
                    settings.set(&name, parser.value()?, &format!("--{name}"))?;
                } else if SWITCHES.contains(&name.as_str()) {
                    settings.set(&name, "true".into(), &format!("--{name}"))?;
                } else {
                    return Err(Long(&name).unexpected().into());
                }
            }
            Value(word) if word == "check" && !check && !sweep => check = true,
            Value(word) if word == SWEEP && !check && !sweep => sweep = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let options = settings.finish()?;
    if check {
        let request = request.ok_or(OptionsError::Needs { option: "check", needs: "--request FILE" })?;
        return Ok(Command::Check { options, request, namespace });
    }
    Ok(if sweep { Command::Sweep(options) } else { Command::Provide(options) })
}

impl Options {
    /// The arguments with which this program becomes the sweeper of the same folder.
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

/// Options while they are read: some decide together.
#[derive(Default)]
struct Settings {
    options: Options,
    named: bool,
    annotation: Option<String>,
    folder: Option<PathBuf>,
    deliver: Word,
    every_host: bool,
}

/// The word behind `--deliver`.
#[derive(Default)]
enum Word {
    #[default]
    File,
    Ticket,
    Answer,
}

impl Settings {
    fn set(&mut self, name: &str, value: OsString, shown: &str) -> Result<(), OptionsError> {
        let refuse =
            |value: OsString, expected| OptionsError::Value { option: shown.to_owned(), value, expected };
        let options = &mut self.options;
        match name {
            "registries-conf" => options.registries_conf = Some(value.into()),
            "registries-conf-dir" => options.registries_conf_dir = Some(value.into()),
            "auth-dir" => options.auth_dir = value.into(),
            "lock-dir" => options.lock_dir = value.into(),
            "remove-unclaimed-after" => {
                options.bounds.sweep.unclaimed =
                    seconds(&value, 1).ok_or_else(|| refuse(value, "use 1 to 86400 seconds"))?;
            }
            "remove-tickets-after" => {
                options.bounds.sweep.ticket = seconds(&value, 5).ok_or_else(|| refuse(value, BOUND))?;
            }
            "remove-in-use-after" => {
                options.bounds.sweep.in_use = seconds(&value, 5).ok_or_else(|| refuse(value, BOUND))?;
            }
            "global-auth-file" => options.global_auth_file = value.into(),
            "deliver" => {
                self.deliver = match value.to_str() {
                    Some("file") => Word::File,
                    Some("ticket") => Word::Ticket,
                    Some("answer") => Word::Answer,
                    _ => return Err(refuse(value, "use file, ticket or answer")),
                }
            }
            "secrets" => {
                self.named = match value.to_str() {
                    Some("list") => false,
                    Some("named") => true,
                    _ => return Err(refuse(value, "use list or named")),
                }
            }
            "secrets-annotation" => {
                self.annotation = Some(value.into_string().map_err(|value| refuse(value, "use UTF-8"))?);
            }
            "secrets-folder" => self.folder = Some(value.into()),
            "namespace-without-token" => options.namespace_without_token = Some(namespace_in(value, shown)?),
            "server" => {
                let server = value.into_string().map_err(|value| refuse(value, "use an https:// URL"))?;
                if !server.starts_with("https://") {
                    return Err(refuse(server.into(), "use an https:// URL"));
                }
                options.server = Some(server);
            }
            "certificate-authority" => options.certificate_authority = Some(value.into()),
            "kubeconfig" => options.kubeconfig = Some(value.into()),
            "api-timeout" => {
                let seconds = value.to_str().and_then(|text| text.parse().ok());
                let seconds = seconds.filter(|seconds| (1..=API_TIMEOUT_MAX).contains(seconds));
                options.api_timeout =
                    Duration::from_secs(seconds.ok_or_else(|| refuse(value, "use 1 to 19 seconds"))?);
            }
            "journal-socket" => options.journal_socket = value.into(),
            "answer-credentials-to-every-host-of-the-pull" => self.every_host = switch(value, shown)?,
            "no-pull-record" => options.pull_record = !switch(value, shown)?,
            _ => options.proxy_from_environment = switch(value, shown)?,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Options, OptionsError> {
        self.options.delivery = match (self.deliver, self.every_host) {
            (Word::File | Word::Ticket, true) => {
                return Err(OptionsError::Needs {
                    option: "--answer-credentials-to-every-host-of-the-pull",
                    needs: "--deliver answer",
                });
            }
            (Word::File, false) => Delivery::AuthFile,
            (Word::Ticket, false) => Delivery::Ticket,
            (Word::Answer, every_host) => Delivery::Answer { every_host },
        };
        if self.options.delivery == Delivery::Ticket && !self.options.pull_record {
            return Err(OptionsError::Needs {
                option: "--no-pull-record",
                needs: "--deliver file: a ticket is always for one service account",
            });
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
            return Err(OptionsError::Needs {
                option: "--namespace-without-token",
                needs: "--secrets-folder: without a token no Secret can be asked for",
            });
        }
        Ok(self.options)
    }
}

const BOUND: &str = "use 5 to 86400 seconds";

/// How long a file may stand. Not too short for a pull that is on its way.
fn seconds(value: &OsStr, least: u64) -> Option<Duration> {
    let seconds = value.to_str()?.parse().ok()?;
    (least..=86_400).contains(&seconds).then(|| Duration::from_secs(seconds))
}

fn namespace_in(value: OsString, option: &str) -> Result<Namespace, OptionsError> {
    let expected = "use the name of a namespace";
    let namespace = value.to_str().and_then(|text| text.parse::<Namespace>().ok());
    namespace.ok_or_else(|| OptionsError::Value { option: option.to_owned(), value, expected })
}

/// A switch in the environment. What is neither is refused: some of them say yes to a danger.
fn switch(value: OsString, option: &str) -> Result<bool, OptionsError> {
    match value.to_str() {
        Some("true" | "1" | "yes") => Ok(true),
        Some("false" | "0" | "no") => Ok(false),
        _ => Err(OptionsError::Value { option: option.to_owned(), value, expected: "use true or false" }),
    }
}

#[cfg(test)]
mod tests;
