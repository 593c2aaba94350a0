//! Sets of mirror objects: made up, and what the API's text promises for them.
//!
//! The statement of the promise shares no code with the engine, and knows nothing of how a file is written.

pub mod generate;
pub mod statement;
mod text;
pub mod verdicts;

use serde::{Deserialize, Serialize};

/// The objects of a cluster, and images to pull.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Case {
    /// The mirror sets.
    pub sets: Vec<Set>,
    /// `insecureRegistries` of `Image/cluster`.
    pub insecure: Vec<String>,
    /// `blockedRegistries` of `Image/cluster`.
    pub blocked: Vec<String>,
    /// Images, each with a tag, a digest or both.
    pub probes: Vec<String>,
}

/// One object.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Set {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// The kinds of object, by the names that `oc` has for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// `ImageDigestMirrorSet`.
    Idms,
    /// `ImageTagMirrorSet`.
    Itms,
    /// `ImageContentSourcePolicy`.
    Icsp,
}

/// One rule of an object.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rule {
    /// What is mirrored.
    pub source: String,
    /// Where to.
    pub mirrors: Vec<String>,
    /// `mirrorSourcePolicy`.
    pub policy: Policy,
}

/// The values of `mirrorSourcePolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Not set.
    Unset,
    /// `NeverContactSource`.
    Never,
    /// `AllowContactingSource`.
    Allow,
}
