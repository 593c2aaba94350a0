//! Messages for people: what is wrong, where in a file, and what to do.

mod data;
mod excerpt;
mod shown;
mod visible;

use std::cell::OnceCell;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use pullwright_findings::{DocPath, Finding, Rule, Severity, rules};

pub(crate) use data::MessageData;
pub(crate) use excerpt::Excerpt;
use shown::Shown;
use visible::without_userinfo;
pub(crate) use visible::{Visibility, without_credentials};

use crate::style::{ERROR, FAINT, HELP, STRONG, WARNING, paint, plain};
use pullwright_documents::{DocumentNode, LocatedPath, Locator, Position, Text, Unreadable, extended};

/// A warning or an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) severity: Severity,
    pub(crate) rule: Option<&'static Rule>,
    pub(crate) text: String,
    pub(crate) place: Option<Box<FilePlace>>,
    pub(crate) help: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FilePlace {
    pub(crate) path: String,
    pub(crate) position: Position,
    /// The line, with secrets hidden; `None` if it might show one.
    pub(crate) excerpt: Option<Excerpt>,
}

/// A file that messages point into.
#[derive(Clone, Copy)]
pub(crate) struct File<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a Text,
    pub(crate) visibility: Visibility,
}

impl Message {
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self { severity: Severity::Error, rule: None, text: text.into(), place: None, help: None }
    }

    /// The line and column that it points at.
    pub(crate) fn line_and_column(&self) -> Option<(usize, usize)> {
        self.place.as_ref().map(|place| (place.position.line, place.position.column))
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Writes the message as a few lines.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (style, word) = match self.severity {
            Severity::Error => (ERROR, "error"),
            Severity::Warning => (WARNING, "warning"),
        };
        let rule = self.rule.map(|rule| format!("[{}]", rule.name())).unwrap_or_default();
        writeln!(out, "{}: {}", paint(style, format!("{word}{rule}")), paint(STRONG, plain(&self.text)))?;
        let mut margin = 1;
        if let Some(place) = &self.place {
            let FilePlace { path, position, excerpt } = &**place;
            margin = position.line.to_string().len();
            let arrow = paint(FAINT, format!("{:margin$}-->", ""));
            writeln!(out, "{arrow} {}:{}:{}", plain(path), position.line, position.column)?;
            if let Some(excerpt) = excerpt {
                excerpt.write(position.line, style, out)?;
            }
        }
        if let Some(help) = &self.help {
            let label = format!("{:margin$} {} {} ", "", paint(FAINT, "="), paint(HELP, "help:"));
            let mut lines = help.lines();
            writeln!(out, "{label}{}", plain(lines.next().unwrap_or_default()))?;
            for line in lines {
                writeln!(out, "{:margin$}   {}", "", plain(line))?;
            }
        }
        Ok(())
    }
}

/// A finding in a document that has no text, because it was never written.
impl From<&Finding> for Message {
    fn from(finding: &Finding) -> Self {
        Self {
            severity: finding.severity,
            rule: Some(finding.rule),
            text: without_userinfo(&finding.message),
            place: None,
            help: Some(without_userinfo(finding.remedy())),
        }
    }
}

/// A document in its file. What all messages about it need is computed once, for the first of them.
pub(crate) struct Written<'a> {
    file: File<'a>,
    document: &'a DocumentNode,
    places: Locator<'a>,
    shown: OnceCell<Shown>,
}

impl<'a> File<'a> {
    /// A document of this file that messages can point into.
    pub(crate) fn written(self, document: &'a DocumentNode) -> Written<'a> {
        Written { file: self, document, places: Locator::new(document), shown: OnceCell::new() }
    }

    /// A message that the text is not of its format. Nothing is known about its parts, so only a line that is harmless by itself
    /// is shown.
    pub(crate) fn unreadable(&self, error: &Unreadable) -> Message {
        self.error(error.span.clone(), &error.message)
    }

    /// An error at some bytes of a text that is not of its format.
    pub(crate) fn error(&self, span: Range<usize>, text: &str) -> Message {
        let shown = Shown::line(self, self.text.line_at(span.start));
        self.at(span, shown.as_ref(), text)
    }

    fn at(&self, span: Range<usize>, shown: Option<&Shown>, text: &str) -> Message {
        let place = FilePlace {
            path: self.path.display().to_string(),
            position: self.text.position(span.start),
            excerpt: shown.and_then(|shown| Excerpt::new(self.text, shown, span)),
        };
        Message { place: Some(Box::new(place)), ..Message::error(without_userinfo(text)) }
    }
}

impl Written<'_> {
    /// An error at some bytes of the document.
    pub(crate) fn error(&self, span: Range<usize>, text: &str) -> Message {
        let shown = self.shown.get_or_init(|| Shown::of(&self.file, self.document));
        self.file.at(span, Some(shown), text)
    }

    /// A finding in the document.
    pub(crate) fn finding(&self, finding: &Finding) -> Message {
        let place = self.places.locate(&finding.at);
        let mut message = self.error(self.span_of(finding, &place), &self.text_of(finding, &place));
        message.severity = finding.severity;
        message.rule = Some(finding.rule);
        message.help = Some(without_userinfo(finding.remedy()));
        message
    }

    /// Some rules are about a name and not about its value, and a value of several lines is best shown by its name.
    fn span_of(&self, finding: &Finding, place: &LocatedPath) -> Range<usize> {
        let about_name = [
            &rules::registries::UNKNOWN_KEY,
            &rules::containerd::UNKNOWN_KEY,
            &rules::k3s::UNKNOWN_KEY,
            &rules::secret::KEY,
            &rules::auth_file::KEY,
        ]
        .contains(&finding.rule)
            || finding.message.starts_with("unknown field")
            || finding.message.starts_with("duplicate field");
        let whole = place.found == finding.at.steps().len();
        let lines = self.file.text.spans_lines(&place.value);
        if lines || (about_name && whole) { place.of_name() } else { place.of_value() }
    }

    /// The message of the finding, with the part of its path that cannot be shown in the file.
    fn text_of(&self, finding: &Finding, place: &LocatedPath) -> String {
        let message = &finding.message;
        let path = visible::harmless_path(self.file.visibility, &finding.at, place.found);
        // The kubelet quotes a field that it does not know; a password in the wrong place is such a field.
        if path.steps()[..place.found] != finding.at.steps()[..place.found] {
            let before = message.split('"').next().unwrap_or_default();
            return format!("{before}\"{path}\"");
        }
        // Inside of a text that holds a document of its own, only words can point.
        match &path.steps()[place.found..] {
            inside @ [_, ..] if place.leaf => format!("{}: {message}", extended(DocPath::root(), inside)),
            _ => message.clone(),
        }
    }
}
