//! What changes in the files that containerd and k3s read: for each host, whom containerd asks.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use pullwright_documents::{Text, documents};
use pullwright_engine::containerd::{By, CertsD, ContainerdEndpoint, host_of_folder, k3s};
use pullwright_engine::registries::{MirrorUse, Notice};
use pullwright_findings::{Finding, rules};
use serde::Serialize;

use super::{FileChange, What};
use crate::diagnostic::{File, Message, Visibility};
use crate::inputs::certs_d::CERTS_D;
use crate::render::{NodeFile, REGISTRIES_YAML, Rendering};

/// Whom containerd asks for the images of a host, in order.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    pub(super) host: String,
    pub(super) old: Vec<Place>,
    pub(super) new: Vec<Place>,
    pub(super) notice: Notice,
}

/// One place that is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub(super) struct Place {
    pub(super) url: String,
    pub(super) serves: MirrorUse,
    pub(super) insecure: bool,
}

impl Place {
    /// None for a place that no pull asks.
    fn of(endpoint: &ContainerdEndpoint) -> Option<Self> {
        let serves = match (endpoint.serves(By::Tag), endpoint.serves(By::Digest)) {
            (true, _) => MirrorUse::All,
            (false, true) => MirrorUse::DigestOnly,
            (false, false) => return None,
        };
        Some(Self { url: endpoint.to_string(), serves, insecure: endpoint.is_insecure() })
    }
}

/// What is different for each host that a file of `certs.d` is written or removed for.
pub(super) fn changes(folders: &[(String, Option<String>)], files: &[NodeFile]) -> Vec<FileChange> {
    let new: Vec<_> = files.iter().filter_map(|file| Some((folder_of(&file.path)?, &file.text))).collect();
    let names: HashSet<&str> = new.iter().map(|(folder, _)| *folder).collect();
    let is_new = |folder: &str| names.contains(folder);
    let ours = |text: &Option<String>| text.as_deref().is_some_and(Rendering::is_ours);
    let (mut before, mut after) = (CertsD::default(), CertsD::default());
    for (folder, text) in folders {
        before.insert(folder.as_str(), text.as_deref());
        // What an earlier run wrote and nothing wants any more goes; what is somebody else's stays.
        if !ours(text) {
            after.insert(folder.as_str(), text.as_deref());
        }
    }
    for (folder, text) in &new {
        after.insert(*folder, Some(text));
    }
    let touched = folders.iter().filter(|(folder, text)| is_new(folder) || ours(text));
    let touched: BTreeSet<&str> =
        touched.map(|(folder, _)| folder.as_str()).chain(new.iter().map(|(folder, _)| *folder)).collect();
    let there: HashMap<&str, &Option<String>> =
        folders.iter().map(|(folder, text)| (folder.as_str(), text)).collect();
    let change = |folder: &str| {
        let asked = Asked::compare(&host_of_folder(folder)?, &before, &after)?;
        let there = there.get(folder);
        Some(FileChange {
            path: [CERTS_D, folder, "hosts.toml"].iter().collect(),
            foreign: there.is_some_and(|text| text.is_some() && !ours(text)),
            changes: vec![What::Asked(asked)],
        })
    };
    touched.into_iter().filter_map(change).collect()
}

/// What is different for each host that the old or the new `registries.yaml` of k3s is about.
pub(super) fn changes_of_k3s(old: Option<&str>, new: &str) -> Result<Vec<FileChange>, Message> {
    let path = Path::new(REGISTRIES_YAML);
    let before = certs_d_of_k3s(path, old.unwrap_or_default())?;
    let after = certs_d_of_k3s(path, new)?;
    let folders: BTreeSet<&str> = before.folders().chain(after.folders()).map(|(folder, _)| folder).collect();
    let change = |folder: &str| Asked::compare(&host_of_folder(folder)?, &before, &after).map(What::Asked);
    let file = FileChange {
        path: path.to_owned(),
        foreign: old.is_some_and(|text| !Rendering::is_ours(text)),
        changes: folders.into_iter().filter_map(change).collect(),
    };
    Ok(Some(file).filter(|file| !file.changes.is_empty()).into_iter().collect())
}

/// What k3s makes of its file.
fn certs_d_of_k3s(path: &Path, text: &str) -> Result<CertsD, Message> {
    let text = Text::new(text.to_owned());
    let file = File { path, text: &text, visibility: Visibility::K3sRegistries };
    let documents = documents(&text).map_err(|error| file.unreadable(&error))?;
    let Some(document) = documents.first() else { return Ok(CertsD::default()) };
    let registries = k3s::Registries::read(&document.value()).map_err(|error| {
        let finding = Finding::new(&rules::k3s::REFUSED, error.at.clone(), error.to_string());
        file.written(document).finding(&finding)
    })?;
    Ok(registries.certs_d())
}

impl Asked {
    /// Whom is asked for a host; none if that stays the same.
    fn compare(host: &str, before: &CertsD, after: &CertsD) -> Option<Self> {
        let places =
            |certs_d: &CertsD| -> Vec<_> { certs_d.endpoints(host).iter().filter_map(Place::of).collect() };
        let (old, new) = (places(before), places(after));
        let notice = notice(&old, &new);
        (old != new).then(|| Self { host: host.to_owned(), old, new, notice })
    }
}

fn folder_of(path: &Path) -> Option<&str> {
    path.parent()?.file_name()?.to_str()
}

/// Nobody notices further places for pulls by digest, which are the same from anywhere. containerd reads the files anew for
/// every pull, so nothing is drained or restarted for anything else.
fn notice(old: &[Place], new: &[Place]) -> Notice {
    let tags = |places: &[Place]| -> Vec<_> {
        places.iter().filter(|place| place.serves == MirrorUse::All).cloned().collect()
    };
    let stay: HashSet<_> = new.iter().collect();
    let all_stay = old.iter().all(|place| stay.contains(place));
    if all_stay && tags(old) == tags(new) { Notice::Nobody } else { Notice::Pulls }
}

#[cfg(test)]
mod tests {
    use pullwright_engine::containerd::HEADER;

    use super::*;

    const MIRROR: &str = "[host.'https://m.io']\ncapabilities = ['pull']\n";
    const TAGS: &str = "[host.'https://m.io']\ncapabilities = ['pull', 'resolve']\n";

    fn told(folders: &[(&str, &str)], files: &[(&str, &str)]) -> Vec<(String, Notice, bool)> {
        let folders: Vec<_> =
            folders.iter().map(|(folder, text)| ((*folder).to_owned(), Some((*text).to_owned()))).collect();
        let files = files.iter().map(|(folder, text)| NodeFile {
            path: [CERTS_D, folder, "hosts.toml"].iter().collect(),
            text: (*text).to_owned(),
        });
        let changes = changes(&folders, &files.collect::<Vec<_>>());
        let asked = changes.into_iter().map(|file| match file.changes.as_slice() {
            [What::Asked(asked)] => (asked.host.clone(), asked.notice, file.foreign),
            _ => panic!("not about one host"),
        });
        asked.collect()
    }

    #[test]
    fn only_a_change_of_what_tags_may_get_is_noticed() {
        let ours = |text: &str| format!("{HEADER}\n{text}");
        let quay = "quay.io".to_owned();
        assert_eq!(told(&[], &[("quay.io", MIRROR)]), [(quay.clone(), Notice::Nobody, false)]);
        assert_eq!(told(&[], &[("quay.io", TAGS)]), [(quay.clone(), Notice::Pulls, false)]);
        assert_eq!(told(&[("quay.io", &ours(MIRROR))], &[]), [(quay.clone(), Notice::Pulls, false)]);
        assert_eq!(told(&[("quay.io", MIRROR)], &[]), [], "a file of somebody else stays");
        assert_eq!(told(&[("quay.io", TAGS)], &[("quay.io", MIRROR)]), [(quay, Notice::Pulls, true)]);
        assert_eq!(
            told(&[("quay.io", MIRROR)], &[("quay.io", &ours(MIRROR))]),
            [],
            "the same in other words"
        );
        let ported = told(&[], &[("quay.io_5000_", MIRROR)]);
        assert_eq!(ported, [("quay.io:5000".to_owned(), Notice::Nobody, false)]);
    }
}
