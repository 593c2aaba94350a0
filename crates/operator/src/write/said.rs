//! What was said in Events and is still so: at rest nothing is said twice.

use std::collections::HashSet;

use super::writer::{EventNote, WriteError, Writer};

/// The Events of a controller.
#[derive(Debug, Default)]
pub struct Said(HashSet<String>);

impl Said {
    /// Says what is new among `events`, which is everything there is to say now. What could not be said comes back as errors, and is new
    /// the next time too.
    pub async fn say(&mut self, writer: &Writer, events: Vec<EventNote>) -> Vec<WriteError> {
        let (mut said, mut errors) = (HashSet::new(), Vec::new());
        for event in events {
            let key = event.key();
            if self.0.contains(&key) {
                said.insert(key);
                continue;
            }
            match writer.event(&event).await {
                Ok(()) => {
                    said.insert(key);
                }
                Err(error) => errors.push(error),
            }
        }
        self.0 = said;
        errors
    }
}
