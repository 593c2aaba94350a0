//! The operator's command line and environment, as a table of its options.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use pullwright_api::names;
use pullwright_daemon::LogLevel;
use pullwright_flags::{Flag, FlagError, Program, Section};

use crate::nodes::DeliveryMode;
use crate::rollout::MaxUnavailable;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Run.
    Run(Box<Options>),
    /// `--help`.
    Help,
    /// `--version`.
    Version,
}

/// How the operator works; see `--help`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// `--kubeconfig`
    pub kubeconfig: Option<PathBuf>,
    /// `--namespace`
    pub namespace: String,
    /// `--listen`
    pub listen: SocketAddr,
    /// `--delivery`
    pub delivery: Option<DeliveryMode>,
    /// `--audience`
    pub audience: String,
    /// `--secrets named`
    pub named_secrets: bool,
    /// `--host`
    pub hosts: Vec<String>,
    /// `--existing-providers`
    pub existing_providers: Option<PathBuf>,
    /// `--max-unavailable`
    pub max_unavailable: MaxUnavailable,
    /// `--canaries`
    pub canaries: usize,
    /// `--soak`
    pub soak: Duration,
    /// `--lease`
    pub lease: Duration,
    /// `--log-level`
    pub log_level: LogLevel,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            namespace: names::OPERATOR_NAMESPACE.to_owned(),
            listen: SocketAddr::from(([0, 0, 0, 0], 8080)),
            delivery: None,
            audience: "https://kubernetes.default.svc".to_owned(),
            named_secrets: false,
            hosts: Vec::new(),
            existing_providers: None,
            max_unavailable: MaxUnavailable::Nodes(1),
            canaries: 1,
            soak: Duration::from_mins(1),
            lease: Duration::from_secs(15),
            log_level: LogLevel::Info,
        }
    }
}

#[derive(Default)]
pub(crate) struct Settings {
    options: Options,
    question: Option<Command>,
}

const USAGE: &str = "\
pullwright-operator: from the objects of the API to what every node should have.

It watches ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy, Image and CRIOCredentialProviderConfig,
computes the files that nodes need, writes them to objects that bring them there, and says on each object what became of
it. Run two or more replicas; one of them writes. Exit codes: 0 it was told to end; 1 it cannot run here; 2 wrong usage;
3 it could not renew its lease, and must be started again.

  pullwright-operator [OPTIONS]

You can also set each option in the environment, as PULLWRIGHT_OPERATOR_ and its name in capitals
(PULLWRIGHT_OPERATOR_AUDIENCE); the command line wins.
";

/// The command line of the operator.
pub(crate) const PROGRAM: Program<Settings> = Program {
    env_prefix: "PULLWRIGHT_OPERATOR_",
    usage: USAGE,
    word: |_, _| false,
    sections: &[Section { title: "", flags: FLAGS }],
};

const FLAGS: &[Flag<Settings>] = &[
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
        "namespace",
        "NAME",
        "the namespace of the Lease that replicas share [default: pullwright-system]",
        |settings, value| {
            settings.options.namespace = value.parse("use the name of a namespace")?;
            Ok(())
        },
    ),
    Flag::value(
        "listen",
        "ADDRESS",
        "where to serve /healthz, /readyz and /metrics [default: 0.0.0.0:8080]",
        |settings, value| {
            settings.options.listen = value.parse("use an address and a port, such as 0.0.0.0:8080")?;
            Ok(())
        },
    ),
    Flag::value(
        "delivery",
        "auto|node-agent|machine-config",
        "how files get to the nodes: by Pullwright's node agent, or by OpenShift's Machine Config Operator [default: auto, \
         which is machine-config where the API server has that kind]",
        |settings, value| {
            settings.options.delivery =
                value.parse_with("use auto, node-agent or machine-config", |text| match text {
                    "auto" => Some(None),
                    "node-agent" => Some(Some(DeliveryMode::NodeAgent)),
                    "machine-config" => Some(Some(DeliveryMode::MachineConfig)),
                    _ => None,
                })?;
            Ok(())
        },
    ),
    Flag::value(
        "audience",
        "AUDIENCE",
        "for whom kubelets request the plugin's tokens: one of the API server's --api-audiences [default: \
         https://kubernetes.default.svc; kubeadm: https://kubernetes.default.svc.cluster.local]",
        |settings, value| {
            settings.options.audience = value.parse("use an audience")?;
            Ok(())
        },
    ),
    Flag::value(
        "secrets",
        "list|named",
        "which Secrets the plugin reads on the nodes: all pull secrets of the namespace, or those that the service account \
         names [default: list]",
        |settings, value| {
            settings.options.named_secrets = value.parse_with("use list or named", |text| match text {
                "list" => Some(false),
                "named" => Some(true),
                _ => None,
            })?;
            Ok(())
        },
    ),
    Flag::value(
        "host",
        "HOST[,HOST]",
        "for containerd and K3s: registries that only a wildcard matches and that need a file of their own",
        |settings, value| {
            let hosts: String = value.parse("use host names")?;
            let hosts = hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned);
            settings.options.hosts.extend(hosts);
            Ok(())
        },
    ),
    Flag::value(
        "existing-providers",
        "FILE",
        "the kubelets' provider configuration without Pullwright, if they have providers beyond those of their cloud; images \
         that these are asked for are left to them",
        |settings, value| {
            settings.options.existing_providers = Some(value.path());
            Ok(())
        },
    ),
    Flag::value(
        "max-unavailable",
        "NODES|PERCENT%",
        "with the node agent: how many nodes may be unavailable at a time while a configuration is rolled out; 0 pauses \
         [default: 1]",
        |settings, value| {
            settings.options.max_unavailable =
                value.parse_with("use a number, or a part such as 10%", |text| text.parse().ok())?;
            Ok(())
        },
    ),
    Flag::value(
        "canaries",
        "NODES",
        "with the node agent: how many nodes of each runtime try a new configuration before the others get it [default: 1]",
        |settings, value| {
            let canaries = value.within(1..=1000, "use 1 to 1000")?;
            settings.options.canaries = usize::try_from(canaries).unwrap_or(1);
            Ok(())
        },
    ),
    Flag::value(
        "soak",
        "SECONDS",
        "with the node agent: how long canaries must be well before the other nodes follow [default: 60]",
        |settings, value| {
            settings.options.soak = value.seconds(0..=86_400, "use 0 to 86400 seconds")?;
            Ok(())
        },
    ),
    Flag::value(
        "lease",
        "SECONDS",
        "how long the other replicas wait for one that is silent [default: 15]",
        |settings, value| {
            settings.options.lease = value.seconds(5..=600, "use 5 to 600 seconds")?;
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
    let Settings { options, question } = settings;
    Ok(question.unwrap_or_else(|| Command::Run(Box::new(options))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Command, FlagError> {
        parse(arguments.iter().map(OsString::from), &|_| None)
    }

    #[test]
    fn wrong_values_say_what_to_use() {
        for (argument, help) in [
            ("--lease=1", "use 5 to 600 seconds"),
            ("--delivery=ssh", "use auto, node-agent or machine-config"),
            ("--secrets=all", "use list or named"),
            ("--listen=8080", "use an address and a port"),
        ] {
            let error = parsed(&[argument]).unwrap_err().to_string();
            assert!(error.contains(help), "{argument}: {error}");
        }
    }

    #[test]
    fn hosts_can_be_given_together_or_one_by_one() {
        let Ok(Command::Run(options)) = parsed(&["--host=a.io,b.io", "--host", "c.io"]) else { panic!() };
        assert_eq!(options.hosts, ["a.io", "b.io", "c.io"]);
    }

    #[test]
    fn the_documentation_has_the_table_of_options() {
        let page = include_str!("../../../docs/operator.md");
        assert!(
            page.contains(&PROGRAM.markdown()),
            "docs/operator.md needs this table:\n{}",
            PROGRAM.markdown()
        );
        assert!(PROGRAM.help().lines().all(|line| line.chars().count() <= 120), "{}", PROGRAM.help());
    }
}
