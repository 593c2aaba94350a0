//! Several files into one configuration: a later file replaces whole entries of an earlier one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::index::Index;
use super::{ConfFile, Registry};
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
}

/// What a short name stands for, and who says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alias {
    /// The repository; `None` takes back what an earlier file said.
    pub target: Option<Reference>,
    /// The file that says so.
    pub origin: PathBuf,
}

/// What to do about names without a registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShortNameMode {
    /// More than one candidate is an error where nobody can be asked.
    Enforcing,
    /// All candidates in order where nobody can be asked.
    #[default]
    Permissive,
    /// All candidates in order.
    Disabled,
}

impl ShortNameMode {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "enforcing" => Some(Self::Enforcing),
            "permissive" => Some(Self::Permissive),
            "disabled" => Some(Self::Disabled),
            _ => None,
        }
    }

    /// The value as it stands in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforcing => "enforcing",
            Self::Permissive => "permissive",
            Self::Disabled => "disabled",
        }
    }
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
        }
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

    /// What is done about short names.
    #[must_use]
    pub fn short_name_mode(&self) -> ShortNameMode {
        self.short_name_mode
    }

    /// The program that is told credentials after a manifest was fetched; empty if none.
    #[must_use]
    pub fn additional_layer_store_auth_helper(&self) -> &str {
        &self.additional_layer_store_auth_helper
    }

    /// What short names stand for.
    #[must_use]
    pub fn aliases(&self) -> &BTreeMap<String, Alias> {
        &self.aliases
    }
}

impl Default for RegistriesConf {
    /// A node without any of the files.
    fn default() -> Self {
        Self::merge([])
    }
}
