//! Prepares text from others for a message: on one line, and cut short.

use std::borrow::Cow;

/// `text` without control characters, cut after `most` characters.
pub(crate) fn shown(text: &str, most: usize) -> Cow<'_, str> {
    // The number of bytes limits the number of characters, and most texts need no change.
    if text.len() <= most && !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown: String = text.chars().filter(|letter| !letter.is_control()).take(most + 1).collect();
    if let Some((end, _)) = shown.char_indices().nth(most) {
        let end = shown[..end].char_indices().next_back().map_or(0, |(last, _)| last);
        shown.truncate(end);
        shown.push('…');
    }
    Cow::Owned(shown)
}

/// `text` without control characters and without any word that is part of `secret`.
///
/// Parts count, because a long secret is often repeated in part. Only words of some length count, because a short one
/// reveals nothing and may be an ordinary word. Control characters are removed first: with them in between, the secret
/// would not be recognised.
pub(crate) fn without(text: &str, secret: &str) -> String {
    const SHORT: usize = 8;
    let of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let text: String = text.chars().filter(|letter| !letter.is_control()).collect();
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let word = rest.find(|letter| !of_word(letter)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(word);
        out.push_str(if word.len() >= SHORT && secret.contains(word) { "[redacted]" } else { word });
        let other = behind.find(of_word).unwrap_or(behind.len());
        out.push_str(&behind[..other]);
        rest = &behind[other..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{shown, without};

    #[test]
    fn a_secret_is_not_repeated_neither_whole_nor_in_part() {
        let token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW06In0.c2lnbmF0dXJl-_x";
        for (said, repeated) in [
            (format!("no such token: {token}."), "no such token: [redacted].[redacted].[redacted]."),
            (format!("\"Bearer {}\"…", &token[..30]), "\"Bearer [redacted].[redacted]\"…"),
            (format!("{}\n{} é", &token[..12], &token[12..]), "[redacted].[redacted].[redacted] é"),
            ("secrets is forbidden: User \"a\"".to_owned(), "secrets is forbidden: User \"a\""),
            (String::new(), ""),
        ] {
            assert_eq!(without(&said, token), repeated);
        }
    }

    #[test]
    fn what_is_repeated_is_one_line_and_short() {
        assert_eq!(shown("plain", 5), "plain");
        assert_eq!(shown("a\nb\u{1b}[2J", 9), "ab[2J");
        assert_eq!(shown("éèêëē", 5), "éèêëē");
        assert_eq!(shown("éèêëēx", 5), "éèêë…");
        assert_eq!(shown(&"x".repeat(1 << 20), 300).chars().count(), 300);
    }
}
