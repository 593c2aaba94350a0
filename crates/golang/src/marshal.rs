//! Go's `json.Marshal` for strings, which also escapes characters that are special in HTML.

/// Returns `text` as a JSON string, byte for byte as Go writes it.
#[must_use]
pub fn marshal_text(text: &str) -> String {
    let plain = serde_json::Value::from(text).to_string();
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// Returns a list of JSON strings, byte for byte as Go writes it.
pub fn marshal_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<_> = texts.into_iter().map(marshal_text).collect();
    format!("[{}]", items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_as_go_does() {
        assert_eq!(
            marshal_text("a\"\\\n\u{8}\u{1}<é>&\u{2028}"),
            r#""a\"\\\n\b\u0001\u003cé\u003e\u0026\u2028""#
        );
        assert_eq!(marshal_texts(["a", "b"]), r#"["a","b"]"#);
    }
}
