//! The engine's answers beside those of the Go libraries that run on a node, for generated questions.
//!
//! ```text
//! generator ──► case ──► request line ──► Go program ──► answer ─┐
//!                 └────► engine ─────────────────────► answer ──┴──► the same, or a difference
//! ```
//!
//! An [`Operation`](operation::Operation) is one kind of question: how cases are made, how the engine answers,
//! how a case is made smaller. What differs on purpose stands in [`intended`], with its reason.
//!
//! For mirror sets there is no library to agree with: the one that OpenShift uses has known faults. There the engine's file
//! is read by the library that nodes use, and what it then pulls is held against [`mirror_sets::statement`].

pub mod auths;
pub mod bench;
pub mod conf;
pub mod intended;
pub mod json;
pub mod mirror_sets;
pub mod operation;
pub mod operations;
pub mod process;
pub mod providers;
pub mod random;
pub mod run;
pub mod spellings;
pub mod toml;
pub mod vocabulary;
pub mod yaml;
