//! JSON in all its spellings, and JSON that is nearly none.

use std::fmt::Write;

use crate::random::Random;

/// A text as a JSON string, now and then with escapes that need not be there.
pub fn string(random: &mut Random, text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let _ = match c {
            '"' => write!(out, "\\\""),
            '\\' => write!(out, "\\\\"),
            c if u32::from(c) < 0x20 => write!(out, "\\u{:04x}", u32::from(c)),
            '/' if random.one_in(40) => write!(out, "\\/"),
            c if random.one_in(300) => {
                c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04X}"))
            }
            c => write!(out, "{c}"),
        };
    }
    if random.odd(150) {
        out.push_str(random.pick(&["\\ud800", "\\udc00x", "\\x", "\\u12", "\n", "\t", "\u{7f}", "\u{2028}"]));
    }
    out.push('"');
    out
}

/// An object of already written members, in which a member may stand twice.
pub fn object(random: &mut Random, mut members: Vec<(String, String)>) -> String {
    if random.odd(40) && !members.is_empty() {
        let again = members[random.below(members.len())].clone();
        let place = random.below(members.len());
        members.insert(place, again);
    }
    let members: Vec<String> = members
        .into_iter()
        .map(|(name, value)| {
            let name = field(random, &name);
            let colon = random.pick(&[":", ":", ": ", " : ", ":\n\t"]);
            format!("{}{colon}{value}", string(random, &name))
        })
        .collect();
    let (separator, end) = match random.below(30) {
        0 if random.odd(4) => (",", ","),
        1 => (" ,\n", "\n"),
        _ => (",", ""),
    };
    format!("{{{}{end}}}", members.join(separator))
}

/// The name of a field, rarely in other letters: Go's decoders differ in whether they mind.
fn field(random: &mut Random, name: &str) -> String {
    if !random.odd(60) {
        return name.to_owned();
    }
    match random.below(3) {
        0 => name.to_uppercase(),
        1 => name.replacen('s', "\u{17f}", 1),
        _ => name.replacen(['a', 'i'], "A", 1),
    }
}

/// A list of already written items.
#[must_use]
pub fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// Any value at all.
pub fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 7 } else { 9 }) {
        0 => "null".to_owned(),
        1 => random.pick(&["true", "false"]).to_owned(),
        2 | 3 => random
            .pick(&["0", "-1", "1.5", "1e999", "12345678901234567890", "01", "-", "1.", "NaN"])
            .to_owned(),
        4..=6 => {
            let text = random.pick(&["", "x", "a.io", "true", "5m", "ä"]);
            string(random, text)
        }
        7 => list(&random.several(3, |random| value(random, depth - 1))),
        _ => {
            let members = random.several(3, |random| {
                (random.pick(&["a", "b", "auth", "name", ""]).to_owned(), value(random, depth - 1))
            });
            object(random, members)
        }
    }
}
