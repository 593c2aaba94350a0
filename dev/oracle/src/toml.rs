//! TOML in all its spellings: the same value written in many ways, and values that are almost TOML.

use std::fmt::Write;

use crate::random::Random;

/// A text in one of the notations for it.
pub fn string(random: &mut Random, text: &str) -> String {
    let literal = !text.contains('\'') && !text.chars().any(char::is_control);
    match random.below(16) {
        0 if literal => format!("'{text}'"),
        1 if literal => format!("'''\n{text}'''"),
        2 => format!("\"\"\"{}\"\"\"", escaped(random, text)),
        3 => format!("\"\"\"\n{}\\\n   \"\"\"", escaped(random, text)),
        _ => format!("\"{}\"", escaped(random, text)),
    }
}

fn escaped(random: &mut Random, text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let code = u32::from(c);
        let _ = match c {
            '"' => write!(out, "\\\""),
            '\\' => write!(out, "\\\\"),
            '\u{1b}' if random.one_in(2) => write!(out, "\\e"),
            c if c.is_control() => write!(out, "\\u{code:04x}"),
            _ if !random.one_in(200) => write!(out, "{c}"),
            _ if code < 0x100 && random.one_in(2) => write!(out, "\\x{code:02x}"),
            _ if random.one_in(2) => write!(out, "\\U{code:08X}"),
            _ => write!(out, "\\u{:04x}", code.min(0xffff)),
        };
    }
    out
}

/// A list of already written items, on one line or several.
pub fn list(random: &mut Random, items: &[String]) -> String {
    if items.is_empty() {
        return random.pick(&["[]", "[ ]", "[\n]", "[ # none\n]"]).to_owned();
    }
    let (separator, end) = match random.below(8) {
        0 => (",\n  ", ",\n"),
        1 => (" , ", ", "),
        2 => (", # note\n", ""),
        _ => (", ", ""),
    };
    format!("[{}{end}]", items.join(separator))
}

/// An inline table of already written `key = value` pairs; over several lines it is TOML 1.1.
pub fn inline_table(random: &mut Random, pairs: &[String]) -> String {
    match random.below(10) {
        0 if !pairs.is_empty() => format!("{{\n  {},\n}}", pairs.join(",\n  ")),
        1 if !pairs.is_empty() => format!("{{ {}, }}", pairs.join(", ")),
        _ => format!("{{ {} }}", pairs.join(", ")),
    }
}

/// A key, bare where it can be, now and then quoted or in other letters.
pub fn key(random: &mut Random, key: &str) -> String {
    let bare = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    match random.below(60) {
        0 => format!("\"{}\"", escaped(random, key)),
        1 => format!("'{key}'"),
        2 if random.odd(1) => key.to_uppercase(),
        3 if random.odd(1) => key.replacen('s', "\u{17f}", 1),
        _ if bare => key.to_owned(),
        _ => format!("\"{}\"", escaped(random, key)),
    }
}

/// Any value at all, also some that are none.
pub fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 8 } else { 10 }) {
        0 => random.pick(&["true", "false", "True", "yes"]).to_owned(),
        1 => random.pick(INTEGERS).to_owned(),
        2 => random.pick(FLOATS).to_owned(),
        3 => random.pick(TIMES).to_owned(),
        4..=7 => {
            let text = random.pick(&["", "x", "a.io", "true", "ä", "a\nb", "\u{0}"]);
            string(random, text)
        }
        8 => {
            let items = random.several(3, |random| value(random, depth - 1));
            list(random, &items)
        }
        _ => {
            let pairs = random.several(3, |random| {
                let name = random.pick(&["a", "b", "c.d", "location", "\"q k\"", "a.b"]);
                format!("{name} = {}", value(random, depth - 1))
            });
            inline_table(random, &pairs)
        }
    }
}

const INTEGERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "+7",
    "1_000",
    "0x1F",
    "0o17",
    "0b101",
    "9223372036854775807",
    "9223372036854775808",
    "01",
    "1__0",
    "0X1F",
    "-0",
    "+0x1",
    "0x_1",
    "_1",
];
const FLOATS: &[&str] = &[
    "0.0", "1.5e3", "-1e-2", "inf", "-inf", "nan", "+nan", "1.", ".5", "1e400", "-1e400", "1_0.0_1", "1e1_0",
    "03.14", "1.e1", "0e0", "1e-400",
];
const TIMES: &[&str] = &[
    "1979-05-27T07:32:00Z",
    "1979-05-27 07:32:00-07:00",
    "1979-05-27t07:32:00.999999z",
    "1979-05-27",
    "07:32:00",
    "07:32",
    "1979-05-27T07:32",
    "1979-05-27T07:32Z",
    "1979-02-30",
    "1979-13-01",
    "25:00:00",
    "07:32:60",
    "2000-02-29",
    "1900-02-29",
    "1979-05-27T07:32:00+25:00",
    "0000-01-01",
    "07:32:00.",
];
