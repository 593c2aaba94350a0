//! The file names of the contract: which file a namespace and an image share, and which other names of ours may be
//! beside it.

use std::fmt;
use std::fmt::Write as _;

use pullwright_engine::kubelet::Namespace;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Length of a SHA-256 in hexadecimal.
const SHA256_HEX: usize = 64;
/// Length of the part of a ticket's hash that appears in a file name.
const SHOWN_HEX: usize = 32;
/// Length of a UUID in its usual form, hyphens included.
const UUID: usize = 36;

/// There is no image name to derive a file name from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no image name given: pass the repository, without tag and digest, as the kubelet does")]
pub struct NoImage;

/// The file that a plugin and a runtime agree on: `<namespace>-<lowercase hex sha256(image name)>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AuthFileName {
    /// `<namespace>-<sha256>`, the part that in-use names repeat.
    stem: String,
}

impl AuthFileName {
    /// The name for an image as the kubelet passes it: normalised, without tag and digest (`docker.io/library/nginx`).
    ///
    /// # Errors
    /// [`NoImage`] if `image` is empty.
    pub fn new(namespace: &Namespace, image: &str) -> Result<Self, NoImage> {
        if image.is_empty() {
            return Err(NoImage);
        }
        Ok(Self { stem: format!("{namespace}-{}", hex(&Sha256::digest(image))) })
    }

    /// Parses the output of [`fmt::Display`]; `None` for any other file name.
    #[must_use]
    pub fn parse(file_name: &str) -> Option<Self> {
        let stem = file_name.strip_suffix(".json")?;
        is_stem(stem).then(|| Self { stem: stem.to_owned() })
    }

    /// The name in `tickets/` for a ticket whose shortened hash is `shown`.
    pub(crate) fn for_ticket(&self, shown: &str) -> String {
        format!("{}-{shown}.json", self.stem)
    }

    /// A name in `in-use/` that no other claim has.
    pub(crate) fn claimed(&self) -> rustix::io::Result<String> {
        Ok(format!("{}-{}.json", self.stem, uuid_v4(random()?)))
    }
}

impl fmt::Display for AuthFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.json", self.stem)
    }
}

/// Whether this is the name of a claimed file: `<namespace>-<sha256>-<uuid>.json`.
pub(crate) fn is_claimed(file_name: &str) -> bool {
    let split = || {
        let stem = file_name.strip_suffix(".json")?;
        let (rest, uuid) = stem.split_at_checked(stem.len().checked_sub(UUID)?)?;
        Some((rest.strip_suffix('-')?, uuid))
    };
    split().is_some_and(|(stem, uuid)| {
        is_stem(stem)
            && uuid.bytes().enumerate().all(|(at, b)| match at {
                8 | 13 | 18 | 23 => b == b'-',
                _ => is_lower_hex(b),
            })
    })
}

/// The namespace of a ticket's file, `<namespace>-<sha256>-<shown>.json`; `None` for any other file name.
pub(crate) fn namespace_of_ticket(file_name: &str) -> Option<&str> {
    let stem = file_name.strip_suffix(".json")?;
    let (rest, shown) = stem.split_at_checked(stem.len().checked_sub(SHOWN_HEX)?)?;
    let stem = rest.strip_suffix('-')?;
    (is_stem(stem) && shown.bytes().all(is_lower_hex)).then(|| &stem[..stem.len() - SHA256_HEX - 1])
}

/// A new name for a file that is being written. The Go plugin's temporary files have the same shape, so whichever of
/// the two runs on a node sweeps what the other left.
pub(crate) fn temporary() -> rustix::io::Result<String> {
    Ok(format!(".auth-{}.tmp", hex(&random()?)))
}

/// Whether this is a name that [`temporary`] or the Go plugin creates.
pub(crate) fn is_temporary(file_name: &str) -> bool {
    file_name
        .strip_prefix(".auth-")
        .and_then(|rest| rest.strip_suffix(".tmp"))
        .is_some_and(|random| !random.is_empty() && random.bytes().all(is_lower_hex))
}

fn is_stem(stem: &str) -> bool {
    let split = || {
        let (rest, sha256) = stem.split_at_checked(stem.len().checked_sub(SHA256_HEX)?)?;
        Some((rest.strip_suffix('-')?, sha256))
    };
    split().is_some_and(|(namespace, sha256)| {
        namespace.parse::<Namespace>().is_ok() && sha256.bytes().all(is_lower_hex)
    })
}

pub(crate) fn is_lower_hex(b: u8) -> bool {
    b.is_ascii_digit() || (b'a'..=b'f').contains(&b)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn random() -> rustix::io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    // A request for up to 256 bytes returns all of them or fails.
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(bytes)
}

fn uuid_v4(mut bytes: [u8; 16]) -> String {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = hex(&bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn namespace(text: &str) -> Namespace {
        text.parse().expect("a DNS label")
    }

    #[test]
    fn names_are_those_of_cri_o() {
        for (ns, image, expected) in [
            (
                "default",
                "docker.io/library/nginx",
                "default-7e59ad64326bc321517fb6fc6586de5ee149178394d9edfa2a877176cdf6fad5.json",
            ),
            (
                "app-team-alpha",
                "quay.io/crio/fedora-crio-ci",
                "app-team-alpha-7aa25047c59c6c2e20b839f5b9820e3702dade4a97154d4df1f5cd1a9b44cfde.json",
            ),
            (
                "namespace",
                "image:latest",
                "namespace-baee713fe56d0f5189067a1126374bc39cd8bbca1cd980322f0c8596cd400826.json",
            ),
        ] {
            assert_eq!(AuthFileName::new(&namespace(ns), image).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn an_image_is_needed() {
        assert_eq!(AuthFileName::new(&namespace("a"), ""), Err(NoImage));
    }

    #[test]
    fn each_name_is_recognised_as_what_it_is_and_as_nothing_else() {
        let name = AuthFileName::new(&namespace("a-b"), "quay.io/x").unwrap();
        let (plain, claimed, temporary) = (name.to_string(), name.claimed().unwrap(), temporary().unwrap());
        assert_eq!(AuthFileName::parse(&plain), Some(name));
        assert!(is_claimed(&claimed) && is_temporary(&temporary));
        assert!(is_temporary(".auth-3816622949.tmp"), "of the Go plugin");
        for other in [&claimed, &temporary] {
            assert_eq!(AuthFileName::parse(other), None, "{other}");
        }
        assert!(!is_claimed(&plain) && !is_claimed(&temporary));
        assert!(!is_temporary(&plain) && !is_temporary(&claimed));
    }

    #[test]
    fn what_somebody_else_put_there_is_not_ours() {
        let sha = "7e59ad64326bc321517fb6fc6586de5ee149178394d9edfa2a877176cdf6fad5";
        for other in [
            "config.json",
            "README",
            "in-use",
            ".auth-.tmp",
            ".auth-xyz.tmp",
            ".auth-1.json",
            &format!("{sha}.json"),
            &format!("-{sha}.json"),
            &format!("Default-{sha}.json"),
            &format!("default-{}.json", sha.to_uppercase()),
            &format!("default-{sha}.json.bak"),
            &format!("é{sha}.json"),
        ] {
            assert_eq!(AuthFileName::parse(other), None, "{other}");
            assert!(!is_claimed(other) && !is_temporary(other), "{other}");
        }
    }

    #[test]
    fn a_uuid_says_that_it_is_random() {
        assert_eq!(uuid_v4([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uuid_v4([0; 16]), "00000000-0000-4000-8000-000000000000");
    }

    proptest! {
        #[test]
        fn no_file_name_makes_the_recognisers_fail(text in "\\PC{0,140}") {
            let _ = (AuthFileName::parse(&text), is_claimed(&text), is_temporary(&text));
        }

        #[test]
        fn a_name_reads_back(ns in "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", image in "\\PC{1,80}") {
            let name = AuthFileName::new(&namespace(&ns), &image).unwrap();
            prop_assert_eq!(AuthFileName::parse(&name.to_string()), Some(name.clone()));
            prop_assert!(is_claimed(&name.claimed().unwrap()));
        }
    }
}
