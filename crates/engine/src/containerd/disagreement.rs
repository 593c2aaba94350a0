//! Finds the hosts for which a node's `certs.d` and its `registries.conf` disagree.

use std::collections::BTreeSet;

use super::asked::{Asked, Asking};
use super::render::planned;
use super::unsupported::in_words;
use super::{By, CertsD, DEFAULT_FOLDER, host_of_folder};
use crate::registries::RegistriesConf;
use pullwright_findings::{DocPath, Finding, rules};

/// A registry that no configuration mentions.
const ANY: &str = "any.invalid";

/// A host for which `certs.d` and `registries.conf` disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// The folder that containerd uses for the host, if there is one.
    pub folder: Option<String>,
    /// The host; an arbitrary one for `_default`.
    pub host: String,
    /// The difference. Its path is the whole file.
    pub finding: Finding,
}

/// Compares what a pull by tag and by digest would ask, in order, for each host that either of them names. Settings of
/// `registries.conf` that containerd cannot express do not count as a disagreement.
#[must_use]
pub fn disagreements(conf: &RegistriesConf, certs: &CertsD) -> Vec<Disagreement> {
    let named: Vec<String> = certs.folders().filter_map(|(folder, _)| host_of_folder(folder)).collect();
    let wanted = planned(conf, &named);
    let mut hosts: BTreeSet<String> = named.into_iter().collect();
    hosts.extend(wanted.folders().filter_map(|(folder, _)| host_of_folder(folder)));
    let mut found: Vec<_> = hosts.iter().filter_map(|host| compare(host, &wanted, certs)).collect();
    if certs.folders().any(|(folder, _)| folder == DEFAULT_FOLDER) {
        found.extend(compare(ANY, &wanted, certs));
    }
    found
}

fn compare(host: &str, wanted: &CertsD, certs: &CertsD) -> Option<Disagreement> {
    let (wanted, found) = (Asking::by_containerd(wanted, host), Asking::by_containerd(certs, host));
    let differs = |by: By| wanted.of(by) != found.of(by);
    let (by, by_what) = match (differs(By::Tag), differs(By::Digest)) {
        (false, false) => return None,
        (true, true) if wanted.by_tag == wanted.by_digest && found.by_tag == found.by_digest => (By::Tag, ""),
        (true, _) => (By::Tag, " by tag"),
        (false, true) => (By::Digest, " by digest"),
    };
    let subject = if host == ANY { "a registry without a folder of its own" } else { host };
    let words = |asked: &[Asked]| in_words(asked, "").replace(ANY, "that registry");
    let message = format!(
        "for images of {subject}{by_what}, registries.conf asks {}, and containerd asks {}",
        words(wanted.of(by)),
        words(found.of(by))
    );
    let finding = Finding::new(&rules::containerd::DISAGREES, DocPath::root(), message);
    let folder = certs.folder_of(host).map(|(folder, _)| folder.to_owned());
    Some(Disagreement { folder, host: host.to_owned(), finding })
}
