//! The JSON grammar, as Go checks it before it decodes anything.

use super::plain::plain_length;
use super::{SyntaxError, is_space};

const MAX_DEPTH: usize = 10_000;

/// Checks that `text` is one value and nothing else.
pub(super) fn check(text: &[u8]) -> Result<(), SyntaxError> {
    let mut checker = Checker { text, at: 0 };
    checker.value()?;
    checker.space();
    if checker.at < text.len() { Err(checker.wrong()) } else { Ok(()) }
}

/// Scans a text with its own stack, so that deep nesting uses memory and not the thread's stack.
struct Checker<'a> {
    text: &'a [u8],
    at: usize,
}

impl Checker<'_> {
    fn value(&mut self) -> Result<(), SyntaxError> {
        let mut closers: Vec<u8> = Vec::new();
        loop {
            self.space();
            match self.peek()? {
                opener @ (b'{' | b'[') => {
                    self.at += 1;
                    closers.push(if opener == b'{' { b'}' } else { b']' });
                    if closers.len() > MAX_DEPTH {
                        return Err(SyntaxError::Depth);
                    }
                    self.space();
                    if Some(&self.peek()?) != closers.last() {
                        if opener == b'{' {
                            self.name()?;
                        }
                        continue;
                    }
                }
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                _ => return Err(self.wrong()),
            }
            // A value is complete. Close everything that ends here, then continue after a comma.
            loop {
                let Some(&closer) = closers.last() else {
                    return Ok(());
                };
                self.space();
                match self.peek()? {
                    b',' => {
                        self.at += 1;
                        if closer == b'}' {
                            self.name()?;
                        }
                        break;
                    }
                    byte if byte == closer => {
                        self.at += 1;
                        closers.pop();
                    }
                    _ => return Err(self.wrong()),
                }
            }
        }
    }

    fn name(&mut self) -> Result<(), SyntaxError> {
        self.space();
        self.peek()?;
        self.string()?;
        self.space();
        self.expect(|byte| byte == b':')
    }

    fn string(&mut self) -> Result<(), SyntaxError> {
        self.expect(|byte| byte == b'"')?;
        loop {
            self.at += plain_length(&self.text[self.at..]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    let digits = if self.text.get(self.at) == Some(&b'u') { 4 } else { 0 };
                    self.inside(|byte| b"\"\\/bfnrtu".contains(&byte))?;
                    for _ in 0..digits {
                        self.inside(|byte| byte.is_ascii_hexdigit())?;
                    }
                }
                _ => return Err(self.wrong()),
            }
        }
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        self.skip_if(|byte| byte == b'-');
        if !self.skip_if(|byte| byte == b'0') {
            self.digits()?;
        }
        if self.skip_if(|byte| byte == b'.') {
            self.digits()?;
        }
        if self.skip_if(|byte| matches!(byte, b'e' | b'E')) {
            self.skip_if(|byte| matches!(byte, b'+' | b'-'));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        self.inside(|byte| byte.is_ascii_digit())?;
        while self.skip_if(|byte| byte.is_ascii_digit()) {}
        Ok(())
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), SyntaxError> {
        word.iter().try_for_each(|&letter| self.inside(|byte| byte == letter))
    }

    fn space(&mut self) {
        while self.skip_if(is_space) {}
    }

    fn peek(&self) -> Result<u8, SyntaxError> {
        self.text.get(self.at).copied().ok_or(SyntaxError::Truncated)
    }

    fn expect(&mut self, wanted: impl Fn(u8) -> bool) -> Result<(), SyntaxError> {
        self.peek()?;
        if self.skip_if(wanted) { Ok(()) } else { Err(self.wrong()) }
    }

    /// Like [`Self::expect`], but inside a number, a word, or an escape, where Go treats the end of the text as a space
    /// and so as a wrong character.
    fn inside(&mut self, wanted: impl Fn(u8) -> bool) -> Result<(), SyntaxError> {
        if self.skip_if(wanted) { Ok(()) } else { Err(self.wrong()) }
    }

    fn skip_if(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        let found = self.text.get(self.at).is_some_and(|&byte| wanted(byte));
        self.at += usize::from(found);
        found
    }

    fn wrong(&self) -> SyntaxError {
        let before = &self.text[..self.at];
        let line = before.split(|&byte| byte == b'\n').count();
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        SyntaxError::Character { line, column }
    }
}
