//! The part of Go's `netip.ParseAddr` that a URL needs: is the text between brackets an IPv6 address?

use std::fmt;

use thiserror::Error;

use super::quote::quote_bytes;

/// The family of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Four decimal octets.
    V4,
    /// Hexadecimal groups, possibly with a zone and a trailing dotted quad.
    V6,
}

/// Why a text is not an address, with Go's messages.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct AddrError {
    input: Vec<u8>,
    message: &'static str,
    at: Vec<u8>,
}

impl fmt::Display for AddrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParseAddr({}): {}", quote_bytes(&self.input), self.message)?;
        if !self.at.is_empty() {
            write!(f, " (at {})", quote_bytes(&self.at))?;
        }
        Ok(())
    }
}

/// Returns the family of the address `input`.
///
/// # Errors
/// Go's own error messages.
pub fn parse_addr(input: &[u8]) -> Result<Family, AddrError> {
    let error = |message, at: &[u8]| AddrError { input: input.to_vec(), message, at: at.to_vec() };
    match input.iter().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => parse_v4(input).map_err(|(message, at)| error(message, at)).map(|()| Family::V4),
        Some(b':') => parse_v6(input).map_err(|(message, at)| error(message, at)).map(|()| Family::V6),
        Some(_) => Err(error("missing IPv6 address", &[])),
        None => Err(error("unable to parse IP", &[])),
    }
}

/// What is wrong, and the part of the input where it is.
type Fault<'a> = (&'static str, &'a [u8]);

fn parse_v4(text: &[u8]) -> Result<(), Fault<'_>> {
    let mut octet: u16 = 0;
    let mut digits = 0;
    let mut dots = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && octet == 0 {
                    return Err(("IPv4 field has octet with leading zero", &[]));
                }
                octet = octet * 10 + u16::from(byte - b'0');
                digits += 1;
                if octet > 255 {
                    return Err(("IPv4 field has value >255", &[]));
                }
            }
            b'.' => {
                if at == 0 || at == text.len() - 1 || text[at - 1] == b'.' {
                    return Err(("IPv4 field must have at least one digit", &text[at..]));
                }
                if dots == 3 {
                    return Err(("IPv4 address too long", &[]));
                }
                dots += 1;
                octet = 0;
                digits = 0;
            }
            _ => return Err(("unexpected character", &text[at..])),
        }
    }
    if dots < 3 { Err(("IPv4 address too short", &[])) } else { Ok(()) }
}

const GROUPS: usize = 8;

fn parse_v6(input: &[u8]) -> Result<(), Fault<'_>> {
    let mut rest = match input.iter().position(|byte| *byte == b'%') {
        Some(at) if at + 1 == input.len() => return Err(("zone must be a non-empty string", &[])),
        Some(at) => &input[..at],
        None => input,
    };
    let mut ellipsis = false;
    if let Some(after) = rest.strip_prefix(b"::") {
        ellipsis = true;
        rest = after;
        if rest.is_empty() {
            return Ok(());
        }
    }
    let mut groups = 0;
    while groups < GROUPS {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        match digits {
            0 => return Err(("each colon-separated field must have at least one digit", rest)),
            1..=4 => {}
            _ => return Err(("each group must have 4 or less digits", rest)),
        }
        if rest.get(digits) == Some(&b'.') {
            if !ellipsis && groups != GROUPS - 2 {
                return Err(("embedded IPv4 address must replace the final 2 fields of the address", rest));
            }
            if groups + 2 > GROUPS {
                return Err(("too many hex fields to fit an embedded IPv4 at the end of the address", rest));
            }
            parse_v4(rest)?;
            rest = &[];
            groups += 2;
            break;
        }
        groups += 1;
        rest = &rest[digits..];
        match rest {
            [] => break,
            [b':'] => return Err(("colon must be followed by more characters", rest)),
            [b':', b':', after @ ..] => {
                if ellipsis {
                    return Err(("multiple :: in address", &rest[1..]));
                }
                ellipsis = true;
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            [b':', after @ ..] => rest = after,
            _ => return Err(("unexpected character, want colon", rest)),
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", rest));
    }
    match (groups < GROUPS, ellipsis) {
        (true, false) => Err(("address string too short", &[])),
        (false, true) => Err(("the :: must expand to at least one field of zeros", &[])),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_texts() {
        for text in ["::", "::1", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::"] {
            assert_eq!(parse_addr(text.as_bytes()), Ok(Family::V6), "{text}");
        }
        assert_eq!(parse_addr(b"1.2.3.4"), Ok(Family::V4));
    }

    #[test]
    fn refuses_in_the_words_of_go() {
        for (text, expected) in [
            ("", r#"ParseAddr(""): unable to parse IP"#),
            ("a-z", r#"ParseAddr("a-z"): unable to parse IP"#),
            ("%eth0", r#"ParseAddr("%eth0"): missing IPv6 address"#),
            ("1.2.3", r#"ParseAddr("1.2.3"): IPv4 address too short"#),
            ("1.2.3.", r#"ParseAddr("1.2.3."): IPv4 field must have at least one digit (at ".")"#),
            ("01.2.3.4", r#"ParseAddr("01.2.3.4"): IPv4 field has octet with leading zero"#),
            ("1:", r#"ParseAddr("1:"): colon must be followed by more characters (at ":")"#),
            ("1::2::3", r#"ParseAddr("1::2::3"): multiple :: in address (at ":3")"#),
            ("12345::", r#"ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")"#),
            ("::1%", r#"ParseAddr("::1%"): zone must be a non-empty string"#),
            ("::g", r#"ParseAddr("::g"): each colon-separated field must have at least one digit (at "g")"#),
            (
                "1:2:3:4:5:6:7:8:9",
                r#"ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9")"#,
            ),
            ("1:2", r#"ParseAddr("1:2"): address string too short"#),
        ] {
            assert_eq!(parse_addr(text.as_bytes()).unwrap_err().to_string(), expected);
        }
    }
}
