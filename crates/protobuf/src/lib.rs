//! Protocol Buffers on the wire: the fields of a message, without a schema and without copying.
//!
//! Callers read a handful of fields of each message. All other fields, also those of future versions, are skipped.
//! Inlined into its callers, because the plugin reads every Secret of a namespace with it.

/// The bytes are not a valid message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a protobuf message")]
pub struct Malformed;

/// The fields of a message, by number. Those that are numbers come without their value, since none is needed.
#[derive(Debug, Clone)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields of `message`.
    #[must_use]
    pub fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// What has not been read yet; the bytes of a field are what is missing from it afterwards.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    #[inline]
    fn field(&mut self) -> Option<(u64, &'a [u8])> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => self.varint().map(|_| &[][..])?,
            1 => self.take(8).map(|_| &[][..])?,
            2 => {
                let length = self.varint()?;
                self.take(length)?
            }
            5 => self.take(4).map(|_| &[][..])?,
            _ => return None,
        };
        Some((tag >> 3, value))
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, &'a [u8]), Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field().ok_or(Malformed);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// The value of field `number` in `message`; of several the last one counts, and one that is absent is empty.
///
/// # Errors
/// [`Malformed`] if the message is not one.
#[inline]
pub fn last(message: &[u8], number: u64) -> Result<&[u8], Malformed> {
    let mut value = &[][..];
    for field in Fields::of(message) {
        let (found, bytes) = field?;
        if found == number {
            value = bytes;
        }
    }
    Ok(value)
}

/// A value that is text.
///
/// # Errors
/// [`Malformed`] if it is not UTF-8, which the encoding demands of text.
#[inline]
pub fn text(value: &[u8]) -> Result<&str, Malformed> {
    std::str::from_utf8(value).map_err(|_| Malformed)
}

/// Appends field `number` with a value of bytes, text or a message.
pub fn append(message: &mut Vec<u8>, number: u32, value: &[u8]) {
    append_varint(message, u64::from(number) << 3 | 2);
    append_varint(message, value.len() as u64);
    message.extend_from_slice(value);
}

fn append_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    message.push(value.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_message_is_said_to_be_none() {
        // A length and a number without end, a kind of field that there is not, a value that is cut off.
        for broken in
            [&b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"[..], &[0xff; 12], b"\x0b", b"\x12\x05four"]
        {
            assert_eq!(Fields::of(broken).next(), Some(Err(Malformed)), "{broken:?}");
            assert_eq!(last(broken, 2), Err(Malformed), "{broken:?}");
        }
    }

    #[test]
    fn numbers_of_every_width_are_passed_over() {
        // Field 1 is 300, field 2 eight bytes, field 3 four bytes, field 4 text.
        let message = b"\x08\xac\x02\x11\0\0\0\0\0\0\0\0\x1d\0\0\0\0\x22\x02ok";
        let found: Vec<_> = Fields::of(message).collect::<Result<_, _>>().unwrap();
        assert_eq!(found, [(1, &b""[..]), (2, b""), (3, b""), (4, b"ok")]);
    }

    #[test]
    fn of_a_field_that_is_there_twice_the_last_counts() {
        assert_eq!(last(b"\x0a\x01a\x0a\x01b\x12\x01c", 1), Ok(&b"b"[..]));
        assert_eq!(last(b"", 1), Ok(&b""[..]));
    }

    proptest! {
        #[test]
        fn what_is_appended_is_read_back(fields in proptest::collection::vec((1..1u32 << 29, any::<Vec<u8>>()), 0..6)) {
            let mut message = Vec::new();
            for (number, value) in &fields {
                append(&mut message, *number, value);
            }
            let read: Vec<_> = Fields::of(&message).collect::<Result<_, _>>().unwrap();
            let written: Vec<_> = fields.iter().map(|(number, value)| (u64::from(*number), value.as_slice())).collect();
            prop_assert_eq!(read, written);
        }

        #[test]
        fn no_bytes_make_the_reader_fail(bytes in any::<Vec<u8>>()) {
            let _ = (Fields::of(&bytes).count(), last(&bytes, 1));
        }
    }
}
