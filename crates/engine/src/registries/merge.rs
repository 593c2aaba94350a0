//! Merges several files into one configuration. A later file replaces whole entries of an earlier one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::index::Index;
use super::recorded::{Recorded, UnreadableAliases};
use super::{ConfFile, Registry, ShortNameMode};
use crate::reference::Reference;

/// The name that means "the auth files" in `credential-helpers`.
const AUTH_FILES: &str = "containers-auth.json";

/// The merged configuration of a node.
#[derive(Debug, Clone)]
pub struct RegistriesConf {
    registries: Vec<Registry>,
    /// For each of `registries`, the file that it comes from, as an index into `files`.
    origins: Vec<usize>,
    files: Vec<PathBuf>,
    index: Index<Box<str>, usize>,
    search: Option<(Vec<String>, usize)>,
    credential_helpers: Vec<String>,
    short_name_mode: ShortNameMode,
    additional_layer_store_auth_helper: String,
    aliases: BTreeMap<String, Alias>,
    recorded: Recorded,
}

/// The target of a short name and the file that defines it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alias {
    /// The target repository. `None` removes an alias of an earlier file.
    pub target: Option<Reference>,
    /// The file that defines the alias.
    pub origin: PathBuf,
}

impl RegistriesConf {
    /// Merges files in the order in which the loader reads them.
    #[must_use]
    pub fn merge(files: impl IntoIterator<Item = (PathBuf, ConfFile)>) -> Self {
        let mut paths = Vec::new();
        let mut registries: Vec<Registry> = Vec::new();
        let mut origins: Vec<usize> = Vec::new();
        let mut index = Index::default();
        let mut search = None;
        let mut credential_helpers = Vec::new();
        let mut short_name_mode = ShortNameMode::default();
        let mut additional_layer_store_auth_helper = String::new();
        let mut aliases = BTreeMap::new();
        for (path, file) in files {
            let origin = paths.len();
            index.reserve(file.registries.len());
            registries.reserve(file.registries.len());
            for registry in file.registries {
                let position = index.get_or_insert(&registry.prefix, registries.len());
                match origins.get_mut(position) {
                    None => {
                        registries.push(registry);
                        origins.push(origin);
                    }
                    Some(earlier) if *earlier < origin => {
                        registries[position] = registry;
                        *earlier = origin;
                    }
                    // Within one file, the first entry for a prefix wins.
                    Some(_) => {}
                }
            }
            // An empty list overrides earlier files; a missing list does not.
            search = file.search.map(|hosts| (hosts, origin)).or(search);
            credential_helpers = file.credential_helpers.unwrap_or(credential_helpers);
            short_name_mode = file.short_name_mode.unwrap_or(short_name_mode);
            if !file.additional_layer_store_auth_helper.is_empty() {
                additional_layer_store_auth_helper = file.additional_layer_store_auth_helper;
            }
            for (name, target) in file.aliases {
                aliases.insert(name, Alias { target, origin: path.clone() });
            }
            paths.push(path);
        }
        if credential_helpers.is_empty() {
            credential_helpers.push(AUTH_FILES.to_owned());
        }
        Self {
            index,
            registries,
            origins,
            files: paths,
            search,
            credential_helpers,
            short_name_mode,
            additional_layer_store_auth_helper,
            aliases,
            recorded: Recorded::default(),
        }
    }

    /// Adds the aliases that were recorded on the node, which take precedence over all others.
    #[must_use]
    pub fn with_recorded(self, recorded: Recorded) -> Self {
        Self { recorded, ..self }
    }

    /// Returns all entries, sorted by prefix. Loading does not need the order, so the entries are sorted on request.
    #[must_use]
    pub fn registries(&self) -> Vec<&Registry> {
        let mut sorted: Vec<&Registry> = self.registries.iter().collect();
        sorted.sort_unstable_by_key(|registry| &registry.prefix);
        sorted
    }

    /// Returns the entry that governs `name`, which can be a host, a namespace, a repository, or a whole reference.
    ///
    /// The longest prefix wins. The cost depends on the length of `name`, not on the number of entries.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Registry> {
        self.index.find(name).map(|index| &self.registries[index])
    }

    /// Returns the file that the entry with this prefix comes from.
    #[must_use]
    pub fn origin(&self, registry: &Registry) -> Option<&Path> {
        let position = self.index.of(&registry.prefix)?;
        Some(&self.files[self.origins[position]])
    }

    /// Returns the files that were read, in order.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the registries to search for names without a registry, if any file lists them.
    #[must_use]
    pub fn unqualified_search_registries(&self) -> Option<&[String]> {
        self.search.as_ref().map(|(hosts, _)| hosts.as_slice())
    }

    /// Returns the file that lists the search registries.
    #[must_use]
    pub fn search_origin(&self) -> Option<&Path> {
        self.search.as_ref().map(|(_, origin)| self.files[*origin].as_path())
    }

    /// Returns where credentials are looked up, in order. [`AUTH_FILES`](Self::uses_auth_files) stands for the auth
    /// files.
    #[must_use]
    pub fn credential_helpers(&self) -> &[String] {
        &self.credential_helpers
    }

    /// Returns whether the runtime reads auth files at all.
    #[must_use]
    pub fn uses_auth_files(&self) -> bool {
        self.credential_helpers.iter().any(|helper| helper == AUTH_FILES)
    }

    /// Returns the short-name mode of the files. CRI-O ignores it and sets its own: see
    /// [`ShortNameRule`](super::ShortNameRule).
    #[must_use]
    pub fn short_name_mode(&self) -> ShortNameMode {
        self.short_name_mode
    }

    /// Returns the program that receives the credentials after a manifest was fetched. Empty if none.
    #[must_use]
    pub fn additional_layer_store_auth_helper(&self) -> &str {
        &self.additional_layer_store_auth_helper
    }

    /// Returns the aliases defined in these files. [`Self::alias`] also considers recorded aliases.
    #[must_use]
    pub fn aliases(&self) -> &BTreeMap<String, Alias> {
        &self.aliases
    }

    /// Resolves a short name. An alias without a target hides an alias from a lower-priority file.
    ///
    /// # Errors
    /// If the recorded aliases cannot be read. The runtime then resolves no short name at all.
    pub fn alias(&self, name: &str) -> Result<Option<&Alias>, UnreadableAliases> {
        Ok(self.recorded.alias(name)?.or_else(|| self.aliases.get(name)))
    }
}

impl Default for RegistriesConf {
    /// A node that has none of the files.
    fn default() -> Self {
        Self::merge([])
    }
}
