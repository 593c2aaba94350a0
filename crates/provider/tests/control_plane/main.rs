//! The plugin with a real API server, and its auth file with the library that CRI-O pulls with: real `skopeo`, through a
//! mirror, from a real registry.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test says no by a panic")]

mod manifests;
mod pulls;
mod refusals;
mod team;
mod world;
