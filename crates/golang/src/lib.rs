//! Parts of Go's standard library whose exact behaviour is visible to users of the programs that this project imitates:
//! quoting, URL parsing, globs, durations, base64, and JSON. Also Go's most used TOML decoder.

pub mod base64;
pub mod duration;
pub mod glob;
pub mod json;
pub mod marshal;
pub mod netip;
pub mod quote;
pub mod toml;
pub mod url;
