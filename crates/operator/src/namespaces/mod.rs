//! The controller of labelled namespaces: it keeps the Role and the `RoleBinding` with which the plugin reads pull secrets there. It works where
//! the operator may; without that permission it does nothing.

mod plan;
mod run;

pub use plan::{NamespaceFacts, NamespacesPlan, plan};
pub use run::NamespacesController;
