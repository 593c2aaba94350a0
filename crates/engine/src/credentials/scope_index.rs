//! Indexes all credentials of a namespace by scope, in a tree of path components. Finding those that cover a repository
//! takes one step per component, however many credentials there are.

use std::collections::HashMap;

use super::pull_secret::{PullSecret, ScopedCredential};
use super::scope;

/// A credential with the Secret that it comes from.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) secret: &'a PullSecret,
    pub(super) entry: &'a ScopedCredential,
}

/// The tree. Node 0 is the root, above all hosts.
pub(super) struct ScopeIndex<'a> {
    children: HashMap<(usize, &'a str), usize>,
    /// For each node, the credentials with exactly that scope, in order of precedence.
    candidates: Vec<Vec<Candidate<'a>>>,
}

impl<'a> ScopeIndex<'a> {
    /// Indexes the Secrets, which are in order of precedence.
    pub(super) fn new(secrets: &'a [PullSecret]) -> Self {
        let entries = secrets.iter().map(|secret| secret.entries().len()).sum();
        let mut index =
            Self { children: HashMap::with_capacity(entries), candidates: Vec::with_capacity(entries + 1) };
        index.candidates.push(Vec::new());
        for secret in secrets {
            for entry in secret.entries() {
                index.insert(Candidate { secret, entry });
            }
        }
        index
    }

    fn insert(&mut self, candidate: Candidate<'a>) {
        let mut node = 0;
        for component in candidate.entry.scope.components() {
            let next = self.candidates.len();
            node = *self.children.entry((node, component)).or_insert(next);
            if node == next {
                self.candidates.push(Vec::new());
            }
        }
        self.candidates[node].push(candidate);
    }

    /// Returns the credential for `repository`: the one with the most specific scope, and among those the one of the
    /// first Secret.
    pub(super) fn best(&self, repository: &str) -> Option<Candidate<'a>> {
        self.levels(repository).filter_map(|level| level.first()).last().copied()
    }

    /// Returns all credentials whose scope covers `repository`, most specific scope first, then in order of precedence.
    pub(super) fn covering(&self, repository: &str) -> Vec<Candidate<'a>> {
        let mut levels: Vec<_> = self.levels(repository).collect();
        levels.reverse();
        levels.into_iter().flatten().copied().collect()
    }

    /// Returns the nodes on the path of `repository` down the tree.
    fn levels(&self, repository: &str) -> impl Iterator<Item = &[Candidate<'a>]> {
        scope::components(repository)
            .scan(0, |node, component| {
                *node = *self.children.get(&(*node, component))?;
                Some(*node)
            })
            .filter_map(|node| self.candidates.get(node).map(Vec::as_slice))
    }
}
