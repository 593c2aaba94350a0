//! The digest behind `@`: known algorithm, exact length, lower-case hexadecimal.

/// Why a digest is refused, in the words of the go-digest library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// Upper-case digits, for example.
    #[error("invalid checksum digest format")]
    Format,
    /// Not sha256, sha384 or sha512.
    #[error("unsupported digest algorithm")]
    Unsupported,
    /// Too few or too many digits for the algorithm.
    #[error("invalid checksum digest length")]
    Length,
}

/// Checks a digest that is of the grammar already.
pub(super) fn validate(digest: &str) -> Result<(), DigestError> {
    let (algorithm, hex) = digest.split_once(':').ok_or(DigestError::Format)?;
    let digits = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        // The reference grammar lets algorithms have upper case, the digest grammar does not.
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
