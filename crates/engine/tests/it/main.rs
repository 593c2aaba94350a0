//! What holds for the engine as a whole.

mod dependencies;
