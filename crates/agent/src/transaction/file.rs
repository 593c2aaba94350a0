//! What is at a path: nothing, or a file with a content, permissions, an owner and attributes.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The attribute that the kernel gives to every new file on nodes with SELinux. A file of ours takes it over from the file that it
/// replaces.
pub(crate) const LABEL: &str = "security.selinux";

/// The SHA-256 of a content, as lower-case hexadecimal digits. It is also a file name in the agent's state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Digest(String);

impl Digest {
    /// The digest of `content`.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self::from_hash(Sha256::new_with_prefix(content))
    }

    pub(crate) fn from_hash(hash: Sha256) -> Self {
        Self(hex(&hash.finalize()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 64 && text.as_bytes().iter().all(digit) {
            Ok(Self(text))
        } else {
            Err(format!("{text:?} is not a SHA-256"))
        }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileState {
    /// Nothing.
    Absent,
    /// A regular file.
    File(FileFacts),
}

/// What there is to know about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileFacts {
    /// Its content.
    pub(crate) digest: Digest,
    /// Its permissions, with the set-ID and sticky bits.
    pub(crate) mode: u32,
    /// The user that it belongs to.
    pub(crate) uid: u32,
    /// The group that it belongs to.
    pub(crate) gid: u32,
    /// Its extended attributes, among them the SELinux label, access control lists and capabilities.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) attributes: BTreeMap<String, Attribute>,
}

impl FileState {
    pub(crate) fn facts(&self) -> Option<&FileFacts> {
        match self {
            Self::Absent => None,
            Self::File(facts) => Some(facts),
        }
    }

    pub(crate) fn digest(&self) -> Option<&Digest> {
        self.facts().map(|facts| &facts.digest)
    }

    /// Whether nobody could tell the two apart by reading and listing. Attributes are left out: labels change when a node is
    /// relabelled, which is no reason to write a file.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let visible = |facts: &FileFacts| (facts.digest.clone(), facts.mode, facts.uid, facts.gid);
        self.facts().map(visible) == other.facts().map(visible)
    }
}

/// The value of an extended attribute.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Attribute(pub(crate) Vec<u8>);

impl TryFrom<String> for Attribute {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |pair: &[u8]| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        bytes.map(Self).ok_or_else(|| "the value of an attribute is not hexadecimal".to_owned())
    }
}

impl From<Attribute> for String {
    fn from(Attribute(bytes): Attribute) -> Self {
        hex(&bytes)
    }
}

impl fmt::Debug for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Copies all of `from`, and says what it was.
pub(crate) fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<Digest> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(Digest::from_hash(hash)),
            Ok(length) => {
                hash.update(&buffer[..length]);
                to.write_all(&buffer[..length])?;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_a_file_name_and_nothing_else() {
        assert!(Digest::try_from("../../etc/shadow".to_owned()).is_err());
        assert!(Digest::try_from("A".repeat(64)).is_err());
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert!(Digest::try_from(empty.to_owned()).is_ok());
    }

    #[test]
    fn an_attribute_survives_the_journal() {
        let value = Attribute(vec![0, 0x7f, 0xff]);
        assert_eq!(String::from(value.clone()), "007fff");
        assert!(Attribute::try_from("007fff".to_owned()).unwrap() == value);
        assert!(Attribute::try_from("007ff".to_owned()).is_err());
        assert!(Attribute::try_from("0g".to_owned()).is_err());
    }

    #[test]
    fn a_copy_is_whole_and_named_by_its_content() {
        let content = vec![7; 200_000];
        let mut to = Vec::new();
        assert_eq!(copy(&mut content.as_slice(), &mut to).unwrap(), Digest::of(&content));
        assert_eq!(to, content);
    }
}
