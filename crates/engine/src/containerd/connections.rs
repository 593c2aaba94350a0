//! Which registries an import makes insecure: containerd verifies a host or not for each registry that it mirrors, a
//! cluster for each place.

use std::collections::{HashMap, HashSet};

use pullwright_findings::{DocPath, Finding, rules};

/// One place that is asked, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Connection {
    /// `host[:port][/path]`.
    pub(super) location: String,
    pub(super) insecure: bool,
    /// What images it is asked for.
    pub(super) source: String,
    /// The file that says so, by number, and where in it.
    pub(super) file: usize,
    pub(super) at: DocPath,
}

impl Connection {
    fn host(&self) -> &str {
        self.location.split('/').next().unwrap_or_default()
    }

    /// Whether listing `insecure` would make this one insecure. A registry is asked itself for all names in it.
    fn is_reached_by(&self, insecure: &str) -> bool {
        let is_within = |inner: &str, outer: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let itself = self.location == self.source;
        is_within(&self.location, insecure) || (itself && is_within(insecure, &self.location))
    }
}

/// The insecure registries, each once, and what is verified although a file says otherwise, with the number of that file.
///
/// That is the safe choice: a pull that fails is noticed, one from somebody in between is not.
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
