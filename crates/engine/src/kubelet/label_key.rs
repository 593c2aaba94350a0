//! Kubernetes' rules for the keys of labels and annotations, with its error messages.

/// Returns everything that is wrong with `key`, in Kubernetes' words (1.35 and later); empty if it is valid.
pub(super) fn label_key_faults(key: &str) -> Vec<String> {
    const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

    let mut faults = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            let shape = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {NAME} {shape}")];
        }
        Some((prefix, name)) => {
            if prefix.is_empty() {
                faults.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > 253 {
                    faults.push("prefix part must be no more than 253 bytes".to_owned());
                }
                if !prefix.split('.').all(is_dns_label) {
                    faults.push(format!("prefix part {SUBDOMAIN}"));
                }
            }
            name
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        faults.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_framed(name, |byte| byte.is_ascii_alphanumeric(), b"-_.") {
        faults.push(format!("name part {NAME}"));
    }
    faults
}

/// Whether the text is one label of a DNS name; Kubernetes' pattern for it does not limit the length.
fn is_dns_label(text: &str) -> bool {
    is_framed(text, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit(), b"-")
}

/// Whether the text is not empty, has only `letter`s and `inner` bytes, and a letter at both ends.
fn is_framed(text: &str, letter: impl Fn(u8) -> bool, inner: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().all(|byte| letter(*byte) || inner.contains(byte))
        && bytes.first().is_some_and(|byte| letter(*byte))
        && bytes.last().is_some_and(|byte| letter(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_annotations_are_accepted() {
        for key in ["simple", "1.2.3.4/5678", "example.com/my-name_1.x", "a/b", &"a".repeat(63)] {
            assert_eq!(label_key_faults(key), Vec::<String>::new(), "{key}");
        }
    }

    #[test]
    fn each_fault_is_named() {
        for (key, expected) in [
            ("", &["name part must be non-empty", "name part must consist"][..]),
            ("/a", &["prefix part must be non-empty"]),
            ("a/", &["name part must be non-empty", "name part must consist"]),
            ("a..b/c", &["prefix part a lowercase RFC 1123 subdomain must consist"]),
            ("a/b/c", &["a valid label key must consist"]),
            (&"a".repeat(64), &["name part must be no more than 63 bytes"]),
            (&format!("{}/a", "b".repeat(254)), &["prefix part must be no more than 253 bytes"]),
            ("cantendwithadash-", &["name part must consist"]),
        ] {
            let faults = label_key_faults(key);
            assert_eq!(faults.len(), expected.len(), "{key}: {faults:?}");
            for (fault, start) in faults.iter().zip(expected) {
                assert!(fault.starts_with(start), "{key}: {fault}");
            }
        }
    }
}
