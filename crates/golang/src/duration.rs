//! Go's `time.Duration`: `ParseDuration` and `String`, as the kubelet reads and shows cache durations.

use std::fmt;
use std::fmt::Write;

use thiserror::Error;

/// A signed number of nanoseconds, read and shown in Go's notation (`1h30m0s`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(i64);

/// Why a text is not a duration, with Go's messages.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DurationError {
    /// A missing number, or a value beyond 63 bits.
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(String),
    /// A unit other than `ns`, `us`, `µs`, `ms`, `s`, `m`, and `h`.
    #[error("time: unknown unit {} in duration {}", quote(.unit), quote(.text))]
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// The whole text.
        text: String,
    },
}

const SECOND: u64 = 1_000_000_000;
const LIMIT: u64 = 1 << 63;

impl Duration {
    /// Zero. In the response of a credential provider, it means "do not cache".
    pub const ZERO: Self = Self(0);

    /// Creates a duration from a number of nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Returns the duration in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Parses Go's notation: an optional sign, then numbers that each have a unit. A bare `0` needs no unit.
    ///
    /// # Errors
    /// Go's own error messages.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(text.to_owned());
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self::ZERO);
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (whole, after) = split_digits(rest);
            let (fraction, after) = match after.strip_prefix('.') {
                Some(after) => split_digits(after),
                None => ("", after),
            };
            if whole.is_empty() && fraction.is_empty() {
                return Err(invalid());
            }
            let count = leading_int(whole).ok_or_else(invalid)?;
            let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
            let (unit_name, after) = after.split_at(end);
            if unit_name.is_empty() {
                return Err(DurationError::MissingUnit(text.to_owned()));
            }
            let unit = unit_nanos(unit_name).ok_or_else(|| DurationError::UnknownUnit {
                unit: unit_name.to_owned(),
                text: text.to_owned(),
            })?;
            let value = count.checked_mul(unit).filter(|value| *value <= LIMIT).ok_or_else(invalid)?;
            let value = value + fraction_nanos(fraction, unit);
            // In Go, two halves of 2^64 add up to zero, because it checks for overflow only afterwards.
            total = total.wrapping_add(value);
            if value > LIMIT || total > LIMIT {
                return Err(invalid());
            }
            rest = after;
        }
        if negative {
            return Ok(Self(0_i64.wrapping_sub_unsigned(total)));
        }
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_char('-')?;
        }
        let nanos = self.0.unsigned_abs();
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => write_decimal(f, nanos, 1_000, "µs"),
            1_000_000..SECOND => write_decimal(f, nanos, 1_000_000, "ms"),
            _ => {
                let minutes = nanos / (60 * SECOND);
                if minutes >= 60 {
                    write!(f, "{}h", minutes / 60)?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write_decimal(f, nanos % (60 * SECOND), SECOND, "s")
            }
        }
    }
}

/// Writes `value / one` without trailing zeros. `one` is a power of ten.
fn write_decimal(f: &mut fmt::Formatter<'_>, value: u64, one: u64, unit: &str) -> fmt::Result {
    write!(f, "{}", value / one)?;
    let fraction = value % one;
    if fraction > 0 {
        let digits = format!("{:0width$}", fraction, width = one.ilog10() as usize);
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Returns `None` beyond 2^63, which itself is still accepted: it is the size of the most negative duration.
fn leading_int(digits: &str) -> Option<u64> {
    digits.bytes().try_fold(0_u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|value| *value <= LIMIT)
    })
}

/// Returns the digits after the point in nanoseconds. Digits that no longer fit are ignored. Like Go, it uses floating
/// point, so that the last nanosecond is the same.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the same roundings as Go, bounded by one unit"
)]
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let mut value: u64 = 0;
    let mut scale: f64 = 1.0;
    for digit in digits.bytes() {
        let Some(next) = value
            .checked_mul(10)
            .filter(|_| value <= (LIMIT - 1) / 10)
            .and_then(|next| next.checked_add(u64::from(digit - b'0')))
            .filter(|next| *next <= LIMIT)
        else {
            break;
        };
        value = next;
        scale *= 10.0;
    }
    if value == 0 { 0 } else { (value as f64 * (unit as f64 / scale)) as u64 }
}

fn unit_nanos(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return None,
    })
}

/// The `time` package has its own quoting: bytes that are not printable ASCII are shown in hexadecimal.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_and_shows_as_go_does() {
        for (text, nanos, shown) in [
            ("0", 0, "0s"),
            ("-0", 0, "0s"),
            ("5m", 300_000_000_000, "5m0s"),
            ("1h30m", 5_400_000_000_000, "1h30m0s"),
            ("+1.5s", 1_500_000_000, "1.5s"),
            ("-1m", -60_000_000_000, "-1m0s"),
            ("10ns", 10, "10ns"),
            ("12µs", 12_000, "12µs"),
            ("12μs", 12_000, "12µs"),
            ("1.0010ms", 1_001_000, "1.001ms"),
            (".5h", 1_800_000_000_000, "30m0s"),
            ("0.3333333333333333333h", 1_200_000_000_000, "20m0s"),
            ("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s"),
            ("1h1ms", 3_600_001_000_000, "1h0m0.001s"),
        ] {
            let duration = Duration::parse(text).unwrap();
            assert_eq!((duration.as_nanos(), duration.to_string().as_str()), (nanos, shown), "{text}");
        }
    }

    #[test]
    fn refuses_in_the_words_of_go() {
        for (text, expected) in [
            ("", r#"time: invalid duration """#),
            ("-", r#"time: invalid duration "-""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("5x", r#"time: unknown unit "x" in duration "5x""#),
            (".s", r#"time: invalid duration ".s""#),
            (" 5m", r#"time: invalid duration " 5m""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            ("3000000h", r#"time: invalid duration "3000000h""#),
            ("1é", r#"time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9""#),
        ] {
            assert_eq!(Duration::parse(text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(nanos in any::<i64>()) {
            let duration = Duration::from_nanos(nanos);
            prop_assert_eq!(Duration::parse(&duration.to_string()), Ok(duration));
        }
    }
}
