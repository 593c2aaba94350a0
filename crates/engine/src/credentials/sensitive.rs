//! A value that is never shown. Passwords and tokens pass through the program only in this type.

use std::fmt;

/// A secret value. It has no `Display` and no `Serialize`, its `Debug` reveals nothing, and the only access to the
/// value is a method name that reviewers can search for.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Sensitive<T = String>(T);

impl<T> Sensitive<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value, for the one place that has to send or write it.
    pub const fn expose(&self) -> &T {
        &self.0
    }

    /// Unwraps the value, for the one place that has to send or write it.
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
