//! What the Lease object says, as far as the election looks at it.

use std::time::Duration;

/// Who holds the lease, and for how long at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The replica that holds it; `None` if it was given back, or if somebody took it out.
    pub holder: Option<String>,
    /// For how long others leave it alone after they saw it change.
    pub duration: Duration,
    /// How often the holder has changed.
    pub transitions: u32,
}

/// The `resourceVersion` of a Lease: a write over an older one is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseVersion(pub String);
