//! The digest after `@`: a known algorithm, the exact length, and lower-case hexadecimal digits.

/// Why a digest is refused, with the messages of the go-digest library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Malformed, for example with upper-case digits.
    #[error("invalid checksum digest format")]
    Format,
    /// Not sha256, sha384 or sha512.
    #[error("unsupported digest algorithm")]
    Unsupported,
    /// Too few or too many digits for the algorithm.
    #[error("invalid checksum digest length")]
    Length,
}

/// Checks a digest that already matches the reference grammar.
pub(super) fn validate(digest: &str) -> Result<(), DigestError> {
    let (algorithm, hex) = digest.split_once(':').ok_or(DigestError::Format)?;
    let digits = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        // The reference grammar allows upper case in algorithms, but the digest grammar does not.
        other if other.bytes().any(|b| b.is_ascii_uppercase()) => return Err(DigestError::Format),
        _ => return Err(DigestError::Unsupported),
    };
    if hex.len() != digits {
        Err(DigestError::Length)
    } else if hex.bytes().any(|b| b.is_ascii_uppercase()) {
        Err(DigestError::Format)
    } else {
        Ok(())
    }
}
