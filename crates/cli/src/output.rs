//! An answer as JSON or YAML, for programs.

use std::io::{self, Write};

use serde::Serialize;

use crate::args::Format;

/// Writes a value as JSON or YAML, or calls `text` to write it for people.
pub(crate) fn write<T: Serialize>(
    format: Format,
    value: &T,
    out: &mut dyn Write,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match format {
        Format::Text => text(out),
        Format::Json => {
            serde_json::to_writer_pretty(&mut *out, value)?;
            writeln!(out)
        }
        Format::Yaml => {
            let yaml = serde_saphyr::to_string(value).map_err(io::Error::other)?;
            out.write_all(yaml.as_bytes())
        }
    }
}
