//! Go's `filepath.Match` on Unix, used to match `matchImages` globs against one label of a host name at a time.
//!
//! It works on bytes, as Go does, because a host name may contain bytes that are not UTF-8 after unescaping.

use thiserror::Error;

/// A malformed pattern, such as one with an unclosed character class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// Returns whether `pattern` matches the whole of `name`. `*` and `?` do not match `/`.
///
/// # Errors
/// [`BadPattern`], but only if matching reaches the malformed part: Go stops at the first part that does not match.
pub fn matches(mut pattern: &[u8], mut name: &[u8]) -> Result<bool, BadPattern> {
    while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains(&b'/'));
        }
        let last = pattern.is_empty();
        let Some(remaining) = place_chunk(chunk, name, star, last)? else {
            return Ok(false);
        };
        name = remaining;
    }
    Ok(name.is_empty())
}

/// Returns the rest of `name` after `chunk`, at the first position where it fits. The last chunk must also reach the
/// end of the name.
fn place_chunk<'n>(
    chunk: &[u8],
    name: &'n [u8],
    star: bool,
    last: bool,
) -> Result<Option<&'n [u8]>, BadPattern> {
    let fits = |rest: &[u8]| rest.is_empty() || !last;
    if let Some(rest) = match_chunk(chunk, name)?.filter(|rest| fits(rest)) {
        return Ok(Some(rest));
    }
    if star {
        for skipped in 0..name.len() {
            if name[skipped] == b'/' {
                break;
            }
            if let Some(rest) = match_chunk(chunk, &name[skipped + 1..])?.filter(|rest| fits(rest)) {
                return Ok(Some(rest));
            }
        }
    }
    Ok(None)
}

/// Splits off the leading stars and the text up to the next star outside a character class.
fn next_chunk(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|byte| **byte == b'*').count();
    let pattern = &pattern[stars..];
    let mut in_class = false;
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    let (chunk, rest) = pattern.split_at(at.min(pattern.len()));
    (stars > 0, chunk, rest)
}

/// Returns the rest of `name` after a chunk of literals, classes, and `?`, or `None` if it does not match.
///
/// The chunk is read to its end even after a mismatch, so that a malformed chunk is an error either way.
fn match_chunk<'n>(mut chunk: &[u8], mut name: &'n [u8]) -> Result<Option<&'n [u8]>, BadPattern> {
    let mut failed = false;
    while let Some((&first, after)) = chunk.split_first() {
        failed |= name.is_empty();
        match first {
            b'[' => {
                let (letter, width) = if failed { (0, 0) } else { decode_rune(name) };
                name = &name[width..];
                let (matched, rest) = match_class(after, letter)?;
                failed |= !matched;
                chunk = rest;
            }
            b'?' => {
                if !failed {
                    failed = name[0] == b'/';
                    name = &name[decode_rune(name).1..];
                }
                chunk = after;
            }
            _ => {
                let (&literal, rest) =
                    if first == b'\\' { after.split_first().ok_or(BadPattern)? } else { (&first, after) };
                if !failed {
                    failed = literal != name[0];
                    name = &name[1..];
                }
                chunk = rest;
            }
        }
    }
    Ok((!failed).then_some(name))
}

/// Reads a character class after its `[`. Returns whether `letter` is in it, and what follows its `]`.
fn match_class(mut chunk: &[u8], letter: u32) -> Result<(bool, &[u8]), BadPattern> {
    let negated = chunk.first() == Some(&b'^');
    if negated {
        chunk = &chunk[1..];
    }
    let mut found = false;
    let mut ranges = 0;
    loop {
        if ranges > 0 && chunk.first() == Some(&b']') {
            return Ok((found != negated, &chunk[1..]));
        }
        let (low, rest) = class_letter(chunk)?;
        let (high, rest) = if rest.first() == Some(&b'-') { class_letter(&rest[1..])? } else { (low, rest) };
        chunk = rest;
        found |= (low..=high).contains(&letter);
        ranges += 1;
    }
}

/// Reads one character of a class, which may be escaped. Something must follow it.
fn class_letter(chunk: &[u8]) -> Result<(u32, &[u8]), BadPattern> {
    let chunk = match chunk.first() {
        None | Some(b'-' | b']') => return Err(BadPattern),
        Some(b'\\') => &chunk[1..],
        Some(_) => chunk,
    };
    if chunk.is_empty() {
        return Err(BadPattern);
    }
    let (letter, width) = decode_rune(chunk);
    let rest = &chunk[width..];
    if (letter == RUNE_ERROR && width == 1) || rest.is_empty() {
        return Err(BadPattern);
    }
    Ok((letter, rest))
}

const RUNE_ERROR: u32 = 0xfffd;

/// Returns the first character of `bytes`, which must not be empty, and its width. An invalid byte counts as one
/// character.
fn decode_rune(bytes: &[u8]) -> (u32, usize) {
    let first = &bytes[..bytes.len().min(4)];
    match first.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()) {
        Some(letter) => (u32::from(letter), letter.len_utf8()),
        None => (RUNE_ERROR, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_classes_and_escapes_match_as_in_go() {
        for (pattern, name, expected) in [
            ("abc", "abc", Ok(true)),
            ("*", "abc", Ok(true)),
            ("*c", "abc", Ok(true)),
            ("a*", "a", Ok(true)),
            ("a*", "ab/c", Ok(false)),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", Ok(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Ok(true)),
            ("a*b?c*x", "abxbbxdbxebxczzy", Ok(false)),
            ("ab[c]", "abc", Ok(true)),
            ("ab[b-d]", "abc", Ok(true)),
            ("ab[^e-g]", "abc", Ok(true)),
            ("ab[^b-d]", "abc", Ok(false)),
            ("a\\*b", "a*b", Ok(true)),
            ("a\\*b", "ab", Ok(false)),
            ("a[^a]b", "a☺b", Ok(true)),
            ("a???b", "a☺b", Ok(false)),
            ("[\\-x]", "-", Ok(true)),
            ("a?b", "a/b", Ok(false)),
            ("*x", "xxx", Ok(true)),
            ("", "", Ok(true)),
            ("", "a", Ok(false)),
            ("[]a]", "]", Err(BadPattern)),
            ("[-]", "-", Err(BadPattern)),
            ("[x-]", "x", Err(BadPattern)),
            ("[a-b-c]", "a", Err(BadPattern)),
            ("[", "a", Err(BadPattern)),
            ("[^bc", "a", Err(BadPattern)),
            ("a[", "ab", Err(BadPattern)),
            ("a\\", "a", Err(BadPattern)),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} against {name}");
        }
    }

    #[test]
    fn a_malformed_tail_behind_a_mismatch_is_never_reached() {
        assert_eq!(matches(b"b*[", b"a"), Ok(false));
    }
}
