//! A value that is never shown: the one way in which passwords and tokens travel through the program.

use std::fmt;

/// Something secret. It has no `Display` and no `Serialize`, its `Debug` says nothing about it, and the only
/// way to the value is a word that a reviewer can search for.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Sensitive<T = String>(T);

impl<T> Sensitive<T> {
    /// Takes `value` out of sight.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value, for the one place that has to send or write it.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// Gives the value up, for the one place that has to send or write it.
    pub fn into_exposed(self) -> T {
        self.0
    }
}

impl From<&str> for Sensitive {
    fn from(value: &str) -> Self {
        Self(value.to_owned())
    }
}

impl<T> fmt::Debug for Sensitive<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_says_nothing_about_the_value() {
        assert_eq!(format!("{:?}", Sensitive::from("hunter2")), format!("{:?}", Sensitive::from("")));
    }
}
