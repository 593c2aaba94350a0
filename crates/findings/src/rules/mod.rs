//! The catalogue: every rule that a finding can be made from, one row each.
//!
//! A new rule is one row in the file of its family, and the code that uses it. A row names its static and the rule; the compiler
//! checks that the two agree, so no family can have two rules of one name. A test fails for a row that nothing uses.

pub mod auth_file;
pub mod containerd;
pub mod import;
pub mod k3s;
pub mod kubelet;
pub mod manifests;
pub mod migrate;
pub mod mirrors;
pub mod registries;
pub mod registry_sources;
pub mod secret;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::Severity;

/// All rules, by family, in the order of the documentation.
pub static CATALOGUE: [&Family; 11] = [
    &registries::FAMILY,
    &containerd::FAMILY,
    &k3s::FAMILY,
    &mirrors::FAMILY,
    &registry_sources::FAMILY,
    &manifests::FAMILY,
    &secret::FAMILY,
    &auth_file::FAMILY,
    &kubelet::FAMILY,
    &import::FAMILY,
    &migrate::FAMILY,
];

/// What identifies a kind of finding. Only the catalogue can make one.
///
/// The explanation is kept apart, in [`Row`], so that a program that reports findings by name does not carry the texts.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    name: &'static str,
    severity: Severity,
    may_be_warning: bool,
}

/// A rule with its explanation.
#[derive(Debug)]
pub struct Row {
    /// The rule.
    pub rule: &'static Rule,
    /// One sentence that says what the rule reports.
    pub meaning: &'static str,
    /// What to do about it in general, as an instruction without a full stop.
    pub remedy: &'static str,
}

/// The rules about one kind of input.
#[derive(Debug)]
pub struct Family {
    /// The part of the rules' names before the slash.
    pub name: &'static str,
    /// What the rules are about.
    pub about: &'static str,
    /// The rules.
    pub rows: &'static [Row],
}

impl Rule {
    /// The stable name, for filters and documentation: `registries/unknown-key`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How much a finding of this rule matters, unless it is one of those that [may be a warning](Self::may_be_warning).
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// Whether a finding of this rule is an error in some cases and a warning in others.
    #[must_use]
    pub fn may_be_warning(&self) -> bool {
        self.may_be_warning
    }

    /// The rule's row in the catalogue. Every rule has one.
    #[must_use]
    pub fn row(&self) -> Option<&'static Row> {
        rows().find(|row| row.rule == self)
    }

    /// The severity in words: `error`, `warning`, or `error or warning`.
    #[must_use]
    pub fn severity_in_words(&self) -> &'static str {
        match self.severity {
            Severity::Error if self.may_be_warning => "error or warning",
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 4)?;
        row.serialize_field("rule", self.rule)?;
        row.serialize_field("severity", self.rule.severity_in_words())?;
        row.serialize_field("meaning", self.meaning)?;
        row.serialize_field("help", self.remedy)?;
        row.end()
    }
}

/// All rows of the catalogue.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    CATALOGUE.iter().flat_map(|family| family.rows)
}

/// Whether `constant` is `name` in capitals.
const fn is_named(constant: &str, name: &str) -> bool {
    let (constant, name) = (constant.as_bytes(), name.as_bytes());
    if constant.len() != name.len() {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        let expected = if name[at] == b'-' { b'_' } else { name[at].to_ascii_uppercase() };
        if constant[at] != expected {
            return false;
        }
        at += 1;
    }
    true
}

/// Defines the rules of a family. A row: the static, the rule's name, its severity (`error`, `warning` or `error_or_warning`), what it
/// means, and what to do about it.
macro_rules! family {
    ($family:literal, $about:literal; $($constant:ident $name:literal $severity:ident $meaning:literal $remedy:literal)+) => {
        $(
            #[doc = $meaning]
            pub static $constant: $crate::Rule = $crate::rules::family!(@rule concat!($family, "/", $name), $severity);
            const _: () = assert!($crate::rules::is_named(stringify!($constant), $name), "the static has another name than its rule");
        )+
        /// The rules with their explanations.
        pub static FAMILY: $crate::rules::Family = $crate::rules::Family {
            name: $family,
            about: $about,
            rows: &[$($crate::rules::Row { rule: &$constant, meaning: $meaning, remedy: $remedy }),+],
        };
    };
    (@rule $name:expr, error) => {
        $crate::rules::Rule { name: $name, severity: $crate::Severity::Error, may_be_warning: false }
    };
    (@rule $name:expr, error_or_warning) => {
        $crate::rules::Rule { name: $name, severity: $crate::Severity::Error, may_be_warning: true }
    };
    (@rule $name:expr, warning) => {
        $crate::rules::Rule { name: $name, severity: $crate::Severity::Warning, may_be_warning: false }
    };
}
use family;
