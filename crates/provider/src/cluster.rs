//! Finds the API server to ask, and the certificate authority to verify it with.
//!
//! The Go plugin asks `localhost:6443` unverified when it finds nothing better, so whoever binds that port gets the
//! tokens of every Pod. This plugin asks a server only if it knows the server's address and its certificate authority.

use std::io;
use std::path::{Path, PathBuf};

use pullwright_documents::documents;
use pullwright_golang::base64;
use pullwright_nodefiles::NodeRoot;
use serde_json::Value;

use crate::options::Options;

/// An API server and how to verify it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// `https://host[:port]`, without a slash at the end.
    pub server: String,
    /// Certificates in PEM.
    pub certificate_authority: Vec<u8>,
}

/// Why the API server is not asked.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Nothing names a server.
    #[error(
        "no API server is known: set --server and --certificate-authority, or --kubeconfig (looked for {})",
        list(looked_for)
    )]
    NoServer {
        /// The files that were looked for.
        looked_for: Vec<PathBuf>,
    },
    /// There is a server, but nothing to verify it with.
    #[error("the certificate authority of {server} is not known: set --certificate-authority")]
    NoAuthority {
        /// The server.
        server: String,
    },
    /// A file cannot be read.
    #[error("cannot read {path:?}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        source: io::Error,
    },
    /// A kubeconfig cannot be used.
    #[error("cannot use the kubeconfig {path:?}: {why}: set --server and --certificate-authority")]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// Where kubelets keep their kubeconfig: OpenShift and most distributions, kubeadm, older OpenShift.
const KUBECONFIGS: [&str; 3] =
    ["/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/kubeconfig"];
/// The file in which OpenShift gives its services the server's address.
const ADDRESS: &str = "/etc/kubernetes/apiserver-url.env";

impl Cluster {
    /// Finds the server and its certificate authority: from the options first, then from the kubeconfig's cluster, then
    /// from OpenShift's address file.
    ///
    /// # Errors
    /// If either cannot be found; the error says what to set.
    pub fn find(node: &NodeRoot, options: &Options) -> Result<Self, ClusterError> {
        let known = match (&options.server, &options.certificate_authority) {
            (Some(_), Some(_)) => None,
            _ => kubeconfig(node, options.kubeconfig.as_deref())?,
        };
        let (known_server, known_authority) = known.map(|known| (known.server, known.authority)).unzip();
        let server = options.server.clone().or(known_server).map(Ok).or_else(|| address(node).transpose());
        let looked_for = || match &options.kubeconfig {
            Some(path) => vec![path.clone(), ADDRESS.into()],
            None => KUBECONFIGS.iter().chain([&ADDRESS]).map(PathBuf::from).collect(),
        };
        let server = server.unwrap_or_else(|| Err(ClusterError::NoServer { looked_for: looked_for() }))?;
        let authority = match &options.certificate_authority {
            Some(path) => Some(read(node, path)?),
            None => known_authority.flatten(),
        };
        let Some(certificate_authority) = authority else { return Err(ClusterError::NoAuthority { server }) };
        Ok(Self { server: server.trim_end_matches('/').to_owned(), certificate_authority })
    }
}

/// The current cluster of a kubeconfig.
struct Known {
    server: String,
    authority: Option<Vec<u8>>,
}

/// Reads the current cluster of a kubeconfig; `None` if there is no kubeconfig.
fn kubeconfig(node: &NodeRoot, named: Option<&Path>) -> Result<Option<Known>, ClusterError> {
    let found = match named {
        Some(path) => Some((path.to_owned(), read(node, path)?)),
        None => {
            KUBECONFIGS.iter().map(Path::new).find_map(|path| Some((path.to_owned(), node.read(path).ok()?)))
        }
    };
    let Some((path, text)) = found else { return Ok(None) };
    let unusable = |why: &str| ClusterError::Kubeconfig { path: path.clone(), why: why.to_owned() };
    let text = String::from_utf8(text).map_err(|_| unusable("it is not UTF-8 text"))?;
    let config = documents(&text).map_err(|error| unusable(&error.message))?;
    let config = config.first().map(pullwright_documents::DocumentNode::value).unwrap_or_default();
    let cluster = current_cluster(&config).map_err(unusable)?;
    let text = |name: &str| cluster.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if cluster.get("insecure-skip-tls-verify") == Some(&Value::Bool(true)) {
        return Err(unusable("it says not to verify the API server, which this plugin always does"));
    }
    if text("tls-server-name").is_some() {
        return Err(unusable("tls-server-name is not supported"));
    }
    let server = text("server").filter(|server| server.starts_with("https://"));
    let server = server.ok_or_else(|| unusable("its cluster has no https:// server"))?.to_owned();
    let authority = match (text("certificate-authority-data"), text("certificate-authority")) {
        (Some(data), _) => {
            let decoded = base64::decode(data);
            Some(decoded.map_err(|_| unusable("certificate-authority-data is not base64"))?)
        }
        (None, Some(file)) => {
            let beside = path.parent().unwrap_or(Path::new("/"));
            Some(read(node, &beside.join(file))?)
        }
        (None, None) => None,
    };
    Ok(Some(Known { server, authority }))
}

/// The cluster of the current context, or the only one.
fn current_cluster(config: &Value) -> Result<&Value, &'static str> {
    let named = |list: &str, name: &str| {
        config
            .get(list)?
            .as_array()?
            .iter()
            .find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))
    };
    let current = config.get("current-context").and_then(Value::as_str).unwrap_or_default();
    let context = named("contexts", current).and_then(|entry| entry.pointer("/context/cluster"));
    if let Some(name) = context.and_then(Value::as_str) {
        let entry = named("clusters", name).and_then(|entry| entry.get("cluster"));
        return entry.ok_or("its current context names a cluster that it does not have");
    }
    match config.get("clusters").and_then(Value::as_array).map(Vec::as_slice) {
        Some([only]) => only.get("cluster").ok_or("its cluster is empty"),
        _ => Err("it has no current context and not exactly one cluster"),
    }
}

/// The server in OpenShift's address file.
fn address(node: &NodeRoot) -> Result<Option<String>, ClusterError> {
    let path = Path::new(ADDRESS);
    match node.read_text(path) {
        Ok(text) => Ok(server_of(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ClusterError::Read { path: path.to_owned(), source }),
    }
}

/// Builds `https://host:port` from lines such as `KUBERNETES_SERVICE_HOST='api-int.example.com'`.
fn server_of(text: &str) -> Option<String> {
    let value = |name: &str| {
        let line = text.lines().rev().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))?;
        Some(line.trim().trim_matches(['\'', '"'])).filter(|value| !value.is_empty())
    };
    let host = value("KUBERNETES_SERVICE_HOST")?;
    let port = value("KUBERNETES_SERVICE_PORT").unwrap_or("6443");
    // An IPv6 address needs brackets in a URL.
    let bare_ipv6 = host.contains(':') && !host.starts_with('[');
    Some(if bare_ipv6 { format!("https://[{host}]:{port}") } else { format!("https://{host}:{port}") })
}

fn read(node: &NodeRoot, path: &Path) -> Result<Vec<u8>, ClusterError> {
    node.read(path).map_err(|source| ClusterError::Read { path: path.to_owned(), source })
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A node with these files.
    fn node(files: &[(&str, &str)]) -> (tempfile::TempDir, NodeRoot) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = NodeRoot::at(folder.path()).unwrap();
        (folder, root)
    }

    fn find(files: &[(&str, &str)], options: &Options) -> Result<(String, String), String> {
        let (_folder, node) = node(files);
        let cluster = Cluster::find(&node, options).map_err(|error| error.to_string())?;
        Ok((cluster.server, String::from_utf8(cluster.certificate_authority).unwrap()))
    }

    const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\ncurrent-context: b\n\
        contexts:\n- {name: a, context: {cluster: one}}\n- {name: b, context: {cluster: two, user: u}}\n\
        clusters:\n- {name: one, cluster: {server: 'https://one:6443'}}\n\
        - {name: two, cluster: {server: 'https://two:6443/', certificate-authority: pki/ca.crt}}\n\
        users:\n- {name: u, user: {token: never-read}}\n";

    #[test]
    fn the_kubeconfig_s_current_cluster_with_a_path_beside_it() {
        let files = [("etc/kubernetes/kubelet.conf", KUBECONFIG), ("etc/kubernetes/pki/ca.crt", "CA")];
        assert_eq!(find(&files, &Options::default()), Ok(("https://two:6443".into(), "CA".into())));
    }

    #[test]
    fn options_come_first_each_for_itself() {
        let files = [
            ("var/lib/kubelet/kubeconfig", KUBECONFIG),
            ("var/lib/kubelet/pki/ca.crt", "CA"),
            ("my.crt", "MY"),
        ];
        let mut options = Options { server: Some("https://mine".into()), ..Options::default() };
        assert_eq!(find(&files, &options), Ok(("https://mine".into(), "CA".into())));
        options.certificate_authority = Some("/my.crt".into());
        assert_eq!(find(&files, &options), Ok(("https://mine".into(), "MY".into())));
        options.server = None;
        assert_eq!(find(&files, &options), Ok(("https://two:6443".into(), "MY".into())));
    }

    #[test]
    fn the_address_file_needs_a_certificate_authority_by_option() {
        let files =
            [("etc/kubernetes/apiserver-url.env", "KUBERNETES_SERVICE_HOST='fd00::1'\n"), ("ca", "CA")];
        let said = find(&files, &Options::default()).unwrap_err();
        assert_eq!(
            said,
            "the certificate authority of https://[fd00::1]:6443 is not known: set --certificate-authority"
        );
        let options = Options { certificate_authority: Some("/ca".into()), ..Options::default() };
        assert_eq!(find(&files, &options), Ok(("https://[fd00::1]:6443".into(), "CA".into())));
    }

    #[test]
    fn nobody_is_asked_by_default_and_nobody_unverified() {
        let said = find(&[], &Options::default()).unwrap_err();
        assert!(
            said.starts_with("no API server is known: set --server and --certificate-authority"),
            "{said}"
        );
        let skip = "clusters:\n- {name: a, cluster: {server: 'https://a', insecure-skip-tls-verify: true}}\n";
        let said = find(&[("etc/kubernetes/kubelet.conf", skip)], &Options::default()).unwrap_err();
        assert!(said.contains("which this plugin always does"), "{said}");
        let broken = find(&[("etc/kubernetes/kubelet.conf", "a: [")], &Options::default()).unwrap_err();
        assert!(broken.contains("cannot use the kubeconfig"), "{broken}");
    }
}
