//! The entries of the file.
//!
//! A node uses exactly one entry for a name, the most specific one, and ignores the entries around it. So each entry must
//! contain everything that applies to its scope: the mirrors of the most specific digest source and of the most specific tag
//! source around it, rewritten for the scope, and whether any scope around it is insecure or blocked.

use super::scope::remainder;
use super::scopes::{Applied, Scopes};
use super::sources::{Pulls, Source};
use crate::registries::{Mirror, Registry, RegistryEndpoint, wildcard_suffix};

/// The entries, one for each scope, in the order of the scopes.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    pub(super) registries: Vec<Registry>,
    /// The origin of each entry.
    pub(super) applied: Vec<Applied<'a>>,
    pub(super) left_out: Vec<LeftOut<'a>>,
}

/// A scope inside a source that some mirrors of the source cannot serve, because the two do not combine into a valid name.
#[derive(Debug)]
pub(super) struct LeftOut<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) scope: &'a str,
}

impl<'a> Entries<'a> {
    /// Makes the entries.
    pub(super) fn new(scopes: &Scopes<'a>) -> Self {
        let count = scopes.all.len();
        let mut entries = Self {
            registries: Vec::with_capacity(count),
            applied: Vec::with_capacity(count),
            left_out: Vec::new(),
        };
        for scope in &scopes.all {
            let applied = scopes.applied(scope.text);
            let entry = entries.entry(scope.text, &applied, scopes);
            entries.registries.push(entry);
            entries.applied.push(applied);
        }
        entries
    }

    fn entry(&mut self, scope: &'a str, applied: &Applied<'a>, scopes: &Scopes<'a>) -> Registry {
        let mut blocked = applied.blocked;
        let mut mirrors = Vec::new();
        for pulls in [Pulls::ByDigest, Pulls::ByTag] {
            if let Some(source) = applied.nearest(pulls).applied {
                // A node has one flag for both kinds of pull.
                blocked |= source.never.is_some();
                self.add_mirrors(&mut mirrors, scope, source, scopes);
            }
        }
        let location = if wildcard_suffix(scope).is_some() { "" } else { scope };
        Registry {
            prefix: scope.to_owned(),
            endpoint: endpoint(location.to_owned(), applied.insecure),
            blocked,
            mirror_by_digest_only: false,
            mirrors,
        }
    }

    /// Adds the mirrors of `source`, rewritten for `scope`, which lies inside it.
    fn add_mirrors(
        &mut self,
        mirrors: &mut Vec<Mirror>,
        scope: &'a str,
        source: &'a Source<'a>,
        scopes: &Scopes<'a>,
    ) {
        let rest = remainder(scope, source.scope);
        let before = mirrors.len();
        mirrors.reserve(source.mirrors().len());
        for mirror in source.mirrors() {
            if rest.starts_with(':') && !takes_a_port(mirror) {
                continue;
            }
            let location = [mirror, rest].concat();
            // The rewritten location decides: a scope may be insecure only below the mirror.
            let insecure = scopes.any_insecure && scopes.applied(&location).insecure;
            mirrors.push(Mirror {
                endpoint: endpoint(location, insecure),
                pull_from_mirror: Some(source.pulls.served()),
            });
        }
        if mirrors.len() - before < source.mirrors().len() {
            self.left_out.push(LeftOut { source, scope });
        }
    }
}

/// Whether a port can follow the mirror: only if it is a bare host. One invalid name fails the pull from every mirror.
pub(super) fn takes_a_port(mirror: &str) -> bool {
    !mirror.contains([':', '/'])
}

fn endpoint(location: String, insecure: bool) -> RegistryEndpoint {
    RegistryEndpoint { location, insecure, namespace_proxy: String::new() }
}
