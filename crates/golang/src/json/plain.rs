//! Finds the part of a string that needs no special handling. It makes up most of every document, so it is scanned
//! eight bytes at a time.

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);
const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);

/// Returns the number of bytes before the first `"`, `\` or control character.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let (eights, _) = bytes.as_chunks::<8>();
    for (at, eight) in eights.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        let found = below_one(eight ^ QUOTES) | below_one(eight ^ BACKSLASHES) | below(eight, SPACES);
        if found != 0 {
            return at * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let rest = eights.len() * 8;
    let special = bytes[rest..].iter().position(|&byte| matches!(byte, b'"' | b'\\' | 0..b' '));
    rest + special.unwrap_or(bytes.len() - rest)
}

/// Returns the high bit of each byte that is zero. Bytes after the first such byte may be marked wrongly.
fn below_one(eight: u64) -> u64 {
    below(eight, ONES)
}

/// Returns the high bit of each byte that is less than its bound, which is at most 128. Bytes after the first such byte
/// may be marked wrongly.
fn below(eight: u64, bound: u64) -> u64 {
    eight.wrapping_sub(bound) & !eight & HIGH
}

#[cfg(test)]
mod tests {
    use super::plain_length;

    #[test]
    fn the_first_special_byte_is_found_wherever_it_stands() {
        for length in 0..40 {
            let mut text = vec![b'a'; length];
            assert_eq!(plain_length(&text), length);
            for at in 0..length {
                for special in 0..=u8::MAX {
                    text[at] = special;
                    let is_special = matches!(special, b'"' | b'\\' | 0..b' ');
                    assert_eq!(
                        plain_length(&text),
                        if is_special { at } else { length },
                        "{special} at {at}"
                    );
                }
                // Those behind it do not matter, nor do bytes of other scripts before it.
                text[at] = 0xff;
                if let Some(next) = text.get_mut(at + 1) {
                    *next = b'"';
                    assert_eq!(plain_length(&text), at + 1);
                    text[at + 1] = b'a';
                }
                text[at] = b'a';
            }
        }
    }
}
