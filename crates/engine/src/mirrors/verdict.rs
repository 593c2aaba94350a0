//! The outcome of one object, for its author.

use std::fmt;

use serde::Serialize;

use pullwright_findings::{Finding, Severity};

/// An object as messages name it: `ImageDigestMirrorSet/vendor`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ObjectName {
    /// The kind of the object.
    pub kind: &'static str,
    /// The `metadata.name` of the object.
    pub name: String,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

/// How much of an object is in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectOutcome {
    /// All of it.
    Applied,
    /// Some of it; the [`Severity::Error`] findings say what is missing.
    Partly,
    /// Nothing of it.
    Rejected,
}

/// The outcome of one object, and everything that its author should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The object.
    pub object: ObjectName,
    /// How much of the object is in the result.
    pub outcome: ObjectOutcome,
    /// Errors for parts that are not in the result, and warnings for parts that are but may not be intended. Paths are
    /// relative to the object: `spec.imageDigestMirrors[0].mirrors[1]`.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Makes the verdict on an object of which `used` of `parts` parts are in the result, completely or in part.
    pub(super) fn new(object: ObjectName, used: usize, parts: usize, findings: Vec<Finding>) -> Self {
        let refused = findings.iter().any(|finding| finding.severity == Severity::Error);
        let outcome = match (refused, used) {
            (false, _) => ObjectOutcome::Applied,
            (true, 0) if parts > 0 => ObjectOutcome::Rejected,
            (true, _) => ObjectOutcome::Partly,
        };
        Self { object, outcome, findings }
    }
}
