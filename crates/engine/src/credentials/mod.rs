//! Reads the documents that hold credentials, chooses a credential for each pull source, and writes the auth file in
//! which the runtime finds exactly those credentials.
//!
//! ```text
//! Secret ──► PullSecret (Scope, Credential) ──┐
//!                                             ├──► select ──► Selection ──► AuthFileContent
//! global file ──► AuthFile (runtime lookup) ──┘
//! ```

mod auth_file;
mod credential;
mod document;
mod entry;
mod lint;
mod lookup;
mod pull_secret;
mod scope;
mod scope_index;
mod secret;
mod select;
mod sensitive;
#[cfg(test)]
mod tests;
mod wanted;

pub use auth_file::{AuthFileContent, HelperLeftOut};
pub use credential::{AuthFieldError, Credential, EntryError};
pub use document::{Document, DocumentError, Format, Mismatch};
pub use lookup::{AuthFile, LegacyAuthFile, Lookup, LookupError};
pub use pull_secret::{PullSecret, ScopedCredential};
pub use scope::{Scope, ScopeError};
pub use secret::{Secret, SecretError, SecretName};
pub use select::{Absence, Because, Choice, Selection, Shadowed, select};
pub use sensitive::Sensitive;
pub use wanted::WantedRepositories;
