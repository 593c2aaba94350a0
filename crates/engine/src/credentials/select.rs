//! Selects the credential for each pull source, and explains which others were not used.

use std::collections::HashSet;

use serde::Serialize;

use super::credential::Credential;
use super::lookup::{AuthFile, Lookup, check_key, host_of};
use super::pull_secret::PullSecret;
use super::scope_index::{Candidate, ScopeIndex};
use super::secret::SecretName;

/// Where the credential for one source comes from. It names places and contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "from", rename_all = "kebab-case")]
pub enum Choice {
    /// A Secret of the Pod's namespace.
    Namespace {
        /// The Secret.
        secret: SecretName,
        /// The key in it.
        key: String,
    },
    /// The node's global auth file.
    Global {
        /// The key in it.
        key: String,
    },
    /// A credential helper that the global auth file configures for the host.
    Helper {
        /// The helper.
        name: String,
    },
    /// No credential: the source is used anonymously, or not at all.
    None(Absence),
}

/// Why a source has no credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Absence {
    /// No key covers the source.
    NoKey,
    /// The entry of the global file that answers for the source holds no credential.
    EmptyEntry {
        /// The key of the entry.
        key: String,
    },
    /// The runtime's lookup fails, and so does the pull from this source.
    LookupFailed {
        /// The runtime's error message.
        error: String,
    },
    /// A helper would answer, but an auth file cannot hold both a helper and a credential for one host, and another
    /// source on this host has a credential from the namespace.
    HelperLeftOut {
        /// The helper.
        name: String,
    },
}

/// A credential that would have been used if the chosen one did not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shadowed {
    /// Where it comes from.
    pub choice: Choice,
    /// Why it was not chosen.
    pub because: Because,
}

/// Why a credential was not chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// Another key covers the source more specifically.
    LessSpecific,
    /// An earlier Secret has a credential for the same scope.
    LaterSecret,
    /// The same Secret has another spelling of the same scope.
    OtherSpelling,
    /// Credentials of the namespace take precedence over those of the node.
    NamespaceFirst,
}

/// The choices for a list of sources.
pub struct Selection<'a> {
    pub(super) global: Option<&'a AuthFile>,
    index: ScopeIndex<'a>,
    chosen: Vec<Chosen<'a>>,
}

pub(super) struct Chosen<'a> {
    pub(super) source: &'a str,
    pub(super) choice: Choice,
    pub(super) candidate: Option<Candidate<'a>>,
}

/// Chooses a credential for each source (`host[:port]/path`, as the runtime will look it up).
///
/// The namespace takes precedence over the global file, even if a key in that file is more specific, because a team
/// expects its own Secret to be used. Within the namespace, the most specific key wins; for the same scope, the first
/// Secret in the given order wins. The global file answers as the runtime's lookup in it does.
///
/// The cost is linear in the number of keys plus the length of the sources.
pub fn select<'a>(
    secrets: &'a [PullSecret],
    global: Option<&'a AuthFile>,
    sources: impl IntoIterator<Item = &'a str>,
) -> Selection<'a> {
    let index = ScopeIndex::new(secrets);
    let mut chosen: Vec<Chosen> = sources
        .into_iter()
        .map(|source| {
            // The runtime refuses such a name before it opens any file, so no credential may be written for it.
            if let Err(error) = check_key(source) {
                return Chosen {
                    source,
                    choice: Choice::from_lookup(Lookup::Failed(error)),
                    candidate: None,
                };
            }
            let candidate = index.best(source);
            let choice =
                candidate.map_or_else(|| Choice::from_global(global, source), Choice::from_candidate);
            Chosen { source, choice, candidate }
        })
        .collect();
    leave_out_helpers(&mut chosen);
    Selection { global, index, chosen }
}

/// Removes the helper from sources whose host needs a plain entry for another source. The runtime runs a host's helper
/// before it looks at any entry, so one file cannot have both.
fn leave_out_helpers(chosen: &mut [Chosen]) {
    if !chosen.iter().any(|chosen| matches!(chosen.choice, Choice::Helper { .. })) {
        return;
    }
    let hosts: HashSet<&str> = chosen
        .iter()
        .filter(|chosen| chosen.candidate.is_some())
        .map(|chosen| host_of(chosen.source))
        .collect();
    for Chosen { source, choice, .. } in chosen {
        if let Choice::Helper { name } = choice
            && hosts.contains(host_of(source))
        {
            *choice = Choice::None(Absence::HelperLeftOut { name: std::mem::take(name) });
        }
    }
}

impl Choice {
    fn from_candidate(Candidate { secret, entry }: Candidate) -> Self {
        Self::Namespace { secret: secret.name().clone(), key: entry.key.clone() }
    }

    fn from_global(global: Option<&AuthFile>, source: &str) -> Self {
        global.map_or(Self::None(Absence::NoKey), |file| Self::from_lookup(file.lookup(source)))
    }

    fn from_lookup(lookup: Lookup) -> Self {
        match lookup {
            Lookup::Found { key, .. } => Self::Global { key: key.to_owned() },
            Lookup::Helper { name } => Self::Helper { name: name.to_owned() },
            Lookup::None { stopped_at: None } => Self::None(Absence::NoKey),
            Lookup::None { stopped_at: Some(key) } => Self::None(Absence::EmptyEntry { key: key.to_owned() }),
            Lookup::Failed(error) => Self::None(Absence::LookupFailed { error: error.to_string() }),
        }
    }
}

impl<'a> Selection<'a> {
    /// Returns the choices, in the order of the sources.
    #[must_use]
    pub fn choices(&self) -> impl ExactSizeIterator<Item = &Choice> {
        self.chosen.iter().map(|chosen| &chosen.choice)
    }

    /// Returns each source with its choice.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'a str, &Choice)> {
        self.chosen.iter().map(|chosen| (chosen.source, &chosen.choice))
    }

    /// Returns the credential for the source at `position`, or `None` if there is none or a helper provides it.
    #[must_use]
    pub fn credential(&self, position: usize) -> Option<Credential> {
        let chosen = self.chosen.get(position)?;
        if let Some(candidate) = chosen.candidate {
            return Some(candidate.entry.credential.clone());
        }
        match self.global?.lookup(chosen.source) {
            Lookup::Found { credential, .. } => Some(credential),
            _ => None,
        }
    }

    /// Returns the credentials that were not chosen for the source at `position`, starting with the next best. They are
    /// computed on demand, so they cost nothing if only the choice matters.
    ///
    /// The cost is that of the answer: one item for each key that covers the source. Over all sources of a pull, that
    /// is the mirrors of one rule, which an administrator writes, times the keys for one host. Use it to explain a
    /// pull, not to perform one.
    #[must_use]
    pub fn shadowed(&self, position: usize) -> Vec<Shadowed> {
        let Some(Chosen { source, choice, candidate }) = self.chosen.get(position) else {
            return Vec::new();
        };
        let mut shadowed = Vec::new();
        let Some(winner) = candidate else {
            if let (Choice::Global { .. }, Some(global)) = (choice, self.global) {
                let others = global.keys_over(source).skip(1);
                shadowed.extend(others.map(|(key, _)| Shadowed {
                    choice: Choice::Global { key: key.to_owned() },
                    because: Because::LessSpecific,
                }));
            }
            return shadowed;
        };
        for other in self.index.covering(source).into_iter().skip(1) {
            let because = if other.entry.scope != winner.entry.scope {
                Because::LessSpecific
            } else if std::ptr::eq(other.secret, winner.secret) {
                Because::OtherSpelling
            } else {
                Because::LaterSecret
            };
            shadowed.push(Shadowed { choice: Choice::from_candidate(other), because });
        }
        let choice = Choice::from_global(self.global, source);
        if matches!(choice, Choice::Global { .. } | Choice::Helper { .. }) {
            shadowed.push(Shadowed { choice, because: Because::NamespaceFirst });
        }
        shadowed
    }

    pub(super) fn chosen(&self) -> &[Chosen<'a>] {
        &self.chosen
    }
}
