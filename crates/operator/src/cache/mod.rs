//! Copies of the API's objects in memory, kept up to date by watches. Every replica keeps them, so that whoever becomes the leader can act
//! at once.

mod kept;
mod watch;

pub use kept::{Kept, ObjectKey};
pub use watch::{Cache, CacheState, Trim};
