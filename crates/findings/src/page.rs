//! The catalogue as a page of the documentation, `docs/findings.md`.

use crate::rules::{CATALOGUE, Family, Row};

const HEAD: &str = "\
<!-- Generated from crates/findings/src/rules by `cargo xtask gen`. Do not edit. -->

# Findings

Look up what a finding means and what to do about it. Each finding of `pullwright lint` and of the other commands names its rule in
brackets, as in `warning[registries/unknown-key]`, and in `rule` of the JSON. The names are stable, so you can filter by them.
`pullwright lint --rules` prints the same list.

An **error** means that the program that reads the input refuses it, or that a part of it has no effect. A **warning** means that the
input is accepted, and most likely does not do what its author wants. The message of a finding often has more specific advice than
this page.
";

/// The page, in Markdown.
#[must_use]
pub fn page() -> String {
    CATALOGUE.iter().fold(HEAD.to_owned(), |page, family| page + &section(family))
}

fn section(family: &Family) -> String {
    let Family { name, about, rows } = family;
    let head = format!(
        "\n## {name}\n\nRules about {about}.\n\n| rule | severity | meaning | what to do |\n| --- | --- | --- | --- |\n"
    );
    rows.iter().fold(head, |section, row| section + &line(row))
}

fn line(row: &Row) -> String {
    let Row { rule, meaning, remedy } = row;
    let cells = [
        format!("`{}`", rule.name()),
        rule.severity_in_words().to_owned(),
        cell(meaning),
        cell(&sentence(remedy)),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// An instruction as a sentence.
fn sentence(remedy: &str) -> String {
    let mut letters = remedy.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let end = if remedy.ends_with('?') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// Text outside of code may have characters that Markdown gives a meaning to.
fn cell(text: &str) -> String {
    let mut in_code = false;
    let mut cell = String::with_capacity(text.len());
    for letter in text.chars() {
        in_code ^= letter == '`';
        if letter == '|' || (!in_code && "*_<[".contains(letter)) {
            cell.push('\\');
        }
        cell.push(letter);
    }
    cell
}
