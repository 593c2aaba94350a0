//! What the program says about itself.

/// The text of `--help`.
pub(crate) const HELP: &str = "\
crio-credential-provider: a kubelet credential provider for images that are mirrored to private registries.

The kubelet runs it with a CredentialProviderRequest on standard input. It takes the pull secrets of the Pod's own
namespace, with the Pod's own token, and hands them to CRI-O in a short-lived file. Exit codes: 0 answered, with or
without credentials; 1 a fault, the pull goes on without this plugin; 2 wrong usage.

  crio-credential-provider [OPTIONS] < request
  crio-credential-provider check [OPTIONS] --request FILE [--namespace NS]
                         replay a request from files and print the plan; nothing is written
  crio-credential-provider sweep [--auth-dir DIR] [--lock-dir DIR] [--remove-…-after SECONDS]
                         remove what no pull came for, each file when it is due, until none is left; the plugin starts
                         it by itself, a timer may do so too

Each option can also be given in the environment, as CRIO_CREDENTIAL_PROVIDER_ and its name in capitals
(CRIO_CREDENTIAL_PROVIDER_AUTH_DIR); the command line wins.

Where images come from
  --registries-conf FILE       main file, must exist [default: as CRI-O finds it, /etc/containers/registries.conf]
  --registries-conf-dir DIR    the only folder of drop-ins [default: registries.conf.d of /etc and /usr/share]

Where credentials go
  --auth-dir DIR               CRI-O's namespaced_auth_dir [default: /etc/crio/auth]
  --lock-dir DIR               where plugins queue [default: /run/crio-credential-provider/locks]
  --remove-unclaimed-after SECONDS
                               remove a file that no pull came for; until then any Pod of the namespace that pulls
                               the same image gets it. Raise it only if the kubelet must pull one image at a time
                               (serializeImagePulls) [default: 2]
  --remove-tickets-after SECONDS
                               the same for --deliver ticket, where only its own pull gets the file [default: 300]
  --remove-in-use-after SECONDS
                               remove a file that a runtime took and left, as one that died does; it reads the file when
                               its pull begins [default: 3600]
  --global-auth-file FILE      merged into the file behind the namespace's [default: /var/lib/kubelet/config.json]
  --deliver file|ticket|answer file: for CRI-O; ticket: for pullwright-images, in front of containerd; answer: to the
                               kubelet, for runtimes without an auth folder, and only if every host of the pull is one
                               that the credential was written for [default: file]
  --answer-credentials-to-every-host-of-the-pull
                               with --deliver answer: also if a host would be shown a credential of another one; never
                               what the global auth file holds
  --no-pull-record             do not tell the kubelet that the pull is for this service account only; any Pod on the
                               node may then use the image once it is there

Where Secrets come from
  --secrets list               all pull secrets of the namespace; needs `list` on secrets [default]
  --secrets named              those that the ServiceAccount names, each by `get`: the names in the annotation below if
                               the kubelet passes it, else its imagePullSecrets
  --secrets-annotation KEY     the annotation with names, separated by commas [default: pullwright.dev/pull-secrets]
  --secrets-folder DIR         manifests on this node instead of the API server
  --namespace-without-token NS the namespace of Pods without a token (static Pods), with --secrets-folder

The API server, always verified
  --server URL                 [default: that of the kubeconfig, else of /etc/kubernetes/apiserver-url.env]
  --certificate-authority FILE [default: that of the kubeconfig]
  --kubeconfig FILE            only its cluster is read, never its credentials [default: /var/lib/kubelet/kubeconfig,
                               /etc/kubernetes/kubelet.conf, /etc/kubernetes/kubeconfig; the first that exists]
  --proxy-from-environment     use HTTPS_PROXY and NO_PROXY; not done otherwise
  --api-timeout SECONDS        for all requests together, and for reading what they bring [default: 10]

  --journal-socket SOCKET      where journald listens [default: /run/systemd/journal/socket]
  --help, --version, --version-json
";

/// The text of `--version`, with the line by which scripts know the Go plugin's.
pub(crate) fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("crio-credential-provider (pullwright) {version}\nVersion: {version}\n")
}

/// The text of `--version-json`.
pub(crate) fn version_json() -> String {
    let version = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "implementation": "pullwright",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    });
    format!("{version}\n")
}
