//! Names of objects, which are also parts of file names.

use crate::diagnostic::Message;

/// Whether the API accepts it as an object's name. Such a name has neither `/` nor `..` and cannot lead out of a folder.
pub(crate) fn is_valid(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_label)
}

/// The message about an invalid name.
pub(crate) fn refused(name: &str) -> Message {
    Message::error(refusal(name)).with_help(HELP)
}

/// The same message without help.
pub(crate) fn refusal(name: &str) -> String {
    format!("{name:?} is not a valid object name")
}

/// What to do.
pub(crate) const HELP: &str =
    "use lower case letters, digits, '-' and '.'; begin and end with a letter or digit";

fn is_label(label: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn a_name_cannot_lead_out_of_a_folder() {
        let good = ["a", "ubi8repo", "a-b.c-d.0", &"a".repeat(253)];
        let bad = [
            "",
            "..",
            "a/b",
            "../../etc/x",
            "A",
            "a_b",
            "-a",
            "a-",
            "a..b",
            ".a",
            "a.",
            "a b",
            &"a".repeat(254),
        ];
        assert!(good.into_iter().all(is_valid));
        assert!(!bad.into_iter().any(is_valid));
    }
}
