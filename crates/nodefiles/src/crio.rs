//! CRI-O's setting for short names: from `crio.conf` and its drop-ins, the last of which wins.

use std::io;
use std::path::{Path, PathBuf};

use pullwright_engine::crio::{self, CrioConfError};
use pullwright_engine::registries::ShortNameRule;

use crate::NodeRoot;

/// Why CRI-O's configuration could not be read. CRI-O would then not start.
#[derive(Debug, thiserror::Error)]
pub enum CrioLoadError {
    /// A file or folder cannot be read.
    #[error("reading CRI-O's configuration {path:?}: {source}")]
    Read {
        /// Its path on the node.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// CRI-O rejects a file.
    #[error("loading CRI-O's configuration {path:?}: {source}")]
    Refused {
        /// Its path on the node.
        path: PathBuf,
        /// Why.
        source: CrioConfError,
    },
}

impl NodeRoot {
    /// How CRI-O treats short names by its files; its default if no file sets it.
    ///
    /// # Errors
    /// If a file cannot be read, or CRI-O rejects it.
    pub fn short_name_rule(&self) -> Result<ShortNameRule, CrioLoadError> {
        let mut rule = ShortNameRule::default();
        let drop_ins = self.files_below(Path::new(crio::CONF_DIR))?;
        for path in std::iter::once(PathBuf::from(crio::CONF)).chain(drop_ins) {
            let text = match self.read_text(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(CrioLoadError::Read { path, source }),
            };
            match crio::short_name_mode(&text) {
                Ok(None) => {}
                Ok(Some(mode)) => rule = ShortNameRule { mode, origin: Some(path) },
                Err(source) => return Err(CrioLoadError::Refused { path, source }),
            }
        }
        Ok(rule)
    }

    /// All files below a folder, each folder in the order of its names. Links to folders are not followed: CRI-O
    /// treats them as files.
    fn files_below(&self, folder: &Path) -> Result<Vec<PathBuf>, CrioLoadError> {
        let mut files = Vec::new();
        let mut left = vec![(folder.to_owned(), true)];
        while let Some((path, is_folder)) = left.pop() {
            if !is_folder {
                files.push(path);
                continue;
            }
            let mut entries = match self.tree_entries(&path) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(CrioLoadError::Read { path, source }),
            };
            entries.sort_unstable();
            left.extend(entries.into_iter().rev().map(|(name, is_folder)| (path.join(name), is_folder)));
        }
        Ok(files)
    }
}
