//! Mirror sets: merges many objects of a cluster into one `registries.conf`, with a verdict on each object.
//!
//! The objects are `ImageDigestMirrorSet`, `ImageTagMirrorSet` and `ImageContentSourcePolicy`, with the `registrySources` of
//! `Image/cluster`. Their strings arrive unchecked; this module checks them, and an invalid string affects nothing but
//! itself.

mod check;
mod disagreements;
mod entries;
mod merged;
mod notes;
mod objects;
mod order;
mod payload;
mod policy;
mod reach;
mod render;
mod scope;
mod scopes;
mod sources;
mod unpullable;
mod verdict;

pub(crate) use check::{invalid_source, unusable_mirror};
pub use merged::{MergeInputs, Merged, merge, merge_protecting};
pub use objects::{MirrorSet, MirrorSetKind, MirrorSetRule, RegistrySources, SourcePolicy};
pub use payload::{Payload, PayloadError};
pub use policy::{Policy, PolicyError, Requirement};
pub use verdict::{ObjectName, ObjectOutcome, Verdict};

#[cfg(test)]
mod tests;
