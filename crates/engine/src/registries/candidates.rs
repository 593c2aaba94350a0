//! Resolves names without a registry, using aliases and the registries to search.
//!
//! The kubelet reads `nginx` as `docker.io/library/nginx`. CRI-O pulls what this module returns.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::problem::{BadAlias, ConfError, Problem, refuse};
use super::{RegistriesConf, ShortNameMode, ShortNameRule, UnreadableAliases};
use crate::reference::{Dialect, Reference, ReferenceError, is_qualified};
use pullwright_findings::DocPath;
use pullwright_golang::quote::quote;

/// One image that a name can resolve to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The image, with either a tag or a digest, never both.
    pub reference: Reference,
    /// Why the name resolves to it.
    pub reason: CandidateReason,
}

/// Why a name resolves to a [`Candidate`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum CandidateReason {
    /// The name includes a registry.
    Qualified,
    /// An alias defines it.
    Alias {
        /// The file with the alias.
        origin: PathBuf,
    },
    /// The registry is one of those to search.
    Search {
        /// The host.
        registry: String,
        /// The file with the list.
        #[serde(skip_serializing_if = "Option::is_none")]
        origin: Option<PathBuf>,
    },
}

/// Why a name cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CandidateError {
    /// Not a reference.
    #[error("cannot parse input: {}: {source}", quote(input))]
    Parse {
        /// The requested name.
        input: String,
        /// What is wrong with it.
        source: ReferenceError,
    },
    /// A reference, but not one that can be requested from a registry.
    #[error("cannot normalize input: {}: {source}", quote(input))]
    Normalise {
        /// The requested name.
        input: String,
        /// What is wrong with it.
        source: ReferenceError,
    },
    /// No file lists registries to search.
    #[error("short-name {} did not resolve to an alias and no containers-registries.conf(5) was found", quote(.0))]
    NoSearchRegistries(String),
    /// A file sets an empty list of registries to search.
    #[error(
        "short-name {} did not resolve to an alias and no unqualified-search registries are defined in {}",
        quote(input), quote(&origin.to_string_lossy())
    )]
    EmptySearchRegistries {
        /// The requested name.
        input: String,
        /// The file with the empty list.
        origin: PathBuf,
    },
    /// The name is not valid under a search registry.
    #[error("creating reference with unqualified-search registry {}: {source}", quote(registry))]
    Search {
        /// The host.
        registry: String,
        /// What is wrong with the name under this registry.
        source: ReferenceError,
    },
    /// The aliases that were recorded on the node cannot be read.
    #[error(transparent)]
    Aliases(#[from] UnreadableAliases),
    /// More than one candidate although only one is allowed. Uses CRI-O's wording.
    #[error("short name mode is enforcing, but image name {input} returns ambiguous list")]
    Ambiguous {
        /// The requested name.
        input: String,
        /// What it can resolve to.
        candidates: Vec<Candidate>,
        /// The file that sets the enforcing mode, if any.
        origin: Option<PathBuf>,
    },
}

impl CandidateError {
    /// Returns how to fix it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Ambiguous { input, candidates, origin } => {
                let names: Vec<_> = candidates.iter().map(|candidate| candidate.reference.to_string()).collect();
                let who = origin.as_ref().map(|origin| format!("; {} says enforcing", origin.display()));
                Some(format!(
                    "it may stand for {}; name the registry in the Pod, add an alias for {} to registries.conf, or set \
                     short_name_mode = \"disabled\" below [crio.image] in crio.conf to have them tried in this order{}",
                    names.join(" or "),
                    quote(input),
                    who.unwrap_or_default()
                ))
            }
            Self::NoSearchRegistries(_) | Self::EmptySearchRegistries { .. } => Some(
                "name the registry in the Pod, add an alias for the name, or list unqualified-search-registries in \
                 registries.conf"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

impl RegistriesConf {
    /// Returns what the runtime pulls for `input`, in the order in which it tries.
    ///
    /// # Errors
    /// If the name cannot be resolved, or if it has several candidates and the rule allows only one.
    pub fn candidates(&self, input: &str, rule: &ShortNameRule) -> Result<Vec<Candidate>, CandidateError> {
        let written = Reference::parse_exact(Dialect::Runtime, input)
            .map_err(|source| CandidateError::Parse { input: input.to_owned(), source })?;
        if is_qualified(written.domain()) {
            let reference = Reference::parse(Dialect::Runtime, input)
                .map_err(|source| CandidateError::Normalise { input: input.to_owned(), source })?;
            return Ok(vec![Candidate { reference: reference.asked(), reason: CandidateReason::Qualified }]);
        }
        if let Some(alias) = self.alias(written.name())?
            && let Some(target) = &alias.target
        {
            let reference = target.with_version_of(&written).asked();
            return Ok(vec![Candidate {
                reference,
                reason: CandidateReason::Alias { origin: alias.origin.clone() },
            }]);
        }
        let searched = self.searched(input)?;
        if searched.len() > 1 && rule.mode == ShortNameMode::Enforcing {
            let origin = rule.origin.clone();
            return Err(CandidateError::Ambiguous { input: input.to_owned(), candidates: searched, origin });
        }
        Ok(searched)
    }

    /// Returns the repositories that a short name can resolve to in any mode. Empty if it cannot be resolved.
    pub(crate) fn candidates_of_short_name(&self, name: &str) -> Vec<Reference> {
        let Ok(alias) = self.alias(name) else { return Vec::new() };
        if let Some(target) = alias.and_then(|alias| alias.target.clone()) {
            return vec![target];
        }
        let searched = self.searched(name).unwrap_or_default();
        searched.into_iter().map(|candidate| candidate.reference).collect()
    }

    fn searched(&self, input: &str) -> Result<Vec<Candidate>, CandidateError> {
        let hosts = self.unqualified_search_registries().unwrap_or_default();
        let origin = self.search_origin().map(PathBuf::from);
        match (hosts, &origin) {
            ([], None) => return Err(CandidateError::NoSearchRegistries(input.to_owned())),
            ([], Some(origin)) => {
                return Err(CandidateError::EmptySearchRegistries {
                    input: input.to_owned(),
                    origin: origin.clone(),
                });
            }
            _ => {}
        }
        hosts
            .iter()
            .map(|registry| {
                let reference = Reference::parse(Dialect::Runtime, &format!("{registry}/{input}"))
                    .map_err(|source| CandidateError::Search { registry: registry.clone(), source })?;
                let reason = CandidateReason::Search { registry: registry.clone(), origin: origin.clone() };
                Ok(Candidate { reference: reference.asked(), reason })
            })
            .collect()
    }
}

/// Checks the `[aliases]` table of one file and reports all problems at once.
pub(super) fn check_aliases(
    raw: BTreeMap<String, Cow<'_, str>>,
) -> Result<BTreeMap<String, Option<Reference>>, ConfError> {
    let mut problems: Vec<BadAlias> = Vec::new();
    let mut aliases = BTreeMap::new();
    for (name, value) in raw {
        let target = match &*value {
            "" => Ok(None),
            value => parse_alias(value).map(Some),
        };
        let faults = check_short_name(&name).err().into_iter().chain(target.as_ref().err().cloned());
        problems.extend(faults.map(|problem| BadAlias { name: name.clone(), problem }));
        aliases.extend(target.ok().map(|target| (name, target)));
    }
    match problems.first() {
        None => Ok(aliases),
        Some(first) => {
            Err(refuse(DocPath::root().key("aliases").key(&first.name), Problem::Aliases(problems)))
        }
    }
}

fn check_short_name(name: &str) -> Result<(), String> {
    let reference = Reference::parse_exact(Dialect::Runtime, name)
        .map_err(|error| format!("cannot parse short name: {}: {error}", quote(name)))?;
    let excess = if reference.digest().is_some() {
        "digest"
    } else if reference.tag().is_some() {
        "tag"
    } else if is_qualified(reference.domain()) {
        "registry"
    } else {
        return Ok(());
    };
    Err(format!("invalid short name {}: must not contain {excess}", quote(name)))
}

fn parse_alias(value: &str) -> Result<Reference, String> {
    let written = Reference::parse_exact(Dialect::Runtime, value)
        .map_err(|error| format!("parsing alias {}: {error}", quote(value)))?;
    let fault = if written.digest().is_some() {
        "must not contain digest"
    } else if written.tag().is_some() {
        "must not contain tag"
    } else if !is_qualified(written.domain()) {
        "must contain registry and repository"
    } else {
        return Reference::parse(Dialect::Runtime, value).map_err(|error| error.to_string());
    };
    Err(format!("invalid alias {}: {fault}", quote(value)))
}
