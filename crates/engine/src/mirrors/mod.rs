//! Mirror sets: many objects of a cluster into one `registries.conf`, and a verdict on each object.
//!
//! The objects are `ImageDigestMirrorSet`, `ImageTagMirrorSet` and `ImageContentSourcePolicy`, with the
//! `registrySources` of `Image/cluster`. Their strings come in as they stand; this module checks them, and one
//! that is bad hurts only itself.

mod check;
mod disagreements;
mod entries;
mod merged;
mod notes;
mod objects;
mod order;
mod reach;
mod render;
mod scope;
mod scopes;
mod sources;
mod verdict;

pub use merged::{Inputs, Merged, merge};
pub use objects::{Kind, MirrorSet, RegistrySources, Rule, SourcePolicy};
pub use verdict::{ObjectName, Outcome, Verdict};

#[cfg(test)]
mod tests;
