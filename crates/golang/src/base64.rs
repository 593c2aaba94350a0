//! Go's `encoding/base64`: which texts Go programs accept, and the position they report when they refuse one.
//!
//! Go's decoders are lenient in one way (they skip carriage returns and line feeds) and strict in another (padding is
//! either required or forbidden). The difference decides whether a pull has a credential, so it is reproduced to the
//! byte.

use thiserror::Error;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A text that is not base64, with Go's message. It contains a position and nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
#[error("illegal base64 data at input byte {position}")]
pub struct CorruptInput {
    /// The byte at which Go reports the error.
    pub position: usize,
}

/// Encodes with the standard alphabet and padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    let digit = |group: u32, place: u32| char::from(STANDARD[(group >> (18 - 6 * place) & 0x3f) as usize]);
    let (groups, rest) = bytes.as_chunks::<3>();
    for &[first, second, third] in groups {
        let group = u32::from_be_bytes([0, first, second, third]);
        text.extend([0, 1, 2, 3].map(|place| digit(group, place)));
    }
    match *rest {
        [first] => {
            let group = u32::from_be_bytes([0, first, 0, 0]);
            text.extend([digit(group, 0), digit(group, 1), '=', '=']);
        }
        [first, second] => {
            let group = u32::from_be_bytes([0, first, second, 0]);
            text.extend([digit(group, 0), digit(group, 1), digit(group, 2), '=']);
        }
        _ => {}
    }
    text
}

/// `StdEncoding`: the standard alphabet, padding required.
///
/// # Errors
/// Go's message with Go's position.
pub fn decode(text: &str) -> Result<Vec<u8>, CorruptInput> {
    Decoder { alphabet: &STANDARD_DIGITS, padded: true }.decode(text.as_bytes())
}

/// `RawStdEncoding`: the standard alphabet, padding forbidden.
///
/// # Errors
/// Go's message with Go's position.
pub fn decode_raw(text: &str) -> Result<Vec<u8>, CorruptInput> {
    Decoder { alphabet: &STANDARD_DIGITS, padded: false }.decode(text.as_bytes())
}

/// `RawURLEncoding`: the alphabet used in URLs and JSON Web Tokens, padding forbidden.
///
/// # Errors
/// Go's message with Go's position.
pub fn decode_raw_url(text: &str) -> Result<Vec<u8>, CorruptInput> {
    Decoder { alphabet: &URL_SAFE_DIGITS, padded: false }.decode(text.as_bytes())
}

/// Marks a byte that is not a digit of the alphabet.
const NO_DIGIT: u8 = 0xff;

const STANDARD_DIGITS: [u8; 256] = digits(STANDARD);
const URL_SAFE_DIGITS: [u8; 256] = digits(URL_SAFE);

/// Returns the value of each byte as a digit.
const fn digits(alphabet: &[u8; 64]) -> [u8; 256] {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 64 {
        values[alphabet[value as usize] as usize] = value;
        value += 1;
    }
    values
}

struct Decoder<'a> {
    alphabet: &'a [u8; 256],
    padded: bool,
}

impl Decoder<'_> {
    fn decode(&self, text: &[u8]) -> Result<Vec<u8>, CorruptInput> {
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 3);
        let mut at = 0;
        while at < text.len() {
            if let Some(group) = self.whole(&text[at..]) {
                bytes.extend_from_slice(&group.to_be_bytes()[1..]);
                at += 4;
            } else {
                at = self.quantum(text, at, &mut bytes)?;
            }
        }
        Ok(bytes)
    }

    /// Returns the value of the four digits that `text` starts with. This is the common case.
    fn whole(&self, text: &[u8]) -> Option<u32> {
        let digits = text.first_chunk::<4>()?.map(|byte| self.alphabet[usize::from(byte)]);
        let valid = digits.iter().all(|&digit| digit != NO_DIGIT);
        valid.then(|| digits.iter().fold(0, |group, &digit| group << 6 | u32::from(digit)))
    }

    /// Decodes up to four digits from `at` on, and returns where the next four start.
    fn quantum(&self, text: &[u8], mut at: usize, bytes: &mut Vec<u8>) -> Result<usize, CorruptInput> {
        let corrupt = |position| Err(CorruptInput { position });
        let mut group: u32 = 0;
        let mut count: usize = 0;
        while count < 4 {
            let Some(&byte) = text.get(at) else {
                match count {
                    0 => return Ok(at),
                    1 => return corrupt(at - count),
                    _ if self.padded => return corrupt(at - count),
                    _ => break,
                }
            };
            at += 1;
            let digit = self.alphabet[usize::from(byte)];
            if digit != NO_DIGIT {
                group = group << 6 | u32::from(digit);
                count += 1;
            } else if is_newline(byte) {
            } else if self.padded && byte == b'=' {
                at = padding(text, at, count)?;
                break;
            } else {
                return corrupt(at - 1);
            }
        }
        // Leftover low bits are dropped unchecked, as in Go's lenient mode.
        group <<= 6 * (4 - count);
        bytes.extend_from_slice(&group.to_be_bytes()[1..count.max(1)]);
        Ok(at)
    }
}

/// Checks what follows the first `=` of a group of `count` digits: the rest of the padding, then nothing.
fn padding(text: &[u8], mut at: usize, count: usize) -> Result<usize, CorruptInput> {
    let corrupt = |position| Err(CorruptInput { position });
    if count < 2 {
        return corrupt(at - 1);
    }
    if count == 2 {
        at = skip_newlines(text, at);
        match text.get(at) {
            None => return corrupt(text.len()),
            Some(b'=') => at += 1,
            Some(_) => return corrupt(at - 1),
        }
    }
    at = skip_newlines(text, at);
    if at < text.len() { corrupt(at) } else { Ok(at) }
}

fn skip_newlines(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|&&byte| is_newline(byte)).count()
}

fn is_newline(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(position: usize) -> Result<Vec<u8>, CorruptInput> {
        Err(CorruptInput { position })
    }

    // Every expected value was printed by Go 1.26.
    #[test]
    fn padded_text_is_accepted_and_refused_as_in_go() {
        assert_eq!(decode(""), Ok(vec![]));
        assert_eq!(decode("Zm9vOmJhcg=="), Ok(b"foo:bar".to_vec()));
        assert_eq!(decode("Zm9vOm\nJhcg=\r=\n"), Ok(b"foo:bar".to_vec()));
        assert_eq!(decode("Zm9vOmJhch=="), Ok(b"foo:bar".to_vec()), "left-over bits are not looked at");
        assert_eq!(decode("Zm9vOmJhcg"), at(8));
        assert_eq!(decode("Zm9vOmJhcg="), at(11));
        assert_eq!(decode("Zm9vOmJhcg== "), at(12));
        assert_eq!(decode("Zm9vOmJhcg=A"), at(10));
        assert_eq!(decode("="), at(0));
        assert_eq!(decode("Z==="), at(1));
        assert_eq!(decode("Zm9v Om"), at(4));
        assert_eq!(decode("Zm9-"), at(3));
        assert_eq!(decode("Z\n\nm\n"), at(3), "skipped bytes still count in Go's position");
    }

    #[test]
    fn unpadded_text_is_accepted_and_refused_as_in_go() {
        assert_eq!(decode_raw("Zm9vOmJhcg"), Ok(b"foo:bar".to_vec()));
        assert_eq!(decode_raw("Zm9vOmJhcg=="), at(10));
        assert_eq!(decode_raw("Z"), at(0));
        assert_eq!(decode_raw("pants"), at(4));
        assert_eq!(decode_raw_url("-_8"), Ok(vec![0xfb, 0xff]));
        assert_eq!(decode_raw_url("+/8"), at(0));
        assert_eq!(decode_raw("-_8"), at(0));
    }

    #[test]
    fn an_error_shows_a_position_and_no_content() {
        assert_eq!(decode("s3cret!").unwrap_err().to_string(), "illegal base64 data at input byte 6");
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(decode(&encode(&bytes)), Ok(bytes.clone()));
            prop_assert_eq!(decode_raw(encode(&bytes).trim_end_matches('=')), Ok(bytes));
        }
    }
}
