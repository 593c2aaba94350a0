//! The catalogue of rules: complete, without leftovers, and the same in the documentation.

#![expect(clippy::unwrap_used, reason = "a test says no by a panic")]

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use pullwright_findings::page::page;
use pullwright_findings::rules::{CATALOGUE, rows};
use pullwright_findings::{DocPath, Finding, Severity, rules};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_committed_page_is_that_of_the_catalogue() {
    let committed = fs::read_to_string(repository().join("docs/findings.md")).unwrap();
    assert!(committed == page(), "docs/findings.md is out of date: run `cargo xtask gen`");
}

#[test]
fn no_two_rules_have_one_name() {
    let mut seen = HashSet::new();
    for family in CATALOGUE {
        for row in family.rows {
            let name = row.rule.name();
            assert!(seen.insert(name), "{name} is in the catalogue twice");
            assert_eq!(name.split_once('/').map(|(family, _)| family), Some(family.name), "{name}");
        }
    }
    let mut files: Vec<_> = fs::read_dir(repository().join("crates/findings/src/rules"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().replace('_', "-"))
        .filter(|name| name != "mod")
        .collect();
    files.sort();
    let mut families: Vec<_> = CATALOGUE.iter().map(|family| family.name.to_owned()).collect();
    families.sort();
    assert_eq!(families, files, "a family has a file, and a file is in the catalogue");
}

#[test]
fn every_rule_says_what_it_means_and_what_to_do() {
    for row in rows() {
        let name = row.rule.name();
        assert!(row.meaning.ends_with('.'), "{name}: the meaning is a sentence");
        assert!(!row.remedy.is_empty() && !row.remedy.ends_with('.'), "{name}: the remedy is an instruction");
        assert_eq!(row.rule.row().map(|found| found.meaning), Some(row.meaning), "{name}");
    }
}

#[test]
fn nothing_is_in_the_catalogue_that_no_code_uses() {
    let mut sources = String::new();
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        let krate = entry.unwrap().path();
        if !krate.ends_with("findings") {
            collect(&krate.join("src"), &mut sources);
        }
    }
    let unused = rows().filter(|row| {
        let path = row.rule.name().replace('-', "_");
        let (family, rule) = path.split_once('/').unwrap();
        !is_used(&sources, &format!("rules::{family}::{}", rule.to_uppercase()))
    });
    let unused: Vec<_> = unused.map(|row| row.rule.name()).collect();
    assert_eq!(unused, [""; 0], "remove these rows, or use their rules");
}

/// Whether the code names this static, and not only one whose name begins with it.
fn is_used(sources: &str, path: &str) -> bool {
    let continues = |rest: &str| rest.starts_with(|c: char| c == '_' || c.is_ascii_alphanumeric());
    sources.match_indices(path).any(|(at, _)| !continues(&sources[at + path.len()..]))
}

/// The code below a folder, without its tests.
fn collect(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            collect(&path, sources);
        } else if path.extension().is_some_and(|ext| ext == "rs") && !path.ends_with("tests.rs") {
            sources.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn a_finding_takes_severity_and_advice_from_its_rule() {
    let at = DocPath::root().key("registry");
    let finding = Finding::new(&rules::registries::UNKNOWN_KEY, at.clone(), "unknown key \"x\" is ignored");
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.remedy(), "correct the spelling, or remove the key");
    assert_eq!(finding.with_help("did you mean \"y\"?").remedy(), "did you mean \"y\"?");
    let finding = Finding::new(&rules::containerd::WILDCARD, at, "");
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(finding.as_warning().severity, Severity::Warning);
}
