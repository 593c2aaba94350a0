//! The options of a program as one table. A row holds everything about an option: its name, its value, its help text and what
//! it sets. Parsing, the environment, `--help` and the table in the documentation come from the rows, so a new option is one new
//! row.
//!
//! For programs that start often or must stay small; the command line for people uses clap.
//!
//! ```
//! use pullwright_flags::{Flag, Program, Section};
//!
//! #[derive(Default)]
//! struct Settings { port: u16, verbose: bool }
//!
//! const PROGRAM: Program<Settings> = Program {
//!     env_prefix: "EXAMPLE_",
//!     usage: "example: an example.\n",
//!     word: |_, _| false,
//!     sections: &[Section { title: "", flags: &[
//!         Flag::value("port", "PORT", "where to listen", |settings, value| {
//!             settings.port = value.parse("use a port")?;
//!             Ok(())
//!         }),
//!         Flag::switch("verbose", "say more", |settings, on| settings.verbose = on),
//!     ] }],
//! };
//!
//! let mut settings = Settings::default();
//! let var = |name: &str| (name == "EXAMPLE_PORT").then(|| "81".into());
//! PROGRAM.parse(&mut settings, ["--verbose".into()], &var).unwrap();
//! assert_eq!((settings.port, settings.verbose), (81, true));
//! ```

mod help;
mod parse;
mod value;

pub use parse::FlagError;
pub use value::{Rejected, Value};

use std::ffi::OsStr;

/// A program's command line. `S` is what its options set.
pub struct Program<S: 'static> {
    /// What the environment variables of the options begin with: `EXAMPLE_`.
    pub env_prefix: &'static str,
    /// What `--help` says before the options.
    pub usage: &'static str,
    /// Takes an argument that is not an option, such as a sub-command; `false` if it is none.
    pub word: fn(&mut S, &OsStr) -> bool,
    /// The options, in the order of the help.
    pub sections: &'static [Section<S>],
}

/// Options that belong together.
pub struct Section<S: 'static> {
    /// The line above them; empty for none.
    pub title: &'static str,
    /// The options.
    pub flags: &'static [Flag<S>],
}

/// One option.
pub struct Flag<S> {
    /// Without the dashes: `auth-dir`.
    pub name: &'static str,
    /// One paragraph for `--help` and the documentation.
    pub help: &'static str,
    action: Action<S>,
    in_environment: bool,
}

/// What an option does.
enum Action<S> {
    /// Sets something to a value.
    Value { name: &'static str, set: fn(&mut S, Value) -> Result<(), Rejected> },
    /// Switches something on; the environment can also switch it off.
    Switch(fn(&mut S, bool)),
    /// Asks the program about itself. Arguments after it are not read.
    Question(fn(&mut S)),
}

impl<S> Flag<S> {
    /// An option with a value, which the help calls `value_name`.
    #[must_use]
    pub const fn value(
        name: &'static str,
        value_name: &'static str,
        help: &'static str,
        set: fn(&mut S, Value) -> Result<(), Rejected>,
    ) -> Self {
        Self { name, help, action: Action::Value { name: value_name, set }, in_environment: true }
    }

    /// An option without a value.
    #[must_use]
    pub const fn switch(name: &'static str, help: &'static str, set: fn(&mut S, bool)) -> Self {
        Self { name, help, action: Action::Switch(set), in_environment: true }
    }

    /// An option that asks the program about itself, such as `--help`. Arguments after it are not read.
    #[must_use]
    pub const fn question(name: &'static str, help: &'static str, set: fn(&mut S)) -> Self {
        Self { name, help, action: Action::Question(set), in_environment: false }
    }

    /// The same option, on the command line only.
    #[must_use]
    pub const fn not_in_environment(self) -> Self {
        Self { in_environment: false, ..self }
    }

    /// The option as the help shows it: `--auth-dir DIR`.
    fn shown(&self) -> String {
        match &self.action {
            Action::Value { name, .. } => format!("--{} {name}", self.name),
            Action::Switch(_) | Action::Question(_) => format!("--{}", self.name),
        }
    }
}

impl<S> Program<S> {
    /// All options.
    pub fn flags(&self) -> impl Iterator<Item = &'static Flag<S>> {
        self.sections.iter().flat_map(|section| section.flags)
    }

    /// Writes the environment variable of `flag` to `variable`. The caller keeps the text for the next flag.
    fn write_variable(&self, flag: &Flag<S>, variable: &mut String) {
        variable.clear();
        variable.push_str(self.env_prefix);
        let letter = |letter: u8| if letter == b'-' { '_' } else { char::from(letter.to_ascii_uppercase()) };
        variable.extend(flag.name.bytes().map(letter));
    }
}

#[cfg(test)]
mod tests;
