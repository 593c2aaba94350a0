//! The sources of every pull of a repository, if only the kubelet's name for the image is known.
//!
//! The plugin learns neither the tag or digest nor whether the Pod named a registry at all, so it prepares for every
//! pull that may follow. An extra source only adds an entry that no pull looks up.

use std::collections::HashSet;

use crate::reference::Reference;
use crate::registries::{PullBy, PullSource, RegistriesConf};

/// The sources of every pull that a name can lead to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnyPull {
    /// Each repository once, in order, without tag and digest.
    pub sources: Vec<PullSource>,
    /// Whether any source differs from the registry in the name: a mirror or another location.
    pub elsewhere: bool,
}

/// Collects the sources for `repository`.
///
/// The kubelet turns `nginx` into `docker.io/library/nginx` before it calls the plugin, while the runtime may pull it
/// from an alias or a search registry. So this function also resolves the short names that the name may come from, in
/// any short-name mode. In enforcing mode, CRI-O refuses a name with several search registries, but its mode can be set
/// where the plugin does not look (files that CRI-O was started with), and an unused entry costs less than a pull that
/// fails because one is missing.
#[must_use]
pub fn any_pull(registries: &RegistriesConf, repository: &Reference) -> AnyPull {
    let mut seen = HashSet::new();
    let mut any = AnyPull { sources: Vec::new(), elsewhere: false };
    let short = short_forms(repository.name()).flat_map(|short| registries.candidates_of_short_name(short));
    for candidate in std::iter::once(repository.clone()).chain(short) {
        let candidate = candidate.repository();
        for source in registries.route(&candidate, PullBy::Any).sources {
            any.elsewhere |= source.reference != candidate;
            if seen.insert(source.reference.clone()) {
                any.sources.push(source);
            }
        }
    }
    any
}

/// Returns the short names that the kubelet expands to this name.
fn short_forms(name: &str) -> impl Iterator<Item = &str> {
    let path = name.strip_prefix("docker.io/");
    let official = path.and_then(|path| path.strip_prefix("library/")).filter(|word| !word.contains('/'));
    path.into_iter().chain(official)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_docker_hub_have_short_forms() {
        assert_eq!(short_forms("docker.io/library/nginx").collect::<Vec<_>>(), ["library/nginx", "nginx"]);
        assert_eq!(short_forms("docker.io/user/repo").collect::<Vec<_>>(), ["user/repo"]);
        assert_eq!(short_forms("quay.io/user/repo").count(), 0);
    }
}
