//! `pullwright lint --rules`: every rule that a finding can name.

use std::io::{self, Write};

use pullwright_findings::rules::{CATALOGUE, Row, rows};

use crate::args::Format;
use crate::output;
use crate::style::{FAINT, STRONG, paint};

/// Prints the catalogue.
pub(super) fn write(format: Format, out: &mut dyn Write) -> io::Result<()> {
    output::write(format, &rows().collect::<Vec<_>>(), out, text)
}

fn text(out: &mut dyn Write) -> io::Result<()> {
    for (index, family) in CATALOGUE.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{} {}", paint(STRONG, family.name), paint(FAINT, format!("({})", family.about)))?;
        for Row { rule, meaning, remedy } in family.rows {
            writeln!(out, "  {} ({})", paint(STRONG, rule.name()), rule.severity_in_words())?;
            writeln!(out, "    {meaning}\n    help: {remedy}")?;
        }
    }
    Ok(())
}
