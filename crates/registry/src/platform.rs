//! Selects an image of an index by operating system, processor and processor variant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The platform that an image runs on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Platform {
    /// The operating system, in Go's names.
    pub os: String,
    /// The processor architecture, in Go's names.
    pub architecture: String,
    /// The processor's variant, such as `v7`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// Which images of an index to pull. An image that is not in an index is pulled whatever its platform.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Platforms {
    /// The one for Linux on this machine's processor.
    #[default]
    This,
    /// The one for this platform.
    One(Platform),
    /// All of them, and the index itself.
    All,
}

impl Platform {
    /// Linux on this machine's processor.
    #[must_use]
    pub fn this() -> Self {
        let architecture = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "x86" => "386",
            "aarch64" => "arm64",
            "powerpc64" => "ppc64le",
            "loongarch64" => "loong64",
            other => other,
        };
        Self { os: "linux".to_owned(), architecture: architecture.to_owned(), variant: None }
    }

    /// How well an image for `offered` suits this platform; the smallest value is the best.
    fn distance(&self, offered: &Self) -> Option<u8> {
        if self.os != offered.os || self.architecture != offered.architecture {
            return None;
        }
        match (&self.variant, &offered.variant) {
            (wanted, offered) if wanted == offered => Some(0),
            // An image without a variant means the base variant.
            (None, Some(variant)) if self.is_base(variant) => Some(1),
            (Some(variant), None) if self.is_base(variant) => Some(1),
            // If no variant was requested, any image of the architecture is better than none.
            (None, Some(_)) => Some(2),
            _ => None,
        }
    }

    fn is_base(&self, variant: &str) -> bool {
        matches!((self.architecture.as_str(), variant), ("arm64", "v8") | ("amd64", "v1") | ("arm", "v7"))
    }

    /// The position of the offer that suits this platform best; of equals, the first.
    pub(crate) fn choose<'a>(&self, offers: impl IntoIterator<Item = Option<&'a Self>>) -> Option<usize> {
        let offers = offers.into_iter().enumerate();
        let scored = offers.filter_map(|(position, offered)| Some((self.distance(offered?)?, position)));
        scored.min().map(|(_, position)| position)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        match &self.variant {
            Some(variant) => write!(f, "/{variant}"),
            None => Ok(()),
        }
    }
}

/// Why a text is not a platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no platform; write OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT, such as linux/arm64")]
pub struct PlatformError(String);

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        let (os, architecture, variant) = match parts.as_slice() {
            [os, architecture] => (os, architecture, None),
            [os, architecture, variant] => (os, architecture, Some(*variant)),
            _ => return Err(PlatformError(text.to_owned())),
        };
        if parts.iter().any(|part| part.is_empty()) {
            return Err(PlatformError(text.to_owned()));
        }
        Ok(Self {
            os: (*os).to_owned(),
            architecture: (*architecture).to_owned(),
            variant: variant.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(wanted: &str, offers: &[&str]) -> Option<usize> {
        let offers: Vec<Option<Platform>> = offers.iter().map(|offer| offer.parse().ok()).collect();
        wanted.parse::<Platform>().unwrap().choose(offers.iter().map(Option::as_ref))
    }

    #[test]
    fn the_exact_platform_comes_first_then_its_base_variant() {
        assert_eq!(choose("linux/arm64", &["linux/amd64", "linux/arm64/v8", "linux/arm64"]), Some(2));
        assert_eq!(choose("linux/arm64", &["linux/arm64/v9", "linux/arm64/v8"]), Some(1));
        assert_eq!(choose("linux/arm64/v8", &["linux/arm64"]), Some(0));
        assert_eq!(choose("linux/arm/v6", &["linux/arm/v7", "linux/arm/v6"]), Some(1));
    }

    #[test]
    fn nothing_fits_another_system_or_processor() {
        assert_eq!(choose("linux/amd64", &["windows/amd64", "linux/arm64", ""]), None);
        assert_eq!(choose("linux/arm/v6", &["linux/arm/v7"]), None);
        assert_eq!(choose("linux/amd64", &[]), None);
    }

    #[test]
    fn platforms_read_as_they_are_written() {
        for text in ["linux/amd64", "linux/arm/v7"] {
            assert_eq!(text.parse::<Platform>().unwrap().to_string(), text);
        }
        for text in ["", "linux", "linux/", "a/b/c/d", "/amd64"] {
            assert!(text.parse::<Platform>().is_err(), "{text}");
        }
    }
}
