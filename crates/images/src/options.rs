//! The service's command line and environment, and the table of its options. Parsing, `--help` and the documentation
//! all use this table.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use pullwright_engine::containerd::CERTS_D;
use pullwright_engine::registries::LoaderEnv;
use pullwright_flags::{Flag, FlagError, Program, Rejected, Section, Value};
use pullwright_handover::Bounds;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Serve calls.
    Serve(Options),
    /// Check whether the service could run here, and print what is wrong.
    Check(Options),
    /// Let the program that is on disk now take over from the running one.
    Reload(Options),
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
            certs_d: vec![CERTS_D.into()],
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

/// What the options set while they are parsed.
#[derive(Default)]
pub(crate) struct Settings {
    options: Options,
    check: bool,
    reload: bool,
    question: Option<Command>,
}

const USAGE: &str = "\
pullwright-images: a CRI image service in front of containerd that pulls with the credentials of the Pod's namespace.

The kubelet calls it in place of containerd (imageServiceEndpoint). It passes every call on as it is. For a pull that
brings a ticket of crio-credential-provider (--deliver ticket), it takes the auth file of that ticket and calls
containerd with each credential in turn, for the one host that the credential was written for. Exit codes: 0 it ended,
--check found nothing wrong, or --reload worked; 1 it cannot serve, --check found out why, or the running process goes
on after --reload; 2 wrong usage.

  pullwright-images [OPTIONS]
  pullwright-images --check [OPTIONS]
  pullwright-images --reload [OPTIONS]

You can also set each option in the environment, as PULLWRIGHT_IMAGES_ and its name in capitals
(PULLWRIGHT_IMAGES_AUTH_DIR); the command line wins.
";

/// The command line of the service.
pub(crate) const PROGRAM: Program<Settings> = Program {
    env_prefix: "PULLWRIGHT_IMAGES_",
    usage: USAGE,
    word: |_, _| false,
    sections: &[Section { title: "", flags: FLAGS }],
};

const FLAGS: &[Flag<Settings>] = &[
    Flag::value(
        "listen",
        "SOCKET",
        "where to listen for the kubelet [default: /run/pullwright/images.sock]",
        |settings, value| {
            settings.options.listen = socket(value)?;
            Ok(())
        },
    ),
    Flag::value(
        "containerd",
        "SOCKET",
        "where containerd listens [default: /run/containerd/containerd.sock]",
        |settings, value| {
            settings.options.containerd = socket(value)?;
            Ok(())
        },
    ),
    Flag::value(
        "certs-d",
        "FOLDER[:FOLDER]",
        "containerd's config_path [default: /etc/containerd/certs.d]",
        |settings, value| {
            settings.options.certs_d = std::env::split_paths(value.as_os_str()).collect();
            Ok(())
        },
    ),
    Flag::value(
        "registries-conf",
        "FILE",
        "the main registries.conf, which must exist [default: /etc/containers/registries.conf]",
        |settings, value| {
            settings.options.registries_conf = Some(value.path());
            Ok(())
        },
    ),
    Flag::value(
        "registries-conf-dir",
        "DIR",
        "the only folder of drop-ins [default: registries.conf.d of /etc and /usr/share]",
        |settings, value| {
            settings.options.registries_conf_dir = Some(value.path());
            Ok(())
        },
    ),
    Flag::value(
        "auth-dir",
        "DIR",
        "where the plugin puts auth files [default: /etc/crio/auth]",
        |settings, value| {
            settings.options.auth_dir = value.path();
            Ok(())
        },
    ),
    Flag::value(
        "lock-dir",
        "DIR",
        "where plugins queue [default: /run/crio-credential-provider/locks]",
        |settings, value| {
            settings.options.lock_dir = value.path();
            Ok(())
        },
    ),
    Flag::value(
        "remove-unclaimed-after",
        "SECONDS",
        "remove a file without a ticket, which no pull gets here [default: 2]",
        |settings, value| {
            settings.options.bounds.sweep.unclaimed = value.seconds(1..=86_400, "use 1 to 86400 seconds")?;
            Ok(())
        },
    ),
    Flag::value(
        "remove-tickets-after",
        "SECONDS",
        "remove the file of a ticket that no pull brought; use the plugin's value [default: 300]",
        |settings, value| {
            settings.options.bounds.sweep.ticket = value.seconds(5..=86_400, "use 5 to 86400 seconds")?;
            Ok(())
        },
    ),
    Flag::value(
        "remove-in-use-after",
        "SECONDS",
        "remove a file that a pull took and left behind [default: 3600]",
        |settings, value| {
            settings.options.bounds.sweep.in_use = value.seconds(5..=86_400, "use 5 to 86400 seconds")?;
            Ok(())
        },
    ),
    Flag::value(
        "global-auth-file",
        "FILE",
        "the node's own credentials, for pulls without an auth file [default: none]",
        |settings, value| {
            settings.options.global_auth_file = Some(value.path());
            Ok(())
        },
    ),
    Flag::value(
        "metrics",
        "SOCKET",
        "counters for Prometheus over HTTP [default: none]",
        |settings, value| {
            settings.options.metrics = Some(socket(value)?);
            Ok(())
        },
    ),
    Flag::value(
        "drain",
        "SECONDS",
        "how long pulls may run on after SIGTERM [default: 30]",
        |settings, value| {
            settings.options.drain = value.seconds(0..=86_400, "use 0 to 86400 seconds")?;
            Ok(())
        },
    ),
    Flag::<Settings>::switch(
        "check",
        "look at sockets, folders and files, and print what to do; changes nothing",
        |settings, on| settings.check = on,
    )
    .not_in_environment(),
    Flag::<Settings>::switch(
        "reload",
        "let the program that is on disk now take over from the running one; no call fails",
        |settings, on| settings.reload = on,
    )
    .not_in_environment(),
    Flag::question("help", "print this help", |settings| settings.question = Some(Command::Help)),
    Flag::question("version", "print the version", |settings| settings.question = Some(Command::Version)),
];

/// Parses the command line on top of the environment.
///
/// # Errors
/// If an option is unknown, or its value is not valid.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> Result<Command, FlagError> {
    let mut settings = Settings::default();
    PROGRAM.parse(&mut settings, arguments, var)?;
    let Settings { options, check, reload, question } = settings;
    let command = match (check, reload) {
        (true, _) => Command::Check,
        (false, true) => Command::Reload,
        (false, false) => Command::Serve,
    };
    Ok(question.unwrap_or_else(|| command(options)))
}

impl Options {
    /// Where to find `registries.conf`, in the environment that `var` gives.
    pub(crate) fn loader(&self, var: &dyn Fn(&str) -> Option<OsString>) -> LoaderEnv {
        let mut loader = LoaderEnv::from_vars(var, rustix::process::getuid().as_raw());
        loader.conf.clone_from(&self.registries_conf);
        loader.conf_dir.clone_from(&self.registries_conf_dir);
        loader
    }
}

/// The path of a socket, with or without the kubelet's `unix://`.
fn socket(value: Value) -> Result<PathBuf, Rejected> {
    let path = match value.as_os_str().to_str().and_then(|text| text.strip_prefix("unix://")) {
        Some(path) => PathBuf::from(path),
        None => PathBuf::from(value.as_os_str()),
    };
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(value.reject("use the absolute path of a socket, or unix:// and that path"))
    }
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
    fn the_documentation_has_the_table_of_options() {
        let page = include_str!("../../../docs/images.md");
        assert!(
            page.contains(&PROGRAM.markdown()),
            "docs/images.md needs this table:\n{}",
            PROGRAM.markdown()
        );
        assert!(PROGRAM.help().lines().all(|line| line.chars().count() <= 120), "{}", PROGRAM.help());
    }
}
