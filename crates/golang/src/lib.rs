//! Small pieces of Go's standard library whose exact behaviour our peers show to users: quoting, URL
//! parsing, globs, durations, base64, JSON; and of its most used TOML decoder.

pub mod base64;
pub mod duration;
pub mod glob;
pub mod json;
pub mod marshal;
pub mod netip;
pub mod quote;
pub mod toml;
pub mod url;
