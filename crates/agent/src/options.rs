//! The command line of the agent, as one table.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use pullwright_daemon::LogLevel;
use pullwright_flags::{Flag, FlagError, Program, Section};

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Bring the node what it should have, for as long as the program runs.
    Run(Options),
    /// Bring every file back to what it was before Pullwright, and end. Nobody is asked for it.
    Restore(Options),
    /// Print the help.
    Help,
    /// Print the version.
    Version,
}

/// How the agent runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `--node`
    pub node: Option<String>,
    /// `--root`
    pub root: PathBuf,
    /// `--programs`
    pub programs: PathBuf,
    /// `--kubeconfig`
    pub kubeconfig: Option<PathBuf>,
    /// `--token`
    pub token: PathBuf,
    /// `--listen`
    pub listen: SocketAddr,
    /// `--wait`
    pub wait: Duration,
    /// `--log-level`
    pub log_level: LogLevel,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            node: None,
            root: "/host".into(),
            programs: "/usr/libexec/pullwright".into(),
            kubeconfig: None,
            token: "/var/run/secrets/kubernetes.io/serviceaccount/token".into(),
            listen: SocketAddr::from(([0, 0, 0, 0], 9463)),
            wait: Duration::from_mins(3),
            log_level: LogLevel::Info,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Settings {
    options: Options,
    restore: bool,
    question: Option<Command>,
}

const USAGE: &str = "\
pullwright-agent: brings the configuration that the operator chose for a node onto that node, and goes back if it does
not work. Exit codes: 0 it was told to end, or everything is restored; 1 it cannot run here, or files could not be
restored; 2 wrong usage.

  pullwright-agent [OPTIONS]          bring the node what it should have
  pullwright-agent restore [OPTIONS]  bring every file back to what it was before Pullwright, without asking the cluster

You can also set each option in the environment, as PULLWRIGHT_AGENT_ and its name in capitals (PULLWRIGHT_AGENT_NODE);
the command line wins.
";

/// The command line of the agent.
pub(crate) const PROGRAM: Program<Settings> = Program {
    env_prefix: "PULLWRIGHT_AGENT_",
    usage: USAGE,
    word: |settings, word| {
        let known = word == "restore" && !settings.restore;
        settings.restore |= known;
        known
    },
    sections: &[Section { title: "", flags: FLAGS }],
};

const FLAGS: &[Flag<Settings>] = &[
    Flag::value("node", "NAME", "the node's name in the cluster", |settings, value| {
        settings.options.node = Some(value.parse("use the name of a node")?);
        Ok(())
    }),
    Flag::value(
        "root",
        "DIR",
        "where the node's root folder is mounted [default: /host]",
        |settings, value| {
            settings.options.root = value.path();
            Ok(())
        },
    ),
    Flag::value(
        "programs",
        "DIR",
        "the plugin and the image service that the agent brings to the node [default: /usr/libexec/pullwright]",
        |settings, value| {
            settings.options.programs = value.path();
            Ok(())
        },
    ),
    Flag::value(
        "kubeconfig",
        "FILE",
        "how to reach the API server [default: the Pod's service account, or KUBECONFIG]",
        |settings, value| {
            settings.options.kubeconfig = Some(value.path());
            Ok(())
        },
    ),
    Flag::value(
        "token",
        "FILE",
        "the token with which the kubelet is asked for its metrics [default: that of the Pod's service account]",
        |settings, value| {
            settings.options.token = value.path();
            Ok(())
        },
    ),
    Flag::value(
        "listen",
        "ADDRESS",
        "where to serve /healthz, /readyz and /metrics [default: 0.0.0.0:9463]",
        |settings, value| {
            settings.options.listen = value.parse("use an address and a port, such as 0.0.0.0:9463")?;
            Ok(())
        },
    ),
    Flag::value(
        "wait",
        "SECONDS",
        "how long the kubelet may take to work again before the agent goes back [default: 180]",
        |settings, value| {
            settings.options.wait = value.seconds(10..=3600, "use 10 to 3600 seconds")?;
            Ok(())
        },
    ),
    Flag::value(
        "log-level",
        "error|warn|info|debug",
        "how much to log, as JSON on standard error [default: info]",
        |settings, value| {
            settings.options.log_level =
                value.parse_with("use error, warn, info or debug", |text| text.parse().ok())?;
            Ok(())
        },
    ),
    Flag::question("help", "print this", |settings| settings.question = Some(Command::Help)),
    Flag::question("version", "print the version", |settings| settings.question = Some(Command::Version)),
];

/// Parses the command line and the environment.
///
/// # Errors
/// If an option is unknown, or its value is not what it takes.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> Result<Command, FlagError> {
    let mut settings = Settings::default();
    PROGRAM.parse(&mut settings, arguments, var)?;
    let Settings { options, restore, question } = settings;
    let command = if restore { Command::Restore(options) } else { Command::Run(options) };
    Ok(question.unwrap_or(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, FlagError> {
        parse(arguments.iter().map(OsString::from), &|_| None)
    }

    #[test]
    fn restoring_is_a_word() {
        let Ok(Command::Restore(options)) = parsed(&["restore", "--root=/"]) else { panic!() };
        assert_eq!(options.root, PathBuf::from("/"));
        assert!(parsed(&["restore", "restore"]).is_err());
        assert!(parsed(&["undo"]).is_err());
    }

    #[test]
    fn wrong_values_say_what_to_use() {
        for (argument, help) in [("--wait=1", "use 10 to 3600 seconds"), ("--listen=1", "use an address")] {
            let error = parsed(&[argument]).unwrap_err().to_string();
            assert!(error.contains(help), "{argument}: {error}");
        }
    }

    #[test]
    fn the_documentation_has_the_table_of_options() {
        let page = include_str!("../../../docs/agent.md");
        let table = PROGRAM.markdown();
        assert!(page.contains(&table), "docs/agent.md needs this table:\n{table}");
        assert!(PROGRAM.help().lines().all(|line| line.chars().count() <= 120), "{}", PROGRAM.help());
    }
}
