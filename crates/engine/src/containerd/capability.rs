//! What a host of `hosts.toml` may be asked for.

use serde::{Serialize, Serializer};

/// One thing that a host may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Capability {
    /// Manifests and blobs by digest.
    Pull = 1,
    /// Which digest a tag stands for. Whoever answers this chooses the content.
    Resolve = 2,
    /// To take content.
    Push = 4,
    /// What refers to a manifest.
    Referrers = 8,
}

impl Capability {
    const ALL: [Self; 4] = [Self::Pull, Self::Resolve, Self::Push, Self::Referrers];

    /// As containerd reads it: in any case.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| text.to_lowercase() == capability.as_str())
    }

    /// As it stands in the file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Resolve => "resolve",
            Self::Push => "push",
            Self::Referrers => "referrers",
        }
    }
}

/// All that a host may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Capabilities(u8);

impl Capabilities {
    /// Everything, which is also what an empty or absent list means.
    pub const ALL: Self = Self(15);

    /// Whether the host may be asked for it.
    #[must_use]
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & capability as u8 != 0
    }

    /// In the order in which containerd's documentation lists them.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |capability| self.has(*capability))
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Self {
        Self(capabilities.into_iter().fold(0, |bits, capability| bits | capability as u8))
    }
}

impl Serialize for Capabilities {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Capability::as_str))
    }
}
