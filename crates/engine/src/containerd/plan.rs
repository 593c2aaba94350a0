//! Translates `registries.conf` for one host, as far as a `hosts.toml` can express it.
//!
//! containerd has one list of hosts for all images of a registry. Settings for the whole registry are copied as they are. A
//! mirror of a path is added only for pulls by digest, and only if it keeps the names of images: a digest determines the
//! content, but the tag of *another* repository must not be resolved by whoever happens to own that name on the mirror.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::asked::{place_of, sources};
use super::{Capabilities, Capability, Host, HostsToml, Scheme};
use crate::reference::contacted_host;
use crate::registries::{MirrorUse, PullBy, PullSource, RegistriesConf, Registry, SourceRole};

/// Plans the file of `host`; `below` are the entries for its paths.
pub(super) fn plan(conf: &RegistriesConf, host: &str, below: &[&Registry]) -> HostsToml {
    let mut hosts = HostList::default();
    let mut server = None;
    for source in sources(conf, host) {
        let Some(place) = place_of(&source) else { continue };
        match (source.role, &source.blocked_by) {
            (SourceRole::Mirror, None) => hosts.add(at(place, source.insecure, capabilities(source.serves))),
            // The runtime refuses the mirror for every pull.
            (SourceRole::Mirror, Some(_)) => {}
            (SourceRole::Location | SourceRole::Direct, blocked_by) => {
                // Nobody pulls from a host that is only allowed for pushes.
                let allowed = match blocked_by {
                    Some(_) => [Capability::Push].into_iter().collect(),
                    None => Capabilities::ALL,
                };
                server = Some(at(place, source.insecure, allowed));
            }
        }
    }
    for registry in below {
        for (place, insecure) in kept_by_digest(conf, host, registry) {
            hosts.add(at(&place, insecure, [Capability::Pull].into_iter().collect()));
        }
    }
    let server = server.unwrap_or_else(|| at(host, false, Capabilities::ALL));
    HostsToml { hosts: hosts.hosts, server, findings: Vec::new() }
}

/// Returns the mirrors of a path that keep it as part of the name, as mirrors of the whole host.
fn kept_by_digest(conf: &RegistriesConf, host: &str, registry: &Registry) -> Vec<(String, bool)> {
    let Some(path) = registry.prefix.strip_prefix(host) else { return Vec::new() };
    let kept = |source: &PullSource| {
        let usable = source.role == SourceRole::Mirror && source.is_asked(PullBy::Digest);
        let place = place_of(source).filter(|_| usable)?;
        Some((place.strip_suffix(path)?.to_owned(), source.insecure))
    };
    sources(conf, &registry.prefix).iter().filter_map(kept).collect()
}

/// A mirror for tags is also asked by digest: containerd resolves the tag and continues by digest.
fn capabilities(serves: MirrorUse) -> Capabilities {
    match serves {
        MirrorUse::DigestOnly => [Capability::Pull].into_iter().collect(),
        MirrorUse::All | MirrorUse::TagOnly => [Capability::Pull, Capability::Resolve].into_iter().collect(),
    }
}

/// Makes the host for a location. For the runtime, "insecure" means TLS with any certificate, or else plain HTTP. containerd
/// does the same if the scheme is `http` and TLS is configured.
fn at(location: &str, insecure: bool, capabilities: Capabilities) -> Host {
    let (host, path) = location.split_at(location.find('/').unwrap_or(location.len()));
    let host = contacted_host(host);
    Host {
        scheme: if insecure { Scheme::Http } else { Scheme::Https },
        path: format!("/v2{path}"),
        capabilities,
        skip_verify: insecure.then_some(true),
        ..Host::named(host)
    }
}

/// The hosts in the order in which they are asked, without duplicates.
#[derive(Default)]
struct HostList {
    hosts: Vec<Host>,
    /// The position of each host, for fast lookup: a registry may have thousands of paths, each with mirrors.
    positions: HashMap<(Scheme, String, String), usize>,
}

impl HostList {
    /// Adds a host, or extends the capabilities of an existing one: a location that is a mirror by digest and, in another
    /// object, by tag is one host.
    fn add(&mut self, new: Host) {
        let address = (new.scheme.clone(), new.host.clone(), new.path.clone());
        match self.positions.entry(address) {
            Entry::Occupied(position) => {
                let host = &mut self.hosts[*position.get()];
                host.capabilities = host.capabilities.iter().chain(new.capabilities.iter()).collect();
            }
            Entry::Vacant(position) => {
                position.insert(self.hosts.len());
                self.hosts.push(new);
            }
        }
    }
}
