//! One row of a table: an object, and what the API server says to it.

use serde_json::Value;

use crate::world::WORLD;

/// What the API server is to say.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Accepted,
    /// Refused, with all of these in the message.
    Refused(&'static [&'static str]),
}

pub(crate) struct Row {
    pub(crate) claim: String,
    pub(crate) object: Value,
    pub(crate) answer: Answer,
}

/// Asks the API server about every row, and tells of all that are wrong at once.
pub(crate) fn check(rows: &[Row]) {
    let wrong: Vec<_> = rows.iter().filter_map(Row::wrong).collect();
    assert!(wrong.is_empty(), "{} of {} rows are wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    println!("{} rows", rows.len());
}

impl Row {
    fn wrong(&self) -> Option<String> {
        let said = WORLD.check(&self.object);
        let right = match (&said, self.answer) {
            (Ok(_), Answer::Accepted) => true,
            (Err(message), Answer::Refused(parts)) => parts.iter().all(|part| message.contains(part)),
            (Ok(_), Answer::Refused(_)) | (Err(_), Answer::Accepted) => false,
        };
        let said = said.err().unwrap_or_else(|| "accepted".to_owned());
        (!right).then(|| format!("{}: is to be {:?}, but: {said}", self.claim, self.answer))
    }
}
