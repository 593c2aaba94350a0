//! Names of objects, which are also parts of file names, and what to say about those that the API refuses.

pub(crate) use pullwright_api::names::is_object_name as is_valid;

use crate::diagnostic::Message;

/// The message about an invalid name.
pub(crate) fn refused(name: &str) -> Message {
    Message::error(refusal(name)).with_help(HELP)
}

/// The same message without help.
pub(crate) fn refusal(name: &str) -> String {
    format!("{name:?} is not a valid object name")
}

/// What to do.
pub(crate) const HELP: &str =
    "use lower case letters, digits, '-' and '.'; begin and end with a letter or digit";
