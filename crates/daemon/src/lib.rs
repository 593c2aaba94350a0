//! What the programs in Pods have in common: JSON logs, `/healthz`, `/readyz` and `/metrics`, and the way to the API server.

mod connect;
mod health;
mod log;
mod watch;

pub use connect::{ConnectError, connect, message};
pub use health::{Health, serve};
pub use log::{LogLevel, log};
pub use watch::{client_error, watch_message};
