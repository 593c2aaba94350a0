//! YAML as people write manifests, with the words that YAML 1.1 takes for something else.

use crate::random::Random;

/// A document: a block of names and values. Always a good one: about what is no YAML, and about tags, anchors and times, no
/// two YAML libraries agree.
pub fn document(random: &mut Random) -> String {
    map(random, 0, 3)
}

fn map(random: &mut Random, indent: usize, depth: usize) -> String {
    let names =
        ["kind", "name", "apiVersion", "matchImages", "providers", "x-y", "\"q k\"", "'s'", "1", "a.b/c"];
    let from = random.below(names.len());
    let count = 1 + random.below(3);
    // Names that are there twice are refused by one and not by the other, and told by neither at this level.
    let names = names.iter().cycle().skip(from).take(count);
    names
        .map(|name| {
            let value = value(random, indent, depth);
            let note = if random.one_in(30) { "# note\n" } else { "" };
            format!("{note}{:indent$}{name}:{value}\n", "")
        })
        .collect()
}

fn value(random: &mut Random, indent: usize, depth: usize) -> String {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0..=3 => format!(" {}", scalar(random)),
        4 => format!(" {}", flow(random, 2)),
        5 | 6 => format!("\n{}", map(random, indent + 2, depth - 1).trim_end()),
        7 => {
            let dash = indent + 2 * random.below(2);
            let items: Vec<String> =
                (0..=random.below(2)).map(|_| format!("{:dash$}- {}", "", scalar(random))).collect();
            format!("\n{}", items.join("\n"))
        }
        _ => block(random, indent),
    }
}

fn block(random: &mut Random, indent: usize) -> String {
    let style = random.pick(&["|", ">", "|-", ">-", "|+"]);
    format!(" {style}\n{:inner$}first\n{:inner$}second", "", "", inner = indent + 2)
}

fn flow(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.one_in(2) {
        return scalar(random);
    }
    let items = random.several(3, |random| flow(random, depth - 1));
    if random.one_in(2) {
        return format!("[{}]", items.join(", "));
    }
    let named: Vec<String> = items.iter().enumerate().map(|(at, item)| format!("k{at}: {item}")).collect();
    format!("{{{}}}", named.join(", "))
}

fn scalar(random: &mut Random) -> String {
    match random.below(6) {
        0 => random
            .pick(&["'it''s'", "\"a\\nb\"", "\"\\u00e4\\x41\"", "'yes'", "\"1\"", "''", "\"\""])
            .to_owned(),
        1 => random.pick(WORDS).to_owned(),
        2 => random.pick(NUMBERS).to_owned(),
        _ => random
            .pick(&["docker.io", "5m", "a b", "*.io", "kubelet.config.k8s.io/v1", "a-b", "x#y", "ä"])
            .to_owned(),
    }
}

const WORDS: &[&str] = &[
    "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "y", "Y", "false", "no", "No", "off", "OFF",
    "n", "N", "null", "Null", "NULL", "~", "", "tRue", "nULL", "yES",
];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "+1",
    "017",
    "0o17",
    "0x1F",
    "0b101",
    "1_000",
    "1e3",
    "1.5",
    ".5",
    "-.5",
    "1.",
    "08",
    "09",
    "1e",
    "0x",
    "-0x1",
    "+0b1",
    "1_",
    "_1",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "-9223372036854775808",
    "99999999999999999999",
    "1.0",
    "1e400",
    "-0",
    "0.0",
    "1:30",
    "12e03",
    "0o8",
    "1__0",
    "0_7",
    "1.5_0",
    "+.5",
    "1E5",
    "-017",
    "0b2",
    "+",
    ".",
    "1e-3",
    "0x_1",
    "123456789012345678",
];
