//! Small pieces of Go's standard library whose exact behaviour our peers show to users.

pub mod quote;
