//! Writing to the API: which writes bring the operator's objects to where they should be, and the one place that carries writes out.

mod objects;
mod said;
mod writer;

pub use objects::{Fingerprint, ObjectWrite, OwnObject, WantedObject, writes};
pub use said::Said;
pub(crate) use writer::shortened;
pub use writer::{EventNote, StatusWrite, WriteError, Writer};
