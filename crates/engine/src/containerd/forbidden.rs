//! Finds places that `registries.conf` forbids and that containerd asks anyway, because they lie inside a mirror of a whole
//! registry: containerd asks a host for every image, whatever its path.

use super::By;
use super::CertsD;
use super::asked::location;
use super::unsupported::TargetRuntime;
use crate::registries::Registry;
use pullwright_findings::{DocPath, Finding, rules};

/// The blocked entries for paths, to look up mirrors in.
pub(super) struct Forbidden<'c> {
    /// Sorted by prefix, each with its index among all entries.
    paths: Vec<(&'c str, usize)>,
}

impl<'c> Forbidden<'c> {
    /// Selects from all entries, which must be sorted by prefix.
    pub(super) fn new(registries: &[&'c Registry]) -> Self {
        let blocked = registries.iter().enumerate().filter(|(_, registry)| registry.blocked);
        let paths = blocked.map(|(index, registry)| (registry.prefix.as_str(), index));
        Self { paths: paths.filter(|(prefix, _)| prefix.contains('/')).collect() }
    }

    /// Reports the forbidden places that are asked for the images of `host`: one finding per mirror, however many places it
    /// contains.
    pub(super) fn findings(&self, host: &str, certs: &CertsD, runtime: TargetRuntime) -> Vec<Finding> {
        if self.paths.is_empty() {
            return Vec::new();
        }
        let asked = certs.endpoints(host).into_iter().filter(|endpoint| endpoint.serves(By::Digest));
        // Forbidden paths of the registry itself are reported where the registry is compared.
        let places = asked.filter_map(|endpoint| location(&endpoint)).filter(|place| place != host);
        places.filter_map(|place| self.finding(host, &place, runtime)).collect()
    }

    fn finding(&self, host: &str, place: &str, runtime: TargetRuntime) -> Option<Finding> {
        let below = format!("{place}/");
        let start = self.paths.partition_point(|(prefix, _)| *prefix < below.as_str());
        let count = self.paths[start..].partition_point(|(prefix, _)| prefix.starts_with(&below));
        let (first, index) = *self.paths[start..start + count].first()?;
        let others = match count - 1 {
            0 => String::new(),
            1 => " (and one other path)".to_owned(),
            more => format!(" (and {more} other paths)"),
        };
        let name = runtime.name();
        let message = format!(
            "for images of {host}/{path}, {name} asks {first}{others}, which must not be contacted: {place} is a mirror of {host}",
            path = &first[below.len()..],
        );
        let help = format!(
            "{name} asks a mirror for every image of its registry; mirror {host} elsewhere, or forbid all of {place}"
        );
        let rule = match runtime {
            TargetRuntime::Containerd => &rules::containerd::FORBIDDEN_PATH,
            TargetRuntime::K3s => &rules::k3s::FORBIDDEN_PATH,
        };
        Some(Finding::new(rule, DocPath::root().key("registry").index(index), message).with_help(help))
    }
}
