//! What containerd and K3s make of their files, and what becomes of `registries.conf` there.

mod endpoints;
mod findings;
mod import;
mod k3s;
mod render;
