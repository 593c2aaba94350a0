//! The options as people read them: the text of `--help`, and the table in the documentation.

use std::fmt::Write as _;

use crate::Program;

/// Where help texts begin.
const COLUMN: usize = 31;
/// Where lines end.
const WIDTH: usize = 120;

impl<S> Program<S> {
    /// The text of `--help`.
    #[must_use]
    pub fn help(&self) -> String {
        let mut help = self.usage.to_owned();
        for section in self.sections {
            help.push('\n');
            if !section.title.is_empty() {
                help.push_str(section.title);
                help.push('\n');
            }
            for flag in section.flags {
                let option = format!("  {}", flag.shown());
                let lines = wrapped(flag.help, WIDTH - COLUMN);
                if option.len() < COLUMN {
                    let _ = writeln!(help, "{option:COLUMN$}{}", lines.first().map_or("", String::as_str));
                } else {
                    let _ = writeln!(help, "{option}");
                }
                for line in lines.iter().skip(usize::from(option.len() < COLUMN)) {
                    let _ = writeln!(help, "{:COLUMN$}{line}", "");
                }
            }
        }
        help
    }

    /// The options as a table in Markdown, for the documentation.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut table = "| option | environment variable | what it does |\n| --- | --- | --- |\n".to_owned();
        let cell = |text: &str| text.replace('|', "\\|");
        let mut variable = String::new();
        for flag in self.flags() {
            let _ = write!(table, "| `{}` | ", cell(&flag.shown()));
            if flag.in_environment {
                self.write_variable(flag, &mut variable);
                let _ = write!(table, "`{variable}` ");
            }
            let _ = writeln!(table, "| {} |", cell(flag.help));
        }
        table
    }
}

/// The text in lines of at most `width` letters, unless a word is longer.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
