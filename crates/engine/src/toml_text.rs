//! Writes TOML strings in double quotes, like the Go encoder.

use toml_writer::{ToTomlValue as _, TomlStringBuilder};

/// Appends a string or a quoted key. Names of registries need no escape, which is found out here for a fraction of what
/// `toml_writer` takes.
pub(crate) fn push_string(out: &mut String, text: &str) {
    // Without an early end, so that the compiler can look at many bytes at a time.
    let escapes = |byte: u8| u8::from(!matches!(byte, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~'));
    let is_plain = text.bytes().fold(0, |any, byte| any | escapes(byte)) == 0;
    if is_plain {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&TomlStringBuilder::new(text).as_basic().to_toml_value());
    }
}

/// Returns a string or a quoted key.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// Renders a list of strings on one line.
pub(crate) fn list(items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| string(item.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    #[test]
    fn text_without_escapes_is_written_as_toml_writer_writes_it() {
        for text in (0..=u8::MAX).map(|byte| format!("a{}b", char::from(byte))) {
            assert_eq!(string(&text), TomlStringBuilder::new(&text).as_basic().to_toml_value(), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back_whatever_it_holds() {
        let texts =
            ["", "quay.io/a", "a\"b\\c", "\n\r\t\u{8}\u{c}", "\u{0}\u{1b}\u{7f}\u{85}", "é\u{feff}\u{200b}"];
        for text in texts {
            let written = format!("{} = {}", string(text), string(text));
            let table = DeTable::parse(&written).unwrap();
            assert_eq!(table.get_ref().get(text).unwrap().get_ref().as_str(), Some(text));
        }
        let written = format!("texts = {}", list(texts));
        let table = DeTable::parse(&written).unwrap();
        let items = table.get_ref().get("texts").unwrap().get_ref().as_array().unwrap();
        assert!(items.iter().map(|item| item.get_ref().as_str().unwrap()).eq(texts));
        assert_eq!(list(["quay.io"; 2]), r#"["quay.io", "quay.io"]"#);
    }
}
