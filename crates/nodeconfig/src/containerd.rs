//! containerd: `hosts.toml` files, one in the folder of each registry below `certs.d`.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use pullwright_engine::containerd::{CERTS_D, CertsD, HOSTS_TOML, host_of_folder, render};

use crate::{
    ConfigChange, CurrentFiles, EndpointsChange, FileChange, Layout, NodeFile, NodeFileError, Reload,
    Rendering, Runtime, RuntimeState, is_ours,
};

/// Where the plugin and the image service hand over credentials on nodes that an agent sets up: in memory, and gone with the node's last
/// breath. Only CRI-O needs a folder of its own for them.
pub const AUTH_FOLDER: &str = "/run/pullwright/auth";

/// The row of containerd.
pub const RUNTIME: Runtime = Runtime {
    name: "containerd",
    about: "containerd: hosts.toml files below certs.d",
    folder: CERTS_D,
    layout: Layout::CertsD,
    policy: None,
    render: |conf, hosts| {
        let rendered = render(conf, hosts);
        let file = |(path, text): (String, String)| NodeFile::config(Path::new(CERTS_D).join(path), text);
        Rendering { files: rendered.files.into_iter().map(file).collect(), unsupported: rendered.findings }
    },
    parse: |current| Ok(Box::new(ContainerdFiles::new(current))),
    reload: Reload::Nothing,
    takes_effect: "nothing to reload: containerd reads these files for every pull",
    machine_config: false,
};

/// A folder on the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderOwner {
    /// It has no file.
    Nobody,
    /// An earlier rendering wrote the file.
    Us,
    /// Somebody else wrote the file.
    Others,
}

/// The folders of a node.
struct ContainerdFiles {
    before: CertsD,
    /// The same without files that an earlier rendering wrote: they go unless they are rendered again.
    without_ours: CertsD,
    owners: HashMap<String, FolderOwner>,
}

impl ContainerdFiles {
    fn new(current: &CurrentFiles) -> Self {
        let (mut before, mut without_ours) = (CertsD::default(), CertsD::default());
        let mut owners = HashMap::new();
        for file in &current.files {
            let Some(folder) = folder_of(&file.path) else { continue };
            let text = file.text.as_deref();
            let owner = match text {
                None => FolderOwner::Nobody,
                Some(text) if is_ours(text) => FolderOwner::Us,
                Some(_) => FolderOwner::Others,
            };
            before.insert(folder, text);
            if owner != FolderOwner::Us {
                without_ours.insert(folder, text);
            }
            owners.insert(folder.to_owned(), owner);
        }
        Self { before, without_ours, owners }
    }
}

impl RuntimeState for ContainerdFiles {
    /// One change for each host whose file is written or removed.
    fn changes(&self, files: &[NodeFile]) -> Result<Vec<FileChange>, NodeFileError> {
        let mut after = self.without_ours.clone();
        let mut touched: BTreeSet<&str> = BTreeSet::new();
        for file in files {
            if let Some(folder) = folder_of(&file.path) {
                after.insert(folder, Some(&file.content));
                touched.insert(folder);
            }
        }
        let ours = self.owners.iter().filter(|(_, owner)| **owner == FolderOwner::Us);
        touched.extend(ours.map(|(folder, _)| folder.as_str()));
        let change = |folder: &str| {
            let endpoints = EndpointsChange::compare(&host_of_folder(folder)?, &self.before, &after)?;
            Some(FileChange {
                path: [CERTS_D, folder, HOSTS_TOML].iter().collect(),
                foreign: self.owners.get(folder) == Some(&FolderOwner::Others),
                changes: vec![ConfigChange::Endpoints(endpoints)],
            })
        };
        Ok(touched.into_iter().filter_map(change).collect())
    }
}

/// The name of the folder that a `hosts.toml` is in.
fn folder_of(path: &Path) -> Option<&str> {
    path.parent()?.file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use pullwright_engine::containerd::HEADER;
    use pullwright_engine::registries::Notice;

    use super::*;
    use crate::CurrentFile;

    const MIRROR: &str = "[host.'https://m.io']\ncapabilities = ['pull']\n";
    const TAGS: &str = "[host.'https://m.io']\ncapabilities = ['pull', 'resolve']\n";

    fn changes(folders: &[(&str, &str)], files: &[(&str, &str)]) -> Vec<(String, Notice, bool)> {
        let path = |folder: &str| -> PathBuf { [CERTS_D, folder, HOSTS_TOML].iter().collect() };
        let current = |(folder, text): &(&str, &str)| CurrentFile {
            path: path(folder),
            text: Some((*text).to_owned()),
        };
        let current = CurrentFiles { files: folders.iter().map(current).collect(), main: None };
        let files: Vec<_> =
            files.iter().map(|(folder, text)| NodeFile::config(path(folder), (*text).to_owned())).collect();
        let changes = (RUNTIME.parse)(&current).unwrap().changes(&files).unwrap();
        let endpoints = changes.into_iter().map(|file| match file.changes.as_slice() {
            [ConfigChange::Endpoints(change)] => (change.host.clone(), change.notice, file.foreign),
            _ => panic!("not about one host"),
        });
        endpoints.collect()
    }

    #[test]
    fn only_a_change_of_what_tags_may_get_is_noticed() {
        let ours = |text: &str| format!("{HEADER}\n{text}");
        let quay = "quay.io".to_owned();
        assert_eq!(changes(&[], &[("quay.io", MIRROR)]), [(quay.clone(), Notice::Nobody, false)]);
        assert_eq!(changes(&[], &[("quay.io", TAGS)]), [(quay.clone(), Notice::Pulls, false)]);
        assert_eq!(changes(&[("quay.io", &ours(MIRROR))], &[]), [(quay.clone(), Notice::Pulls, false)]);
        assert_eq!(changes(&[("quay.io", MIRROR)], &[]), [], "a file of somebody else stays");
        assert_eq!(changes(&[("quay.io", TAGS)], &[("quay.io", MIRROR)]), [(quay, Notice::Pulls, true)]);
        assert_eq!(
            changes(&[("quay.io", MIRROR)], &[("quay.io", &ours(MIRROR))]),
            [],
            "the same in other words"
        );
        let ported = changes(&[], &[("quay.io_5000_", MIRROR)]);
        assert_eq!(ported, [("quay.io:5000".to_owned(), Notice::Nobody, false)]);
    }
}
