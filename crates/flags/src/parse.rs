//! The command line over the environment.

use std::ffi::OsString;

use lexopt::prelude::*;

use crate::{Action, Flag, Program, Rejected, Value as Given};

/// Why the command line or the environment cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FlagError {
    /// Not an option, or one without its value.
    #[error(transparent)]
    Usage(#[from] lexopt::Error),
    /// A value that the option does not take.
    #[error("{option} does not take {value:?}: {expected}")]
    Value {
        /// The option or the environment variable.
        option: String,
        /// What was given.
        value: OsString,
        /// What to use instead.
        expected: &'static str,
    },
}

impl<S> Program<S> {
    /// Sets what the environment (read with `var`) and the arguments say; the arguments win. An empty variable counts as unset.
    ///
    /// # Errors
    /// An argument that is not an option, or a value that an option does not take.
    pub fn parse(
        &self,
        settings: &mut S,
        arguments: impl IntoIterator<Item = OsString>,
        var: &impl Fn(&str) -> Option<OsString>,
    ) -> Result<(), FlagError> {
        let mut variable = String::new();
        for flag in self.flags().filter(|flag| flag.in_environment) {
            self.write_variable(flag, &mut variable);
            if let Some(value) = var(&variable).filter(|value| !value.is_empty()) {
                flag.set(settings, value).map_err(|rejected| rejected.by(variable.clone()))?;
            }
        }
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            let name = match &argument {
                Short('h') => "help",
                Long(name) => *name,
                Value(word) if (self.word)(settings, word) => continue,
                _ => return Err(argument.unexpected().into()),
            };
            let Some(flag) = self.flags().find(|flag| flag.name == name) else {
                return Err(argument.unexpected().into());
            };
            let set = match flag.action {
                Action::Question(ask) => {
                    ask(settings);
                    return Ok(());
                }
                Action::Value { .. } => flag.set(settings, parser.value()?),
                Action::Switch(set) => {
                    set(settings, true);
                    Ok(())
                }
            };
            set.map_err(|rejected| rejected.by(format!("--{}", flag.name)))?;
        }
        Ok(())
    }
}

impl<S> Flag<S> {
    /// Sets what the option sets, from a text.
    fn set(&self, settings: &mut S, value: OsString) -> Result<(), Rejected> {
        match self.action {
            Action::Value { set, .. } => set(settings, Given(value)),
            // What is neither is refused: some switches say yes to a danger.
            Action::Switch(set) => Given(value)
                .parse_with("use true or false", |text| match text {
                    "true" | "1" | "yes" => Some(true),
                    "false" | "0" | "no" => Some(false),
                    _ => None,
                })
                .map(|on| set(settings, on)),
            Action::Question(_) => Ok(()),
        }
    }
}

impl Rejected {
    fn by(self, option: String) -> FlagError {
        FlagError::Value { option, value: self.value, expected: self.expected }
    }
}
