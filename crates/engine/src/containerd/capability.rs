//! The requests that containerd may send to a host of `hosts.toml`.

use serde::{Serialize, Serializer};

/// One kind of request that a host may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Capability {
    /// Manifests and blobs by digest.
    Pull = 1,
    /// The digest of a tag. The host that answers this chooses the content.
    Resolve = 2,
    /// Uploads of content.
    Push = 4,
    /// The artifacts that refer to a manifest.
    Referrers = 8,
}

impl Capability {
    const ALL: [Self; 4] = [Self::Pull, Self::Resolve, Self::Push, Self::Referrers];

    /// Parses the text as containerd does, ignoring case.
    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| text.to_lowercase() == capability.as_str())
    }

    /// The name in the file.
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

/// The set of requests that a host may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Capabilities(u8);

impl Capabilities {
    /// All capabilities. An empty or absent list also means this.
    pub const ALL: Self = Self(15);

    /// Whether the host may get this kind of request.
    #[must_use]
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & capability as u8 != 0
    }

    /// Iterates in the order of containerd's documentation.
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
