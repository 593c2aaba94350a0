//! The verdict on each object, for people and for programs.

use std::io::{self, Write};

use pullwright_engine::mirrors::ObjectOutcome;
use pullwright_findings::Severity;
use serde::Serialize;

use crate::diagnostic::{Message, MessageData};
use crate::inputs::mirror_sets::Judgement;
use crate::style::{BAD, FAINT, GOOD, WARNING, paint, plain};

/// One object's verdict as data.
#[derive(Serialize)]
pub(crate) struct VerdictData<'a> {
    kind: &'static str,
    name: &'a str,
    file: String,
    line: usize,
    outcome: ObjectOutcome,
    findings: Vec<MessageData<'a>>,
}

pub(crate) fn data<'a>(verdicts: &'a [Judgement<'_>]) -> Vec<VerdictData<'a>> {
    let data = |judged: &'a Judgement<'_>| VerdictData {
        kind: judged.object.name.kind,
        name: &judged.object.name.name,
        file: judged.object.file.path.display().to_string(),
        line: judged.object.line,
        outcome: judged.outcome,
        findings: judged.messages.iter().map(MessageData::from).collect(),
    };
    verdicts.iter().map(data).collect()
}

/// The findings, then a line for each object.
pub(crate) fn text(verdicts: &[Judgement<'_>], out: &mut dyn Write) -> io::Result<()> {
    for message in verdicts.iter().flat_map(|judged| &judged.messages) {
        message.write(out)?;
        writeln!(out)?;
    }
    for judged in verdicts {
        let (style, mark, word) = match judged.outcome {
            ObjectOutcome::Applied if judged.messages.is_empty() => (GOOD, "✓", "applied"),
            ObjectOutcome::Applied => (WARNING, "!", "applied"),
            ObjectOutcome::Partly => (BAD, "✗", "partly applied"),
            ObjectOutcome::Rejected => (BAD, "✗", "rejected"),
        };
        let name = plain(&judged.object.name.to_string());
        let place = plain(&format!("({}:{})", judged.object.file.path.display(), judged.object.line));
        writeln!(out, "{} {name} {} {}", paint(style, mark), paint(style, word), paint(FAINT, place))?;
    }
    Ok(())
}

/// Whether any message is an error.
pub(crate) fn any_error<'m>(messages: impl IntoIterator<Item = &'m Message>) -> bool {
    messages.into_iter().any(|message| message.severity == Severity::Error)
}
