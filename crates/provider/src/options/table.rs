//! The table of options, one row each. Parsing, `--help` and the documentation all use it.

use pullwright_engine::kubelet::Namespace;
use pullwright_flags::{Flag, Program, Rejected, Section, Value};

use super::{Command, Deliver, SWEEP, Settings, Verb};

/// The longest time for Secrets, in seconds: the kubelet kills the plugin after 60 s, and the hand-over may take 40.
const API_TIMEOUT_MAX: u64 = 19;

const USAGE: &str = "\
crio-credential-provider: a kubelet credential provider for images that are mirrored to private registries.

The kubelet runs it with a CredentialProviderRequest on standard input. It reads the pull secrets of the Pod's own
namespace, with the Pod's own token, and hands them to CRI-O in a short-lived file. Exit codes: 0 answered, with or
without credentials; 1 an error, and the pull goes on without this plugin; 2 wrong usage.

  crio-credential-provider [OPTIONS] < request
  crio-credential-provider check [OPTIONS] --request FILE [--namespace NS]
                         print what the plugin would do for a request in a file, as JSON; writes nothing
  crio-credential-provider sweep [--auth-dir DIR] [--lock-dir DIR] [--remove-…-after SECONDS]
                         remove files that no pull came for, each when it is due, until none is left; the plugin starts
                         it by itself, and a timer may start it, too

You can also set each option in the environment, as CRIO_CREDENTIAL_PROVIDER_ and its name in capitals
(CRIO_CREDENTIAL_PROVIDER_AUTH_DIR); the command line wins.
";

pub(crate) const PROGRAM: Program<Settings> = Program {
    env_prefix: "CRIO_CREDENTIAL_PROVIDER_",
    usage: USAGE,
    word: |settings, word| {
        let verb = match word.to_str() {
            Some("check") => Verb::Check,
            Some(SWEEP) => Verb::Sweep,
            _ => return false,
        };
        // At most one subcommand.
        std::mem::replace(&mut settings.verb, verb) == Verb::Provide
    },
    sections: &[
        Section { title: "Where images come from", flags: IMAGES },
        Section { title: "Where credentials go", flags: CREDENTIALS },
        Section { title: "Where Secrets come from", flags: SECRETS },
        Section { title: "The API server, always verified", flags: API_SERVER },
        Section { title: "For check", flags: CHECK },
        Section { title: "", flags: OTHERS },
    ],
};

const IMAGES: &[Flag<Settings>] = &[
    Flag::value(
        "registries-conf",
        "FILE",
        "the main registries.conf, which must exist [default: as CRI-O finds it, /etc/containers/registries.conf]",
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
];

const CREDENTIALS: &[Flag<Settings>] = &[
    Flag::value(
        "auth-dir",
        "DIR",
        "CRI-O's namespaced_auth_dir [default: /etc/crio/auth]",
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
        "remove a file that no pull came for; until then any Pod of the namespace that pulls the same image gets it. Raise it \
         only if the kubelet must pull one image at a time (serializeImagePulls) [default: 2]",
        |settings, value| {
            settings.options.bounds.sweep.unclaimed = value.seconds(1..=86_400, "use 1 to 86400 seconds")?;
            Ok(())
        },
    ),
    Flag::value(
        "remove-tickets-after",
        "SECONDS",
        "the same for --deliver ticket, where only the pull with the ticket gets the file [default: 300]",
        |settings, value| {
            settings.options.bounds.sweep.ticket = value.seconds(5..=86_400, "use 5 to 86400 seconds")?;
            Ok(())
        },
    ),
    Flag::value(
        "remove-in-use-after",
        "SECONDS",
        "remove a file that a runtime took and left behind, as one that died does; a runtime reads the file when its pull \
         begins [default: 3600]",
        |settings, value| {
            settings.options.bounds.sweep.in_use = value.seconds(5..=86_400, "use 5 to 86400 seconds")?;
            Ok(())
        },
    ),
    Flag::value(
        "global-auth-file",
        "FILE",
        "merged into the file; credentials of the namespace come first [default: /var/lib/kubelet/config.json]",
        |settings, value| {
            settings.options.global_auth_file = value.path();
            Ok(())
        },
    ),
    Flag::value(
        "deliver",
        "file|ticket|answer",
        "file: for CRI-O; ticket: for pullwright-images, in front of containerd; answer: to the kubelet, for runtimes without \
         an auth folder, and only if the credential was written for every host of the pull [default: file]",
        |settings, value| {
            settings.deliver = value.parse_with("use file, ticket or answer", |text| match text {
                "file" => Some(Deliver::File),
                "ticket" => Some(Deliver::Ticket),
                "answer" => Some(Deliver::Answer),
                _ => None,
            })?;
            Ok(())
        },
    ),
    Flag::switch(
        "answer-credentials-to-every-host-of-the-pull",
        "with --deliver answer: answer even if a host would be shown a credential of another host; never answers what the \
         global auth file holds",
        |settings, on| settings.every_host = on,
    ),
    Flag::switch(
        "no-pull-record",
        "do not tell the kubelet that the pull is for this service account only; any Pod on the node may then use the image \
         once it is there",
        |settings, on| settings.options.pull_record = !on,
    ),
];

const SECRETS: &[Flag<Settings>] = &[
    Flag::value(
        "secrets",
        "list|named",
        "list: all pull secrets of the namespace, which needs `list` on secrets; named: those that the ServiceAccount names, \
         each by `get`: the names in the annotation below if the kubelet passes it, else its imagePullSecrets [default: list]",
        |settings, value| {
            settings.named = value.parse_with("use list or named", |text| match text {
                "list" => Some(false),
                "named" => Some(true),
                _ => None,
            })?;
            Ok(())
        },
    ),
    Flag::value(
        "secrets-annotation",
        "KEY",
        "the annotation with the names, separated by commas [default: pullwright.dev/pull-secrets]",
        |settings, value| {
            settings.annotation = Some(value.parse("use UTF-8")?);
            Ok(())
        },
    ),
    Flag::value(
        "secrets-folder",
        "DIR",
        "read Secrets from manifests on this node, not from the API server",
        |settings, value| {
            settings.folder = Some(value.path());
            Ok(())
        },
    ),
    Flag::value(
        "namespace-without-token",
        "NS",
        "the namespace of Pods without a token (static Pods), with --secrets-folder",
        |settings, value| {
            settings.options.namespace_without_token = Some(namespace(value)?);
            Ok(())
        },
    ),
];

const API_SERVER: &[Flag<Settings>] = &[
    Flag::value(
        "server",
        "URL",
        "the address of the API server [default: from the kubeconfig, else from /etc/kubernetes/apiserver-url.env]",
        |settings, value| {
            let is_https = |text: &str| text.starts_with("https://").then(|| text.to_owned());
            settings.options.server = Some(value.parse_with("use an https:// URL", is_https)?);
            Ok(())
        },
    ),
    Flag::value(
        "certificate-authority",
        "FILE",
        "the authority that signed its certificate [default: from the kubeconfig]",
        |settings, value| {
            settings.options.certificate_authority = Some(value.path());
            Ok(())
        },
    ),
    Flag::value(
        "kubeconfig",
        "FILE",
        "only its cluster is read, never its credentials [default: the first that exists of /var/lib/kubelet/kubeconfig, \
         /etc/kubernetes/kubelet.conf, /etc/kubernetes/kubeconfig]",
        |settings, value| {
            settings.options.kubeconfig = Some(value.path());
            Ok(())
        },
    ),
    Flag::switch(
        "proxy-from-environment",
        "use HTTPS_PROXY and NO_PROXY, which are ignored otherwise",
        |settings, on| settings.options.proxy_from_environment = on,
    ),
    Flag::value(
        "api-timeout",
        "SECONDS",
        "for all requests together, and for reading their answers [default: 10]",
        |settings, value| {
            settings.options.api_timeout = value.seconds(1..=API_TIMEOUT_MAX, "use 1 to 19 seconds")?;
            Ok(())
        },
    ),
];

const CHECK: &[Flag<Settings>] = &[
    Flag::<Settings>::value(
        "request",
        "FILE",
        "the file with the kubelet's request, as JSON",
        |settings, value| {
            settings.request = Some(value.path());
            Ok(())
        },
    )
    .not_in_environment(),
    Flag::<Settings>::value(
        "namespace",
        "NS",
        "the Pod's namespace, for a request without a token",
        |settings, value| {
            settings.namespace = Some(namespace(value)?);
            Ok(())
        },
    )
    .not_in_environment(),
];

const OTHERS: &[Flag<Settings>] = &[
    Flag::value(
        "journal-socket",
        "SOCKET",
        "where journald listens [default: /run/systemd/journal/socket]",
        |settings, value| {
            settings.options.journal_socket = value.path();
            Ok(())
        },
    ),
    Flag::value(
        "outcomes-dir",
        "DIR",
        "where runs are counted by their reason, if the folder exists [default: /run/pullwright/outcomes]",
        |settings, value| {
            settings.options.outcomes_dir = value.path();
            Ok(())
        },
    ),
    Flag::question("help", "print this help", |settings| settings.question = Some(Command::Help)),
    Flag::question("version", "print the version", |settings| settings.question = Some(Command::Version)),
    Flag::question("version-json", "print the version as JSON", |settings| {
        settings.question = Some(Command::VersionJson);
    }),
];

fn namespace(value: Value) -> Result<Namespace, Rejected> {
    value.parse("use the name of a namespace")
}
