//! What the program says about itself.

/// The text of `--help`.
pub(crate) const HELP: &str = "\
pullwright-images: a CRI image service in front of containerd that pulls with the credentials of the Pod's namespace.

The kubelet calls it in place of containerd (imageServiceEndpoint). Every call is passed on as it is. A pull that brings
a ticket of crio-credential-provider (--deliver ticket) takes the auth file of that ticket, and containerd is called with
each credential in turn, for the one host that it was written for. Exit codes: 0 it ended, or --check found nothing wrong; 1 it cannot serve, or
--check found something that keeps it from it; 2 wrong usage.

  pullwright-images [OPTIONS]
  pullwright-images --check [OPTIONS]
                               look at sockets, folders and files, and say what to do; nothing is changed

Each option can also be given in the environment, as PULLWRIGHT_IMAGES_ and its name in capitals
(PULLWRIGHT_IMAGES_AUTH_DIR); the command line wins.

  --listen SOCKET              for the kubelet [default: /run/pullwright/images.sock]
  --containerd SOCKET          [default: /run/containerd/containerd.sock]
  --certs-d FOLDER[:FOLDER]    containerd's config_path [default: /etc/containerd/certs.d]
  --registries-conf FILE       main file, must exist [default: /etc/containers/registries.conf]
  --registries-conf-dir DIR    the only folder of drop-ins [default: registries.conf.d of /etc and /usr/share]
  --auth-dir DIR               where the plugin puts auth files [default: /etc/crio/auth]
  --lock-dir DIR               where plugins queue [default: /run/crio-credential-provider/locks]
  --remove-unclaimed-after SECONDS
                               remove a file without a ticket, which no pull gets here [default: 2]
  --remove-tickets-after SECONDS
                               remove the file of a ticket that no pull brought; as long as the plugin's [default: 300]
  --remove-in-use-after SECONDS
                               remove a file that was taken and left [default: 3600]
  --global-auth-file FILE      the node's own credentials, for pulls without an auth file [default: none]
  --metrics SOCKET             counters for Prometheus over HTTP [default: none]
  --drain SECONDS              how long pulls may run on after SIGTERM [default: 30]
  --help, --version
";

/// The text of `--version`.
pub(crate) fn version() -> String {
    format!("pullwright-images (pullwright) {}\n", env!("CARGO_PKG_VERSION"))
}
