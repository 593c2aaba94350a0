//! Several files into one configuration: a later file replaces whole entries of an earlier one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::index::Index;
use super::recorded::{Recorded, UnreadableAliases};
use super::{ConfFile, Registry, ShortNameMode};
use crate::reference::Reference;

/// The name that stands for "the auth files" in `credential-helpers`.
const AUTH_FILES: &str = "containers-auth.json";

/// What a node's files say together.
#[derive(Debug, Clone)]
pub struct RegistriesConf {
    registries: Vec<Registry>,
    /// For each of `registries`, the file it comes from, as an index into `files`.
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

/// What a short name stands for, and who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alias {
    /// The repository; `None` takes back what an earlier file said.
    pub target: Option<Reference>,
    /// The file that says so.
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
                    // Within one file the first entry of a prefix wins.
                    Some(_) => {}
                }
            }
            // An empty list is a statement, an absent one is none.
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

    /// With the aliases that were recorded on the node, which come before all others.
    #[must_use]
    pub fn with_recorded(self, recorded: Recorded) -> Self {
        Self { recorded, ..self }
    }

    /// All entries, sorted by prefix. Loading does without the order, so it is made when it is asked for.
    #[must_use]
    pub fn registries(&self) -> Vec<&Registry> {
        let mut sorted: Vec<&Registry> = self.registries.iter().collect();
        sorted.sort_unstable_by_key(|registry| &registry.prefix);
        sorted
    }

    /// The entry that governs `name`, which is a host, a namespace, a repository or a whole reference.
    ///
    /// The longest prefix wins; the cost depends on the length of `name`, not on the number of entries.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Registry> {
        self.index.find(name).map(|index| &self.registries[index])
    }

    /// The file that the entry of this prefix comes from.
    #[must_use]
    pub fn origin(&self, registry: &Registry) -> Option<&Path> {
        let position = self.index.of(&registry.prefix)?;
        Some(&self.files[self.origins[position]])
    }

    /// The files that were read, in their order.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Where names without a registry are looked for, if any file says so.
    #[must_use]
    pub fn unqualified_search_registries(&self) -> Option<&[String]> {
        self.search.as_ref().map(|(hosts, _)| hosts.as_slice())
    }

    /// The file that names the search registries.
    #[must_use]
    pub fn search_origin(&self) -> Option<&Path> {
        self.search.as_ref().map(|(_, origin)| self.files[*origin].as_path())
    }

    /// Where credentials are looked up, in order; [`AUTH_FILES`](Self::uses_auth_files) stands for the auth files.
    #[must_use]
    pub fn credential_helpers(&self) -> &[String] {
        &self.credential_helpers
    }

    /// Whether the runtime looks into auth files at all.
    #[must_use]
    pub fn uses_auth_files(&self) -> bool {
        self.credential_helpers.iter().any(|helper| helper == AUTH_FILES)
    }

    /// What the files say about short names. CRI-O decides by itself and does not look: see [`ShortNameRule`](super::ShortNameRule).
    #[must_use]
    pub fn short_name_mode(&self) -> ShortNameMode {
        self.short_name_mode
    }

    /// The program that is told credentials after a manifest was fetched; empty if none.
    #[must_use]
    pub fn additional_layer_store_auth_helper(&self) -> &str {
        &self.additional_layer_store_auth_helper
    }

    /// What short names stand for by these files; [`Self::alias`] also knows what was recorded.
    #[must_use]
    pub fn aliases(&self) -> &BTreeMap<String, Alias> {
        &self.aliases
    }

    /// What a short name stands for. An alias without target hides one of a file that comes later.
    ///
    /// # Errors
    /// If the recorded aliases cannot be read: the runtime then resolves no short name at all.
    pub fn alias(&self, name: &str) -> Result<Option<&Alias>, UnreadableAliases> {
        Ok(self.recorded.alias(name)?.or_else(|| self.aliases.get(name)))
    }
}

impl Default for RegistriesConf {
    /// A node without any of the files.
    fn default() -> Self {
        Self::merge([])
    }
}
