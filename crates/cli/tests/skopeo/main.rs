//! Mirror sets as a real pull sees them: `pullwright render` makes registries.conf, real `skopeo` pulls with it, and the
//! logs of real registries say who was asked, in which order.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test says no by a panic")]

mod kinds;
mod lab;
mod moves;
mod never;
mod order;
mod registries;
mod specific;
