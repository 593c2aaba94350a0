//! Decides which registries an import makes insecure: containerd decides for each mirrored registry whether to verify a
//! host, a cluster decides for each place.

use std::collections::{HashMap, HashSet};

use pullwright_findings::{DocPath, Finding, rules};

/// One place that is asked, and how nodes connect to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Connection {
    /// `host[:port][/path]`.
    pub(super) location: String,
    pub(super) insecure: bool,
    /// The images that it is asked for.
    pub(super) source: String,
    /// The number of the file that configures the connection, and the path in that file.
    pub(super) file: usize,
    pub(super) at: DocPath,
}

impl Connection {
    fn host(&self) -> &str {
        self.location.split('/').next().unwrap_or_default()
    }

    /// Whether listing `insecure` would make this connection insecure. A registry itself is asked for all names in it.
    fn is_reached_by(&self, insecure: &str) -> bool {
        let is_within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let itself = self.location == self.source;
        is_within(&self.location, insecure) || (itself && is_within(insecure, &self.location))
    }
}

/// Returns the insecure registries without duplicates, and findings about places that are verified although a file says
/// otherwise, each with the number of that file.
///
/// Verifying is the safe choice: a failing pull is noticed, a pull from a man in the middle is not.
pub(super) fn insecure(connections: &[Connection]) -> (Vec<String>, Vec<(usize, Finding)>) {
    let mut verified: HashMap<&str, Vec<&Connection>> = HashMap::new();
    for connection in connections.iter().filter(|it| !it.insecure) {
        verified.entry(connection.host()).or_default().push(connection);
    }
    let mut decided = HashSet::new();
    let (mut registries, mut findings) = (Vec::new(), Vec::new());
    for connection in connections.iter().filter(|it| it.insecure) {
        let host = connection.host();
        let others = verified.get(host);
        let scope = if others.is_some() { connection.location.as_str() } else { host };
        if !decided.insert(scope) {
            continue;
        }
        match others.into_iter().flatten().find(|it| it.is_reached_by(scope)) {
            Some(other) => findings.push((connection.file, not_for_both(connection, other))),
            None => registries.push(scope.to_owned()),
        }
    }
    (registries, findings)
}

fn not_for_both(insecure: &Connection, verified: &Connection) -> Finding {
    let location = &insecure.location;
    let message = format!(
        "the certificate of {location} is not verified for images of {}, but is for those of {}; in a cluster it is one \
         or the other, and here it is verified",
        insecure.source, verified.source
    );
    let help = format!(
        "give it a certificate that nodes trust, or pulls of {} from there fail; insecureRegistries of Image/cluster would \
         leave both unverified",
        insecure.source
    );
    Finding::new(&rules::import::INSECURE, insecure.at.clone(), message).with_help(help)
}
