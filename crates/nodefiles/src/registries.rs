//! `registries.conf` and its drop-ins, found and read as containers/image does.

use std::io;
use std::path::{Path, PathBuf};

use pullwright_engine::registries::{
    ConfError, ConfFile, LoaderEnv, MainFile, Recorded, RegistriesConf, SearchPath,
};

use crate::NodeRoot;

/// Why a node's configuration could not be loaded. The runtime would fail every pull.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file cannot be read.
    #[error("reading registries configuration {path:?}: {source}")]
    Read {
        /// Its path on the node.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A folder of drop-ins cannot be listed.
    #[error("listing registries configuration {path:?}: {source}")]
    List {
        /// Its path on the node.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The runtime rejects a file.
    #[error("loading registries configuration {path:?}: {source}")]
    Refused {
        /// Its path on the node.
        path: PathBuf,
        /// The file's text, to point into.
        text: String,
        /// Why.
        source: Box<ConfError>,
    },
}

impl NodeRoot {
    /// Finds and reads the node's registries configuration, which is empty if there are no files.
    ///
    /// # Errors
    /// If a file cannot be read, or the runtime rejects it.
    pub fn registries(&self, env: &LoaderEnv) -> Result<RegistriesConf, LoadError> {
        let mut files = Vec::new();
        for (path, text) in self.registries_texts(env)? {
            match ConfFile::parse(&text) {
                Ok(file) => files.push((path, file)),
                Err(error) => return Err(LoadError::Refused { path, text, source: Box::new(error) }),
            }
        }
        Ok(RegistriesConf::merge(files).with_recorded(self.recorded_aliases(env)))
    }

    /// The aliases that were recorded on the node. An error while reading them matters only for short names, so it is part of
    /// the value.
    #[must_use]
    pub fn recorded_aliases(&self, env: &LoaderEnv) -> Recorded {
        let Some(path) = env.recorded_aliases() else { return Recorded::default() };
        match self.read_text(&path) {
            Ok(text) => Recorded::parse(path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Recorded::default(),
            Err(error) => Recorded::unreadable(path, error.to_string()),
        }
    }

    /// The files of the node's registries configuration in the order in which they are merged.
    ///
    /// # Errors
    /// If a file or folder cannot be read.
    pub fn registries_texts(&self, env: &LoaderEnv) -> Result<Vec<(PathBuf, String)>, LoadError> {
        let search = env.search_path();
        let mut texts = Vec::new();
        match &search.main {
            MainFile::Named(path) => texts.push(self.must_read(path)?),
            MainFile::FirstOf(paths) => {
                for path in paths {
                    if let Some(found) = self.may_read(path)? {
                        texts.push(found);
                        break;
                    }
                }
            }
        }
        let mut listings = Vec::new();
        for dir in &search.drop_in_dirs {
            match self.list(dir) {
                Ok(names) => listings.push((dir.as_path(), names)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(LoadError::List { path: dir.clone(), source });
                }
            }
        }
        for path in SearchPath::drop_ins(listings) {
            // A drop-in may be gone between the listing and now.
            texts.extend(self.may_read(&path)?);
        }
        if let Some(path) = &search.extra {
            texts.push(self.must_read(path)?);
        }
        Ok(texts)
    }

    fn must_read(&self, path: &Path) -> Result<(PathBuf, String), LoadError> {
        match self.read_text(path) {
            Ok(text) => Ok((path.to_owned(), text)),
            Err(source) => Err(LoadError::Read { path: path.to_owned(), source }),
        }
    }

    fn may_read(&self, path: &Path) -> Result<Option<(PathBuf, String)>, LoadError> {
        match self.must_read(path) {
            Ok(found) => Ok(Some(found)),
            Err(LoadError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
