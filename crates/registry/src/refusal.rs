//! The explanation that a registry gives when it refuses a request, made safe for a message.

use std::fmt::Write as _;

use pullwright_engine::credentials::Sensitive;
use serde::Deserialize;

/// How many characters of a registry's explanation a message repeats.
const MAX_CHARACTERS: usize = 200;

#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    errors: Vec<One>,
    /// Token services put their explanation here.
    #[serde(default)]
    details: Option<String>,
}

#[derive(Deserialize)]
struct One {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// The registry's explanation in parentheses, with a space before it; empty if there is none.
///
/// The text is not trusted: it is cut short, control characters are replaced, and a text that repeats one of `secrets`
/// is not shown at all.
pub(crate) fn explain<'a>(body: &[u8], secrets: impl IntoIterator<Item = &'a Sensitive>) -> String {
    let Ok(answer) = serde_json::from_slice::<Errors>(body) else {
        return String::new();
    };
    let mut words = String::new();
    for One { code, message } in answer.errors {
        let code = code.replace('_', " ").to_lowercase();
        let separator = if words.is_empty() { "" } else { ", " };
        let _ = match (code.as_str(), message.as_str()) {
            ("", message) => write!(words, "{separator}{message}"),
            (code, message) if message.is_empty() || code == message => write!(words, "{separator}{code}"),
            (code, message) => write!(words, "{separator}{code}: {message}"),
        };
    }
    words.extend(answer.details.filter(|_| words.is_empty()));
    if words.is_empty() {
        return String::new();
    }
    let repeats = |secret: &Sensitive| {
        let value = secret.expose();
        let bare = value.split_once(' ').map_or(value.as_str(), |(_, bare)| bare);
        !bare.is_empty() && words.contains(bare)
    };
    if secrets.into_iter().any(repeats) {
        return " (its explanation repeats the credential and is not shown)".to_owned();
    }
    let shown: String = words
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(MAX_CHARACTERS)
        .collect();
    format!(" ({})", shown.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(body: &str, secrets: &[&str]) -> String {
        let secrets: Vec<Sensitive> = secrets.iter().map(|&secret| secret.into()).collect();
        explain(body.as_bytes(), &secrets)
    }

    #[test]
    fn the_registrys_codes_become_words() {
        let unknown = r#"{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown", "detail": {"x": 1}}]}"#;
        assert_eq!(explained(unknown, &[]), " (manifest unknown)");
        let two = r#"{"errors": [{"code": "DENIED", "message": "no"}, {"message": "really"}]}"#;
        assert_eq!(explained(two, &[]), " (denied: no, really)");
        assert_eq!(
            explained(r#"{"details": "incorrect username or password"}"#, &[]),
            " (incorrect username or password)"
        );
    }

    #[test]
    fn what_is_no_explanation_is_left_out() {
        for body in ["", "<html>", "[]", "{}", r#"{"errors": []}"#, r#"{"errors": "x"}"#] {
            assert_eq!(explained(body, &[]), "", "{body}");
        }
    }

    #[test]
    fn a_stranger_neither_floods_nor_writes_escape_sequences() {
        let body = format!(r#"{{"errors": [{{"message": "\u001b[31m{}"}}]}}"#, "x".repeat(5_000));
        let explained = explained(&body, &[]);
        assert!(explained.len() < 250 && !explained.contains('\u{1b}'), "{explained}");
    }

    #[test]
    fn a_credential_that_comes_back_is_not_shown() {
        let body = r#"{"errors": [{"code": "UNAUTHORIZED", "message": "bad password hunter2"}]}"#;
        assert!(!explained(body, &["hunter2"]).contains("hunter2"));
        assert!(!explained(body, &["Bearer hunter2"]).contains("hunter2"));
        assert!(explained(body, &[""]).contains("bad password"));
    }
}
