//! What the service is told on its command line and in its environment.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use lexopt::prelude::*;
use pullwright_engine::registries::LoaderEnv;
use pullwright_handover::Bounds;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Serve.
    Serve(Options),
    /// Look whether it could serve, and say so.
    Check(Options),
    /// `--help`.
    Help,
    /// `--version`.
    Version,
}

/// How the service works; see `--help`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `--listen`
    pub listen: PathBuf,
    /// `--containerd`
    pub containerd: PathBuf,
    /// `--certs-d`
    pub certs_d: Vec<PathBuf>,
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
    pub global_auth_file: Option<PathBuf>,
    /// `--metrics`
    pub metrics: Option<PathBuf>,
    /// `--drain`
    pub drain: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: "/run/pullwright/images.sock".into(),
            containerd: "/run/containerd/containerd.sock".into(),
            certs_d: vec!["/etc/containerd/certs.d".into()],
            registries_conf: None,
            registries_conf_dir: None,
            auth_dir: pullwright_handover::DEFAULT_AUTH_FOLDER.into(),
            lock_dir: pullwright_handover::DEFAULT_LOCK_FOLDER.into(),
            bounds: Bounds::default(),
            global_auth_file: None,
            metrics: None,
            drain: Duration::from_secs(30),
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
}

const ENV_PREFIX: &str = "PULLWRIGHT_IMAGES_";

/// The options with a value.
const VALUED: &[&str] = &[
    "listen",
    "containerd",
    "certs-d",
    "registries-conf",
    "registries-conf-dir",
    "auth-dir",
    "lock-dir",
    "remove-unclaimed-after",
    "remove-tickets-after",
    "remove-in-use-after",
    "global-auth-file",
    "metrics",
    "drain",
];

/// Parses the command line over the environment.
///
/// # Errors
/// An option that is not one, or a value that it does not take.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> Result<Command, OptionsError> {
    let mut options = Options::default();
    for name in VALUED {
        let variable = format!("{ENV_PREFIX}{}", name.replace('-', "_").to_ascii_uppercase());
        if let Some(value) = var(&variable).filter(|value| !value.is_empty()) {
            options.set(name, value, &variable)?;
        }
    }
    let mut check = false;
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => return Ok(Command::Help),
            Long("version") => return Ok(Command::Version),
            Long("check") => check = true,
            Long(name) if VALUED.contains(&name) => {
                let name = name.to_owned();
                options.set(&name, parser.value()?, &format!("--{name}"))?;
            }
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(if check { Command::Check(options) } else { Command::Serve(options) })
}

impl Options {
    fn set(&mut self, name: &str, value: OsString, shown: &str) -> Result<(), OptionsError> {
        let refuse =
            |value: OsString, expected| OptionsError::Value { option: shown.to_owned(), value, expected };
        match name {
            "listen" => self.listen = socket(value).map_err(|value| refuse(value, SOCKET))?,
            "containerd" => self.containerd = socket(value).map_err(|value| refuse(value, SOCKET))?,
            "metrics" => self.metrics = Some(socket(value).map_err(|value| refuse(value, SOCKET))?),
            "certs-d" => self.certs_d = std::env::split_paths(&value).collect(),
            "registries-conf" => self.registries_conf = Some(value.into()),
            "registries-conf-dir" => self.registries_conf_dir = Some(value.into()),
            "auth-dir" => self.auth_dir = value.into(),
            "lock-dir" => self.lock_dir = value.into(),
            "remove-unclaimed-after" => {
                self.bounds.sweep.unclaimed =
                    seconds(&value, 1).ok_or_else(|| refuse(value, "use 1 to 86400 seconds"))?;
            }
            "remove-tickets-after" => {
                self.bounds.sweep.ticket =
                    seconds(&value, 5).ok_or_else(|| refuse(value, "use 5 to 86400 seconds"))?;
            }
            "remove-in-use-after" => {
                self.bounds.sweep.in_use =
                    seconds(&value, 5).ok_or_else(|| refuse(value, "use 5 to 86400 seconds"))?;
            }
            "global-auth-file" => self.global_auth_file = Some(value.into()),
            _ => self.drain = seconds(&value, 0).ok_or_else(|| refuse(value, "use 0 to 86400 seconds"))?,
        }
        Ok(())
    }

    /// Where `registries.conf` is, in the environment that `var` gives.
    pub(crate) fn loader(&self, var: &dyn Fn(&str) -> Option<OsString>) -> LoaderEnv {
        let mut loader = LoaderEnv::from_vars(var, rustix::process::getuid().as_raw());
        loader.conf.clone_from(&self.registries_conf);
        loader.conf_dir.clone_from(&self.registries_conf_dir);
        loader
    }
}

const SOCKET: &str = "use the absolute path of a socket, or unix:// and that path";

/// The path of a socket, also as the kubelet writes it.
fn socket(value: OsString) -> Result<PathBuf, OsString> {
    let path = match value.to_str().and_then(|text| text.strip_prefix("unix://")) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(&value),
    };
    if path.is_absolute() { Ok(path) } else { Err(value) }
}

fn seconds(value: &OsStr, least: u64) -> Option<Duration> {
    let seconds = value.to_str()?.parse().ok()?;
    (least..=86_400).contains(&seconds).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str], vars: &[(&str, &str)]) -> Result<Command, String> {
        let var = |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        parse(arguments.iter().map(OsString::from), &var).map_err(|error| error.to_string())
    }

    fn options(arguments: &[&str], vars: &[(&str, &str)]) -> Options {
        match parsed(arguments, vars) {
            Ok(Command::Serve(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_command_line_wins_over_the_environment_and_that_over_the_default() {
        let vars = [("PULLWRIGHT_IMAGES_DRAIN", "7"), ("PULLWRIGHT_IMAGES_AUTH_DIR", "/a")];
        let read = options(&["--drain", "9"], &vars);
        assert_eq!((read.drain.as_secs(), read.auth_dir), (9, "/a".into()));
        assert_eq!(options(&[], &[("PULLWRIGHT_IMAGES_DRAIN", "")]), Options::default());
    }

    #[test]
    fn a_socket_may_be_written_as_the_kubelet_writes_it() {
        assert_eq!(options(&["--listen", "unix:///run/x.sock"], &[]).listen, PathBuf::from("/run/x.sock"));
        let relative = parsed(&["--containerd", "x.sock"], &[]).unwrap_err();
        assert_eq!(
            relative,
            "--containerd does not take \"x.sock\": use the absolute path of a socket, or unix:// and that path"
        );
    }

    #[test]
    fn certs_d_may_be_several_folders_like_containerds_config_path() {
        assert_eq!(options(&["--certs-d", "/a:/b"], &[]).certs_d, [PathBuf::from("/a"), PathBuf::from("/b")]);
    }

    #[test]
    fn what_is_no_option_or_no_value_is_refused() {
        assert_eq!(parsed(&["--auth-folder", "/a"], &[]).unwrap_err(), "invalid option '--auth-folder'");
        assert!(parsed(&["serve"], &[]).unwrap_err().contains("serve"));
        for (name, value) in [("--drain", "-1"), ("--drain", "1h"), ("--remove-in-use-after", "4")] {
            assert!(parsed(&[name, value], &[]).unwrap_err().starts_with(name), "{name} {value}");
        }
    }

    #[test]
    fn check_takes_the_same_options() {
        let checked = parsed(&["--drain", "1", "--check"], &[]).unwrap();
        assert!(matches!(checked, Command::Check(options) if options.drain.as_secs() == 1));
    }

    #[test]
    fn the_help_names_every_option() {
        for option in VALUED {
            assert!(crate::usage::HELP.contains(&format!("--{option} ")), "{option}");
        }
    }
}
