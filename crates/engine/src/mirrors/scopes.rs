//! Collects every scope that any object names, once, with all settings for it.

use super::check::GoodSources;
use super::scope::ScopeMap;
use super::sources::{Pulls, Source};

/// All scopes, in the order of the Machine Config Operator: sources by digest, sources by tag, blocked scopes, insecure
/// scopes.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    pub(super) all: Vec<Scope<'a>>,
    /// Whether any scope is insecure; if not, the lookup can be skipped.
    pub(super) any_insecure: bool,
    index: ScopeMap<'a, usize>,
}

/// One scope with the settings for exactly this scope.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) text: &'a str,
    by_digest: Option<&'a Source<'a>>,
    by_tag: Option<&'a Source<'a>>,
    blocked: bool,
    insecure: bool,
}

impl<'a> Scope<'a> {
    /// The rules about exactly this scope.
    pub(super) fn source(&self, pulls: Pulls) -> Option<&'a Source<'a>> {
        match pulls {
            Pulls::ByDigest => self.by_digest,
            Pulls::ByTag => self.by_tag,
        }
    }
}

/// The settings that apply to a scope, from itself and from the scopes around it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Applied<'a> {
    by_digest: Nearest<'a>,
    by_tag: Nearest<'a>,
    pub(super) blocked: bool,
    pub(super) insecure: bool,
}

/// The most specific source around a scope, which applies, and the next one, which it hides.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nearest<'a> {
    pub(super) applied: Option<&'a Source<'a>>,
    pub(super) hidden: Option<&'a Source<'a>>,
}

impl<'a> Nearest<'a> {
    fn meet(&mut self, source: Option<&'a Source<'a>>) {
        let place = if self.applied.is_none() { &mut self.applied } else { &mut self.hidden };
        *place = place.or(source);
    }
}

impl<'a> Applied<'a> {
    /// The sources for one kind of pull.
    pub(super) fn nearest(&self, pulls: Pulls) -> Nearest<'a> {
        match pulls {
            Pulls::ByDigest => self.by_digest,
            Pulls::ByTag => self.by_tag,
        }
    }
}

impl<'a> Scopes<'a> {
    /// Collects the settings for each scope.
    pub(super) fn new(
        by_digest: &'a [Source<'a>],
        by_tag: &'a [Source<'a>],
        sources: &GoodSources<'a>,
    ) -> Self {
        let capacity = by_digest.len() + by_tag.len() + sources.blocked.len() + sources.insecure.len();
        let mut scopes = Self {
            all: Vec::with_capacity(capacity),
            any_insecure: !sources.insecure.is_empty(),
            index: ScopeMap::default(),
        };
        scopes.index.reserve(capacity);
        for source in by_digest {
            scopes.at(source.scope).by_digest = Some(source);
        }
        for source in by_tag {
            scopes.at(source.scope).by_tag = Some(source);
        }
        for (_, text) in &sources.blocked {
            scopes.at(text).blocked = true;
        }
        for (_, text) in &sources.insecure {
            scopes.at(text).insecure = true;
        }
        scopes
    }

    fn at(&mut self, text: &'a str) -> &mut Scope<'a> {
        let position = self.index.get_or_insert(text, self.all.len());
        if position == self.all.len() {
            self.all.push(Scope { text, by_digest: None, by_tag: None, blocked: false, insecure: false });
        }
        &mut self.all[position]
    }

    /// Returns the settings for `scope`, which need not be one of the collected scopes.
    pub(super) fn applied(&self, scope: &str) -> Applied<'a> {
        let mut applied = Applied::default();
        for around in self.index.around(scope).map(|position| &self.all[position]) {
            applied.by_digest.meet(around.by_digest);
            applied.by_tag.meet(around.by_tag);
            applied.blocked |= around.blocked;
            applied.insecure |= around.insecure;
        }
        applied
    }

    /// Returns the position of the scope whose entry a node uses for a name.
    pub(super) fn governing(&self, name: &str) -> Option<usize> {
        self.index.find(name)
    }
}
