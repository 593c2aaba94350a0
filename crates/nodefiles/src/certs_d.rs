//! containerd's `certs.d`: a folder for each registry, with at most one `hosts.toml` in each.

use std::io;
use std::path::{Path, PathBuf};

use pullwright_engine::containerd::{HOSTS_TOML, folder_names};

use crate::NodeRoot;

/// One folder, and the file in it.
#[derive(Debug)]
pub struct RegistryFolder {
    /// The folder's name: `quay.io`, `quay.io_5000_`, `_default`.
    pub name: String,
    /// The path of the file on the node.
    pub path: PathBuf,
    /// The file's text, `None` if the folder has no such file, or why it cannot be read.
    pub text: io::Result<Option<String>>,
}

impl NodeRoot {
    /// The folders of `certs_d` by name, each with its `hosts.toml`. A file that cannot be read affects only its own entry.
    ///
    /// # Errors
    /// If `certs_d` cannot be listed, or does not exist.
    pub fn certs_d(&self, certs_d: &Path) -> io::Result<Vec<RegistryFolder>> {
        let mut names = self.folders(certs_d)?;
        names.sort_unstable();
        let folders = names.into_iter().map(|name| {
            let folder = certs_d.join(&name);
            self.registry_folder(name.to_string_lossy().into_owned(), &folder)
        });
        Ok(folders.collect())
    }

    /// The folder of `certs_d` that containerd uses for a host; `None` if there is none.
    ///
    /// # Errors
    /// If a folder cannot be looked up.
    pub fn certs_d_of(&self, certs_d: &Path, host: &str) -> io::Result<Option<RegistryFolder>> {
        for name in folder_names(host) {
            let folder = certs_d.join(&name);
            if self.exists(&folder)? {
                return Ok(Some(self.registry_folder(name, &folder)));
            }
        }
        Ok(None)
    }

    fn registry_folder(&self, name: String, folder: &Path) -> RegistryFolder {
        let path = folder.join(HOSTS_TOML);
        let text = match self.read_text(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        RegistryFolder { name, path, text }
    }
}
