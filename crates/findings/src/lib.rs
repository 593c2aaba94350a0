//! What to tell a person about a document: which rule of the [catalogue](rules) it breaks, where, and what to do about it.

pub mod page;
pub mod rules;

use std::fmt;

use serde::Serialize;

pub use rules::Rule;

/// How much a [`Finding`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The consumer refuses the document, or the part of it that is meant.
    Error,
    /// The consumer accepts it, and it does not do what its author most likely wants.
    Warning,
}

/// One thing found in a document. Text for people and JSON both come from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The rule; in JSON, its name.
    pub rule: &'static Rule,
    /// Where in the document; the root when the whole document is meant.
    pub at: DocPath,
    /// What is wrong. For a refusal, the words of the program that refuses.
    pub message: String,
    /// What to do in this case, if there is more to say than the rule's own remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Finding {
    /// A finding of a rule, as severe as the rule.
    pub fn new(rule: &'static Rule, at: DocPath, message: impl Into<String>) -> Self {
        Self { severity: rule.severity(), rule, at, message: message.into(), help: None }
    }

    /// The same finding with advice for this case.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same finding as a warning, for a rule whose findings are not all errors.
    #[must_use]
    pub fn as_warning(mut self) -> Self {
        debug_assert!(self.rule.may_be_warning(), "the catalogue has {} as an error", self.rule.name());
        self.severity = Severity::Warning;
        self
    }

    /// What to do about it: the advice for this case, or else the rule's.
    #[must_use]
    pub fn remedy(&self) -> &str {
        match &self.help {
            Some(help) => help,
            None => self.rule.row().map_or("", |row| row.remedy),
        }
    }
}

/// A place in a TOML, JSON or YAML document: `providers[0].matchImages[2]`.
///
/// The engine sees values, not text; whoever has the text turns the path into line and column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct DocPath(Vec<Step>);

/// One step of a [`DocPath`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    /// Into the value of a key.
    Key(String),
    /// Into the n-th item of a list, from 0.
    Index(usize),
}

impl DocPath {
    /// The whole document.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The value of `key` below this place.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.with(Step::Key(key.into()))
    }

    /// The item at `index` below this place.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    /// The steps from the root.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for DocPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if position == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

impl Serialize for DocPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_people_write_it() {
        let path = DocPath::root().key("providers").index(0).key("matchImages").index(2);
        assert_eq!(path.to_string(), "providers[0].matchImages[2]");
        assert_eq!(DocPath::root().to_string(), "");
    }
}
