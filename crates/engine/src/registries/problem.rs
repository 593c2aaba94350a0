//! Why the loader refuses a file: its own message, the place, and how to fix it.

use std::ops::Range;

use pullwright_findings::{DocPath, Finding, Step, rules};
use pullwright_golang::quote::quote;

/// Why the loader refuses a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ConfError {
    /// The place in the document.
    pub at: DocPath,
    /// The affected bytes, for a text that is not TOML and so has no document paths.
    pub span: Option<Range<usize>>,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a file. Displays as the loader's own message, except for decoding errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Not TOML.
    #[error("{message}")]
    Syntax {
        /// Why the text is not TOML.
        message: String,
        /// How to fix it.
        help: &'static str,
    },
    /// A value of the wrong type.
    #[error("expected {expected}, found {found}")]
    Type {
        /// The type that the field takes.
        expected: &'static str,
        /// The type found.
        found: &'static str,
    },
    /// A number that does not fit into 64 bits, or a date or time that does not exist.
    #[error("{0} is out of range")]
    OutOfRange(String),
    /// The format from before 2018.
    #[error("registries.conf must be in v2 format but is in v1")]
    Version1 {
        /// The same file in the current format.
        converted: String,
    },
    /// `http://` or `https://` before a location.
    #[error("invalid location '{0}': URI schemes are not supported")]
    Scheme(String),
    /// The entry has nothing to match names against.
    #[error("invalid condition: both location and prefix are unset")]
    NeitherLocationNorPrefix,
    /// Only subdomain wildcards may omit the location.
    #[error("invalid condition: location is unset and prefix is not in the format: *.example.com")]
    NoLocation,
    /// The setting is only valid for mirrors.
    #[error("pull-from-mirror must not be set for a non-mirror registry {}", quote(.0))]
    PullFromMirrorOnRegistry(String),
    /// A mirror without a location.
    #[error("invalid condition: mirror location is unset")]
    NoMirrorLocation,
    /// Two settings for the same thing.
    #[error(
        "cannot set mirror usage mirror-by-digest-only for the registry ({}) and pull-from-mirror for \
         per-mirror ({}) at the same time",
        quote(prefix),
        quote(mirror)
    )]
    MirrorUseTwice {
        /// The registry's prefix.
        prefix: String,
        /// The mirror's location.
        mirror: String,
    },
    /// Not `all`, `digest-only` or `tag-only`.
    #[error("unsupported pull-from-mirror value {} for mirror {}", quote(value), quote(mirror))]
    PullFromMirrorValue {
        /// The value found.
        value: String,
        /// The mirror's location.
        mirror: String,
    },
    /// Entries with the same location disagree.
    #[error("registry '{location}' is defined multiple times with conflicting '{setting}' setting")]
    Conflict {
        /// The location. Empty for a wildcard without one.
        location: String,
        /// `insecure` or `blocked`.
        setting: &'static str,
    },
    /// A search registry must be a host, not a path.
    #[error("Invalid unqualified-search-registries entry {}", quote(.0))]
    SearchRegistry(String),
    /// Not `enforcing`, `permissive` or `disabled`.
    #[error("invalid short-name mode: {}", quote(.0))]
    ShortNameMode(String),
    /// A wildcard with a port, path, or digest.
    #[error(
        "Wildcarded prefix should be in the format: *.example.com. Current prefix {} is incorrectly formatted",
        quote(.0)
    )]
    Wildcard(String),
    /// Everything that is wrong with the aliases, one line each.
    #[error("validating short-name aliases: {}", lines(.0))]
    Aliases(Vec<BadAlias>),
}

/// What is wrong with one alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadAlias {
    /// The short name.
    pub name: String,
    /// What is wrong with the name or its target.
    pub problem: String,
}

/// Joins the problems of the aliases, one line each.
pub(super) fn lines(aliases: &[BadAlias]) -> String {
    aliases.iter().map(|alias| alias.problem.as_str()).collect::<Vec<_>>().join("\n")
}

impl Problem {
    /// Returns how to fix it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Version1 { converted } => {
                format!("the [registries.*] lists are no longer read; write instead:\n\n{converted}")
            }
            Self::Scheme(text) => {
                let bare = text.trim_start_matches("https://").trim_start_matches("http://");
                format!("write {}, and insecure = true for plain HTTP", quote(bare))
            }
            Self::NeitherLocationNorPrefix => "add location = \"registry.example.com\"".to_owned(),
            Self::NoLocation => "add a location; it may be the same as the prefix".to_owned(),
            Self::PullFromMirrorOnRegistry(_) => "move it into [[registry.mirror]]".to_owned(),
            Self::NoMirrorLocation => "add a location to this [[registry.mirror]]".to_owned(),
            Self::MirrorUseTwice { .. } => {
                "keep pull-from-mirror and remove mirror-by-digest-only".to_owned()
            }
            Self::PullFromMirrorValue { .. } => "use all, digest-only or tag-only".to_owned(),
            Self::Conflict { setting, .. } => format!("give every entry of this location the same {setting}"),
            Self::SearchRegistry(_) => "name a host, with a port if need be, and no path".to_owned(),
            Self::ShortNameMode(_) => "use enforcing, permissive or disabled".to_owned(),
            Self::Wildcard(_) => "leave out port and path; a wildcard stands for subdomains only".to_owned(),
            Self::OutOfRange(_) => "remove it: nothing in this file takes a number or a time".to_owned(),
            Self::Aliases(_) => {
                "write a name without registry, tag and digest, and what it stands for with its registry: \
                 nginx = \"docker.io/library/nginx\""
                    .to_owned()
            }
            Self::Syntax { help, .. } => (*help).to_owned(),
            // The help depends on the place; see `help_for_type`.
            Self::Type { .. } => return None,
        })
    }
}

impl ConfError {
    /// Returns what to report: one finding, or one for each invalid alias at its own place.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let Problem::Aliases(aliases) = &self.problem else { return vec![Finding::from(self)] };
        let finding = |alias: &BadAlias| {
            let at = DocPath::root().key("aliases").key(&alias.name);
            Finding::from(&refuse(at, Problem::Aliases(vec![alias.clone()])))
        };
        aliases.iter().map(finding).collect()
    }
}

impl From<&ConfError> for Finding {
    fn from(error: &ConfError) -> Self {
        let help = match &error.problem {
            Problem::Type { expected, found } => Some(help_for_type(&error.at, expected, found)),
            problem => problem.help(),
        };
        Self { help, ..Self::new(&rules::registries::REFUSED, error.at.clone(), error.to_string()) }
    }
}

/// Returns what to write instead of a value of the wrong type.
fn help_for_type(at: &DocPath, expected: &str, found: &str) -> String {
    let names =
        at.steps().iter().filter_map(|step| if let Step::Key(name) = step { Some(name) } else { None });
    let names: Vec<_> = names.map(String::as_str).collect();
    let key = names.last().copied().unwrap_or_default().to_ascii_lowercase();
    match (key.as_str(), expected) {
        ("registry", _) => format!("write {}", two_brackets("registry")),
        ("mirror", _) => format!("write {}", two_brackets("registry.mirror")),
        ("aliases", _) => "write [aliases], and below it nginx = \"docker.io/library/nginx\"".to_owned(),
        (_, "a list") => format!("write a list: {key} = [\"registry.example.com\"]"),
        (_, "a string") if ["array", "table"].contains(&found) => "write one text in quotes".to_owned(),
        (_, "a string") => "put the value in quotes".to_owned(),
        (_, "true or false") => "write true or false, without quotes".to_owned(),
        _ => "the lists of the format of before 2018 are no longer read; write [[registry]]".to_owned(),
    }
}

/// Describes an array-of-tables header.
fn two_brackets(name: &str) -> String {
    format!("[[{name}]] with two brackets, once for each, and its settings below")
}

/// Builds the error for a text that is not TOML from `span` on.
pub(super) fn syntax(text: &str, span: Range<usize>, message: &str) -> ConfError {
    let start = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    let line = text.get(start..).unwrap_or_default().trim_start();
    let help = help_for_syntax(message, line);
    let problem = Problem::Syntax { message: message.to_owned(), help };
    ConfError { at: DocPath::root(), span: Some(span), problem }
}

/// Returns how to fix a syntax error, given the parser's message and the line it refers to.
fn help_for_syntax(message: &str, line: &str) -> &'static str {
    const HELP: &[(&str, &str)] = &[
        ("string values must be quoted", "put the value in quotes"),
        ("duplicate key", "remove one of the two"),
        ("invalid basic string", "end the text with the quote that it begins with, on the same line"),
        ("invalid literal string", "end the text with the quote that it begins with, on the same line"),
        ("unclosed array table", "end the header with two brackets: [[registry]]"),
        ("unclosed table", "end the header with its bracket; that of a registry has two: [[registry]]"),
        ("unclosed array", "end the list with ]"),
        ("missing comma", "put a comma between the two"),
        ("extra comma", "remove the comma"),
        ("key, `=` and value", "put the three on one line"),
    ];
    if message.starts_with("duplicate key") {
        // A header with single brackets defines a table, which can exist only once.
        if line.starts_with("[registry.mirror]") {
            return "write [[registry.mirror]] with two brackets, once for each, and its settings below";
        }
        if line.starts_with("[registry") {
            return "write [[registry]] with two brackets, once for each, and its settings below";
        }
    }
    let known = HELP.iter().find(|(begins, _)| message.starts_with(begins));
    known
        .map_or("a line is a header like [[registry]], or key = value with texts in quotes", |(_, help)| help)
}

/// Builds a refusal at a place in the document.
pub(super) fn refuse(at: DocPath, problem: Problem) -> ConfError {
    ConfError { at, span: None, problem }
}
