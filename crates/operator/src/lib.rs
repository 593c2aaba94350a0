//! The operator: it computes what every node should have from the objects of the API, and says on each object what became of it.
//!
//! Each controller has a folder with a pure `plan` and a thin shell that carries it out. So far the crate holds decisions only: who
//! of several replicas writes, and what the kubelets' provider configuration holds.

pub mod leader;
pub mod provider_config;
