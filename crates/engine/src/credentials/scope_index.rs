//! All credentials of a namespace by scope: a tree of path components, so that finding those that cover a
//! repository takes one step per component, however many there are.

use std::collections::HashMap;

use super::pull_secret::{PullSecret, ScopedCredential};
use super::scope;

/// A credential with the Secret it comes from.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) secret: &'a PullSecret,
    pub(super) entry: &'a ScopedCredential,
}

/// The tree; node 0 is the root and stands for no host yet.
pub(super) struct ScopeIndex<'a> {
    children: HashMap<(usize, &'a str), usize>,
    /// For each node the credentials of exactly that scope, in order of precedence.
    candidates: Vec<Vec<Candidate<'a>>>,
}

impl<'a> ScopeIndex<'a> {
    /// Indexes the Secrets in their order of precedence.
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

    /// The credential for `repository`: that of the most specific scope, there of the first Secret.
    pub(super) fn best(&self, repository: &str) -> Option<Candidate<'a>> {
        self.levels(repository).filter_map(|level| level.first()).last().copied()
    }

    /// All credentials whose scope covers `repository`, the most specific scope first, there in order of
    /// precedence.
    pub(super) fn covering(&self, repository: &str) -> Vec<Candidate<'a>> {
        let mut levels: Vec<_> = self.levels(repository).collect();
        levels.reverse();
        levels.into_iter().flatten().copied().collect()
    }

    /// The nodes on the way of `repository` down the tree.
    fn levels(&self, repository: &str) -> impl Iterator<Item = &[Candidate<'a>]> {
        scope::components(repository)
            .scan(0, |node, component| {
                *node = *self.children.get(&(*node, component))?;
                Some(*node)
            })
            .filter_map(|node| self.candidates.get(node).map(Vec::as_slice))
    }
}
