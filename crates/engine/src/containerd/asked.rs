//! The places that are asked for the images of a registry, or of a path in it: according to `registries.conf`, and by
//! containerd. The two can be compared.

use std::collections::HashSet;

use super::certs_d::DOCKER_HUB;
use super::{By, CertsD, ContainerdEndpoint, Scheme};
use crate::reference::Reference;
use crate::registries::{PullBy, PullSource, RegistriesConf};

/// A repository that no entry names, to find out what applies to everything around it. It has two parts, because Docker Hub
/// keeps repositories of one part elsewhere.
const PROBE: &str = "pullwright.probe/image";
const DIGEST: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

/// One place, in the notation of `registries.conf`: `host[:port][/path]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) place: String,
    pub(super) insecure: bool,
}

/// The places that are asked, in order and without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asking {
    pub(super) by_tag: Vec<Asked>,
    pub(super) by_digest: Vec<Asked>,
}

impl Asking {
    /// According to `registries.conf`, for the images below `scope` that no more specific entry governs. `None` if no such
    /// image can be pulled; other findings report that.
    pub(super) fn by_conf(conf: &RegistriesConf, scope: &str) -> Option<Self> {
        let asked = |suffix: &str| {
            let reference = Reference::parse_canonical(&format!("{scope}/{PROBE}{suffix}")).ok()?;
            let sources = conf.pull_sources(&reference).ok()?;
            let open = sources.iter().filter(|source| source.is_asked(PullBy::of(&reference)));
            Some(once(open.filter_map(|source| {
                Some(Asked { place: place_of(source)?.to_owned(), insecure: source.insecure })
            })))
        };
        Some(Self { by_tag: asked(":probe")?, by_digest: asked(&format!("@{DIGEST}"))? })
    }

    /// By containerd, for the images below `scope`.
    pub(super) fn by_containerd(certs: &CertsD, scope: &str) -> Self {
        let (host, path) = scope.split_at(scope.find('/').unwrap_or(scope.len()));
        let endpoints = certs.endpoints(host);
        let asked = |by| {
            once(endpoints.iter().filter(|endpoint| endpoint.serves(by)).map(|endpoint| Asked {
                place: format!("{}{path}", location(endpoint).unwrap_or_else(|| endpoint.to_string())),
                insecure: endpoint.is_insecure(),
            }))
        };
        Self { by_tag: asked(By::Tag), by_digest: asked(By::Digest) }
    }

    pub(super) fn of(&self, by: By) -> &[Asked] {
        match by {
            By::Tag => &self.by_tag,
            By::Digest => &self.by_digest,
        }
    }
}

/// Returns the sources that `registries.conf` has for any image below `scope`, including blocked places.
pub(super) fn sources(conf: &RegistriesConf, scope: &str) -> Vec<PullSource> {
    match Reference::parse_canonical(&format!("{scope}/{PROBE}")) {
        Ok(probe) => conf.all_sources(&probe),
        Err(_) => Vec::new(),
    }
}

/// Returns where a source of [`sources`] puts the images below the scope; `None` if it keeps nothing of their names.
pub(super) fn place_of(source: &PullSource) -> Option<&str> {
    source.reference.name().strip_suffix(PROBE)?.strip_suffix('/')
}

/// Returns the endpoint as a location of `registries.conf`; `None` if it is not below `/v2`, so that no location can express
/// it.
pub(super) fn location(endpoint: &ContainerdEndpoint) -> Option<String> {
    let host = if endpoint.host == DOCKER_HUB { "docker.io" } else { &endpoint.host };
    let path = endpoint.path.trim_start_matches('/').strip_prefix("v2")?;
    let usable = !host.is_empty() && !matches!(endpoint.scheme, Scheme::Other(_));
    (usable && (path.is_empty() || path.starts_with('/'))).then(|| format!("{host}{path}"))
}

fn once(asked: impl Iterator<Item = Asked>) -> Vec<Asked> {
    let mut seen = HashSet::new();
    asked.filter(|asked| seen.insert(asked.clone())).collect()
}
