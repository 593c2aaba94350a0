//! Which endpoints containerd asks for the images of a host, before and after a change.

use std::collections::HashSet;

use pullwright_engine::containerd::{By, CertsD, ContainerdEndpoint};
use pullwright_engine::registries::{MirrorUse, Notice};
use serde::Serialize;

/// The endpoints of one host, in the order in which containerd asks them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointsChange {
    /// The host whose images are pulled.
    pub host: String,
    /// The endpoints before the change.
    pub old: Vec<AskedEndpoint>,
    /// The endpoints after the change.
    pub new: Vec<AskedEndpoint>,
    /// Who could notice the change.
    pub notice: Notice,
}

/// An endpoint that at least some pulls ask.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct AskedEndpoint {
    /// Where it is.
    pub url: String,
    /// Which pulls it serves.
    pub serves: MirrorUse,
    /// Whether somebody on the way could answer in its place.
    pub insecure: bool,
}

impl AskedEndpoint {
    /// `None` for an endpoint that no pull asks.
    fn of(endpoint: &ContainerdEndpoint) -> Option<Self> {
        let serves = match (endpoint.serves(By::Tag), endpoint.serves(By::Digest)) {
            (true, _) => MirrorUse::All,
            (false, true) => MirrorUse::DigestOnly,
            (false, false) => return None,
        };
        Some(Self { url: endpoint.to_string(), serves, insecure: endpoint.is_insecure() })
    }
}

impl EndpointsChange {
    /// Compares the endpoints of a host; `None` if they stay the same.
    #[must_use]
    pub fn compare(host: &str, before: &CertsD, after: &CertsD) -> Option<Self> {
        let asked = |certs_d: &CertsD| -> Vec<_> {
            certs_d.endpoints(host).iter().filter_map(AskedEndpoint::of).collect()
        };
        let (old, new) = (asked(before), asked(after));
        let notice = notice(&old, &new);
        (old != new).then(|| Self { host: host.to_owned(), old, new, notice })
    }
}

/// More endpoints for pulls by digest affect nobody: such a pull gets the same content from anywhere. Other changes affect the
/// next pulls at most, because containerd reads the files for every pull and nothing is drained or restarted.
fn notice(old: &[AskedEndpoint], new: &[AskedEndpoint]) -> Notice {
    let tags = |asked: &[AskedEndpoint]| -> Vec<_> {
        asked.iter().filter(|endpoint| endpoint.serves == MirrorUse::All).cloned().collect()
    };
    let stay: HashSet<_> = new.iter().collect();
    let all_stay = old.iter().all(|endpoint| stay.contains(endpoint));
    if all_stay && tags(old) == tags(new) { Notice::Nobody } else { Notice::Pulls }
}
