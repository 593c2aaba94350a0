//! Content digests: parses them, and checks bytes against them.

use std::fmt;

use pullwright_engine::reference::DigestError;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::Digest as _;

/// A digest of a known algorithm: `sha256:…`. It is safe to use as a file name and in a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest {
    text: String,
    algorithm: Algorithm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Algorithm {
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    const fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    const fn digits(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha384 => 96,
            Self::Sha512 => 128,
        }
    }
}

impl Digest {
    /// Parses a digest.
    ///
    /// # Errors
    /// If the algorithm is unknown, or the rest is not the right number of lower-case hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let (name, hex) = text.split_once(':').ok_or(DigestError::Format)?;
        let algorithm = [Algorithm::Sha256, Algorithm::Sha384, Algorithm::Sha512]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or(DigestError::Unsupported)?;
        if hex.len() != algorithm.digits() {
            return Err(DigestError::Length);
        }
        if !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(DigestError::Format);
        }
        Ok(Self { text: text.to_owned(), algorithm })
    }

    /// The SHA-256 digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(bytes);
        hasher.finish()
    }

    /// The digest in its text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The name of the algorithm, which is a folder name in an OCI layout.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        self.algorithm.name()
    }

    /// The hexadecimal digits, which are a file name in an OCI layout.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.text[self.algorithm.name().len() + 1..]
    }

    /// The digest of `bytes`, with the same algorithm.
    #[must_use]
    pub fn same_kind_of(&self, bytes: &[u8]) -> Self {
        let mut hasher = self.hasher();
        hasher.update(bytes);
        hasher.finish()
    }

    /// Starts a digest with the same algorithm.
    pub(crate) fn hasher(&self) -> Hasher {
        Hasher::new(self.algorithm)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|error| de::Error::custom(format_args!("digest {text:?}: {error}")))
    }
}

/// A digest that is being computed.
#[derive(Clone)]
pub(crate) enum Hasher {
    Sha256(sha2::Sha256),
    Sha384(sha2::Sha384),
    Sha512(sha2::Sha512),
}

impl Hasher {
    fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(sha2::Sha256::new()),
            Algorithm::Sha384 => Self::Sha384(sha2::Sha384::new()),
            Algorithm::Sha512 => Self::Sha512(sha2::Sha512::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha384(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        let (algorithm, hex) = match self {
            Self::Sha256(hasher) => (Algorithm::Sha256, format!("{:x}", hasher.finalize())),
            Self::Sha384(hasher) => (Algorithm::Sha384, format!("{:x}", hasher.finalize())),
            Self::Sha512(hasher) => (Algorithm::Sha512, format!("{:x}", hasher.finalize())),
        };
        Digest { text: format!("{}:{hex}", algorithm.name()), algorithm }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_known_one() {
        let digest = Digest::of(b"");
        assert_eq!(
            digest.as_str(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(Digest::parse(digest.as_str()), Ok(digest));
    }

    #[test]
    fn each_algorithm_checks_with_its_own() {
        for name in ["sha256", "sha384", "sha512"] {
            let digits = Digest::parse(&format!("{name}:{}", "0".repeat(64)));
            let digits = digits.or_else(|_| Digest::parse(&format!("{name}:{}", "0".repeat(96))));
            let some = digits.or_else(|_| Digest::parse(&format!("{name}:{}", "0".repeat(128)))).unwrap();
            let real = some.same_kind_of(b"content");
            assert_eq!(real.algorithm(), name);
            assert_eq!(Digest::parse(real.as_str()), Ok(real.clone()));
            assert_eq!(real.same_kind_of(b"content"), real);
            assert_ne!(real.same_kind_of(b"other"), real);
        }
    }

    #[test]
    fn what_could_lead_out_of_a_folder_is_no_digest() {
        let dots = format!("sha256:{}", "../".repeat(21) + "x");
        for (text, error) in [
            (dots.as_str(), DigestError::Format),
            ("sha256:abc", DigestError::Length),
            ("../../etc:passwd", DigestError::Unsupported),
            ("sha256", DigestError::Format),
            (&format!("sha256:{}", "A".repeat(64)), DigestError::Format),
        ] {
            assert_eq!(Digest::parse(text), Err(error), "{text}");
        }
    }
}
