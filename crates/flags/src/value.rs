//! The value of an option, and what options usually take.

use std::ffi::{OsStr, OsString};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The value of an option, as given.
#[derive(Debug)]
pub struct Value(pub(crate) OsString);

/// A value that the option does not take.
#[derive(Debug)]
pub struct Rejected {
    pub(crate) value: OsString,
    pub(crate) expected: &'static str,
}

impl Value {
    /// The value as a path.
    #[must_use]
    pub fn path(self) -> PathBuf {
        self.0.into()
    }

    /// The value as it was given.
    #[must_use]
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }

    /// The value if it parses; else `expected` says what to use instead.
    ///
    /// # Errors
    /// If it does not parse.
    pub fn parse<T: FromStr>(self, expected: &'static str) -> Result<T, Rejected> {
        self.parse_with(expected, |text| text.parse().ok())
    }

    /// A whole number within `range`; else `expected` says what to use instead.
    ///
    /// # Errors
    /// If it is another number, or none.
    pub fn within(self, range: RangeInclusive<u64>, expected: &'static str) -> Result<u64, Rejected> {
        self.parse_with(expected, |text| text.parse().ok().filter(|number| range.contains(number)))
    }

    /// A number of seconds within `range`; else `expected` says what to use instead.
    ///
    /// # Errors
    /// If it is another number, or none.
    pub fn seconds(self, range: RangeInclusive<u64>, expected: &'static str) -> Result<Duration, Rejected> {
        self.within(range, expected).map(Duration::from_secs)
    }

    /// What `parse` makes of the value; else `expected` says what to use instead.
    ///
    /// # Errors
    /// If the value is not UTF-8, or `parse` makes nothing of it.
    pub fn parse_with<T>(
        self,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Rejected> {
        match self.0.to_str().and_then(parse) {
            Some(parsed) => Ok(parsed),
            None => Err(self.reject(expected)),
        }
    }

    /// Refuses the value; `expected` says what to use instead.
    #[must_use]
    pub fn reject(self, expected: &'static str) -> Rejected {
        Rejected { value: self.0, expected }
    }
}
