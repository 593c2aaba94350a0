//! The hash by which a kubelet tells which credential provider configuration it runs with.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::transaction::Digest;

/// How names of files end that the kubelet reads if its configuration is a folder.
const SUFFIXES: [&str; 3] = [".json", ".yaml", ".yml"];

/// The hash of a credential provider configuration, as in the metric `kubelet_credential_provider_config_info`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigHash(Digest);

impl ConfigHash {
    /// The hash of files in the order in which the kubelet reads them. One file is a list of one: its hash is not that of
    /// `sha256sum`.
    pub fn of(files: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Self {
        let mut hash = Sha256::new();
        for file in files {
            let content = file.as_ref();
            // The length, so that no two lists of files have the same hash.
            hash.update((content.len() as u64).to_be_bytes());
            hash.update(content);
        }
        Self(Digest::from_hash(hash))
    }

    /// The hash of a folder, by the names and contents of the files in it, in any order.
    pub fn of_folder<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut files: Vec<_> = files.into_iter().filter(|(name, _)| is_configuration(name)).collect();
        files.sort_unstable();
        Self::of(files.into_iter().map(|(_, content)| content))
    }

    /// Reads a hash as the metric shows it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("sha256:")?;
        Digest::try_from(digits.to_owned()).ok().map(Self)
    }
}

/// Whether the kubelet reads a file with this name in a folder of configurations. It does not look into folders.
#[must_use]
pub fn is_configuration(name: &str) -> bool {
    SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

impl fmt::Display for ConfigHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by the rule with another program, which gives the hashes in the kubelet's own tests for their files.
    const ONE: &str = "sha256:55a8ac8e9d708ebd7925e3e2c9624510f6516a3f2c5b3212cb482fceb6315e1f";
    const TWO: &str = "sha256:a686839eab39a68df823fce03547dee4f4f50a18013cd475e70731100462f023";

    #[test]
    fn it_is_what_a_kubelet_shows() {
        assert_eq!(ConfigHash::of(["kind: CredentialProviderConfig\n"]).to_string(), ONE);
        assert_eq!(ConfigHash::of(["kind: A\n", "kind: B\n"]).to_string(), TWO);
        assert_eq!(ConfigHash::parse(ONE), Some(ConfigHash::of(["kind: CredentialProviderConfig\n"])));
    }

    #[test]
    fn a_folder_is_read_by_name_and_only_its_configurations() {
        let files: [(&str, &[u8]); 5] = [
            ("b.yaml", b"kind: B\n"),
            ("README.md", b"no"),
            ("a.json.bak", b"no"),
            ("a.yml", b"kind: A\n"),
            ("C.JSON", b"no"),
        ];
        assert_eq!(ConfigHash::of_folder(files).to_string(), TWO);
    }

    #[test]
    fn what_is_not_a_hash_is_none() {
        for text in ["", "sha256:", "sha256:12", &ONE[7..], &ONE.to_uppercase(), &format!("{ONE}0")] {
            assert_eq!(ConfigHash::parse(text), None, "{text}");
        }
    }
}
