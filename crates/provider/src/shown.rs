//! Text that somebody else wrote, as it is repeated in a message: on one line, and not all of it.

use std::borrow::Cow;

/// `text` without control characters, and cut behind `most` characters.
pub(crate) fn shown(text: &str, most: usize) -> Cow<'_, str> {
    // So many bytes cannot be more characters, and most texts are plain.
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

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn what_is_repeated_is_one_line_and_short() {
        assert_eq!(shown("plain", 5), "plain");
        assert_eq!(shown("a\nb\u{1b}[2J", 9), "ab[2J");
        assert_eq!(shown("éèêëē", 5), "éèêëē");
        assert_eq!(shown("éèêëēx", 5), "éèêë…");
        assert_eq!(shown(&"x".repeat(1 << 20), 300).chars().count(), 300);
    }
}
