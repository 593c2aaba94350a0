//! A source with all rules of one kind of pull about it.

use super::check::GoodRule;
use super::order::{Ordered, ordered};
use super::{MirrorSetKind, SourcePolicy};
use crate::registries::PullFromMirror;

/// The two kinds of pull that have mirrors of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pulls {
    ByDigest,
    ByTag,
}

impl Pulls {
    /// The pulls that objects of this kind are about.
    pub(super) fn of(kind: MirrorSetKind) -> Self {
        match kind.serves() {
            PullFromMirror::TagOnly => Self::ByTag,
            PullFromMirror::DigestOnly | PullFromMirror::All => Self::ByDigest,
        }
    }

    /// The same as the file has it.
    pub(super) fn served(self) -> PullFromMirror {
        match self {
            Self::ByDigest => PullFromMirror::DigestOnly,
            Self::ByTag => PullFromMirror::TagOnly,
        }
    }

    /// The others.
    pub(super) fn others(self) -> Self {
        match self {
            Self::ByDigest => Self::ByTag,
            Self::ByTag => Self::ByDigest,
        }
    }
}

/// A source with what the rules about it come to.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) scope: &'a str,
    pub(super) pulls: Pulls,
    /// At least one, in the order of the objects' names.
    pub(super) rules: &'a [GoodRule<'a>],
    /// The mirrors in the order in which they are asked, and the rules, by index, that do not get theirs.
    pub(super) ordered: Ordered<'a>,
    /// The first rule that forbids asking the source itself. One is enough: it is the safe reading.
    pub(super) never: Option<&'a GoodRule<'a>>,
}

impl<'a> Source<'a> {
    /// In the order in which they are asked.
    pub(super) fn mirrors(&self) -> &[&'a str] {
        &self.ordered.mirrors
    }
}

/// The sources of rules that are sorted by source.
pub(super) fn sources<'a>(pulls: Pulls, rules: &'a [GoodRule<'a>]) -> Vec<Source<'a>> {
    let source = |rules: &'a [GoodRule<'a>]| {
        let scope = rules.first()?.source;
        let lists: Vec<&[&str]> = rules.iter().map(|rule| rule.mirrors.as_slice()).collect();
        Some(Source {
            scope,
            pulls,
            rules,
            ordered: ordered(scope, &lists),
            never: rules.iter().find(|rule| rule.policy == Some(SourcePolicy::NeverContactSource)),
        })
    };
    rules.chunk_by(|a, b| a.source == b.source).filter_map(source).collect()
}
