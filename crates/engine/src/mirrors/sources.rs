//! A source with all rules about it for one kind of pull.

use super::check::GoodRule;
use super::order::{Ordered, ordered};
use super::{MirrorSetKind, SourcePolicy};
use crate::registries::PullFromMirror;

/// The two kinds of pull, each with its own mirrors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pulls {
    ByDigest,
    ByTag,
}

impl Pulls {
    /// The pulls that objects of this kind apply to.
    pub(super) fn of(kind: MirrorSetKind) -> Self {
        match kind.serves() {
            PullFromMirror::TagOnly => Self::ByTag,
            PullFromMirror::DigestOnly | PullFromMirror::All => Self::ByDigest,
        }
    }

    /// The value for `pull-from-mirror` in the file.
    pub(super) fn served(self) -> PullFromMirror {
        match self {
            Self::ByDigest => PullFromMirror::DigestOnly,
            Self::ByTag => PullFromMirror::TagOnly,
        }
    }

    /// The other kind of pull.
    pub(super) fn others(self) -> Self {
        match self {
            Self::ByDigest => Self::ByTag,
            Self::ByTag => Self::ByDigest,
        }
    }
}

/// A source with the combined result of the rules about it.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) scope: &'a str,
    pub(super) pulls: Pulls,
    /// At least one, in the order of the objects' names.
    pub(super) rules: &'a [GoodRule<'a>],
    /// The mirrors in the order in which they are asked, and the rules, by index, whose order is not kept.
    pub(super) ordered: Ordered<'a>,
    /// The first rule that forbids asking the source itself. One is enough: forbidding is the safe choice.
    pub(super) never: Option<&'a GoodRule<'a>>,
}

impl<'a> Source<'a> {
    /// The mirrors in the order in which they are asked.
    pub(super) fn mirrors(&self) -> &[&'a str] {
        &self.ordered.mirrors
    }
}

/// Groups rules, which must be sorted by source, into sources.
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
