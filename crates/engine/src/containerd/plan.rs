//! What `registries.conf` becomes for one host, as far as a `hosts.toml` can say it.
//!
//! containerd has one list of hosts for all images of a registry. What holds for the whole registry is taken over as it
//! is. A mirror of a path is added for pulls by digest alone, and only if it keeps the names of images: a digest makes
//! the content certain, while a tag of *another* repository must not be resolved by whoever happens to have that name
//! on the mirror.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::asked::{place_of, sources};
use super::{Capabilities, Capability, Host, HostsToml, Scheme};
use crate::reference::contacted_host;
use crate::registries::{MirrorUse, PullBy, PullSource, RegistriesConf, Registry, SourceRole};

/// Plans the file of `host`; `below` are the entries for paths in it.
pub(super) fn plan(conf: &RegistriesConf, host: &str, below: &[&Registry]) -> HostsToml {
    let mut hosts = HostList::default();
    let mut server = None;
    for source in sources(conf, host) {
        let Some(place) = place_of(&source) else { continue };
        match (source.role, &source.blocked_by) {
            (SourceRole::Mirror, None) => hosts.add(at(place, source.insecure, capabilities(source.serves))),
            // The runtime refuses it for every pull.
            (SourceRole::Mirror, Some(_)) => {}
            (SourceRole::Location | SourceRole::Direct, blocked_by) => {
                // Nobody pulls from whom only pushes may go to.
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

/// The mirrors of a path that keep it as part of the name, as mirrors of the whole host.
fn kept_by_digest(conf: &RegistriesConf, host: &str, registry: &Registry) -> Vec<(String, bool)> {
    let Some(path) = registry.prefix.strip_prefix(host) else { return Vec::new() };
    let kept = |source: &PullSource| {
        let usable = source.role == SourceRole::Mirror && source.is_asked(PullBy::Digest);
        let place = place_of(source).filter(|_| usable)?;
        Some((place.strip_suffix(path)?.to_owned(), source.insecure))
    };
    sources(conf, &registry.prefix).iter().filter_map(kept).collect()
}

/// A mirror by tag is asked by digest, too: containerd resolves the tag and goes on by digest.
fn capabilities(serves: MirrorUse) -> Capabilities {
    match serves {
        MirrorUse::DigestOnly => [Capability::Pull].into_iter().collect(),
        MirrorUse::All | MirrorUse::TagOnly => [Capability::Pull, Capability::Resolve].into_iter().collect(),
    }
}

/// A host for a location. To the runtime "insecure" is TLS with any certificate, or else plain HTTP; containerd does the
/// same where the scheme is `http` and TLS is configured.
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

/// Hosts in the order in which they are asked, each once.
#[derive(Default)]
struct HostList {
    hosts: Vec<Host>,
    /// Where each is: a registry may have thousands of paths, each with mirrors.
    positions: HashMap<(Scheme, String, String), usize>,
}

impl HostList {
    /// Adds a host, or what it may be asked for if it is there: a location that is a mirror by digest and, in another
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
