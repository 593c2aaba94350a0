//! The parts of gRPC that we need: one message in its frame, a status in headers, a deadline in a header.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

/// The header that says how long a call may take.
pub(crate) const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// The status once more, with details. Clients prefer it to the other two headers.
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// The header of each message: a compression flag and the length.
const FRAME_HEADER: usize = 5;

/// A status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Code(pub(crate) u32);

impl Code {
    pub(crate) const OK: Self = Self(0);
    pub(crate) const CANCELLED: Self = Self(1);
    pub(crate) const UNKNOWN: Self = Self(2);
    pub(crate) const DEADLINE_EXCEEDED: Self = Self(4);
    pub(crate) const RESOURCE_EXHAUSTED: Self = Self(8);
    pub(crate) const FAILED_PRECONDITION: Self = Self(9);
    pub(crate) const UNAVAILABLE: Self = Self(14);
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Status {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Reads the status from `headers`, which are trailers or the headers of a response without a body.
    pub(crate) fn read(headers: &HeaderMap) -> Option<Self> {
        let code = code(headers)?;
        let message = headers.get(MESSAGE).map(|value| decode(value.as_bytes())).unwrap_or_default();
        Some(Self { code, message })
    }

    /// The headers of a response that has only this status.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = self.trailers();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers
    }

    /// The trailers with this status.
    pub(crate) fn trailers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(3);
        self.write(&mut headers);
        headers
    }

    /// Writes this status to `headers`, replacing the one that is there.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        headers.remove(DETAILS);
        headers.insert(STATUS, HeaderValue::from(self.code.0));
        if let Ok(message) = HeaderValue::from_str(&encode(&self.message)) {
            headers.insert(MESSAGE, message);
        }
    }
}

/// The status code in `headers`.
pub(crate) fn code(headers: &HeaderMap) -> Option<Code> {
    let value = headers.get(STATUS)?;
    // Like other clients, treat a value that is not a number as an unknown error.
    Some(value.to_str().ok().and_then(|text| text.parse().ok()).map_or(Code::UNKNOWN, Code))
}

/// The one message of a request; `None` if it is compressed, incomplete or not the only one.
pub(crate) fn message(body: &Bytes) -> Option<Bytes> {
    let (header, _) = body.split_at_checked(FRAME_HEADER)?;
    let [compressed, length @ ..] = <[u8; FRAME_HEADER]>::try_from(header).ok()?;
    let message = body.slice(FRAME_HEADER..);
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
    (compressed == 0 && message.len() == length).then_some(message)
}

/// Puts a message in its frame.
pub(crate) fn frame(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut body = Vec::with_capacity(FRAME_HEADER + message.len());
    body.push(0);
    body.extend_from_slice(&length.to_be_bytes());
    body.extend_from_slice(message);
    body.into()
}

/// How long a call may take; `None` if the header is missing or invalid.
pub(crate) fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(TIMEOUT)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let count: u32 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_hours(count.into()),
        "M" => Duration::from_mins(count.into()),
        "S" => Duration::from_secs(count.into()),
        "m" => Duration::from_millis(count.into()),
        "u" => Duration::from_micros(count.into()),
        "n" => Duration::from_nanos(count.into()),
        _ => return None,
    })
}

/// Formats a time for the header. It has at most eight digits, so longer times use a larger unit.
pub(crate) fn timeout_value(left: Duration) -> HeaderValue {
    let units = [("u", left.as_micros()), ("m", left.as_millis()), ("S", u128::from(left.as_secs()))];
    let (unit, count) =
        units.into_iter().find(|(_, count)| *count < 100_000_000).unwrap_or(("S", 99_999_999));
    HeaderValue::from_str(&format!("{count}{unit}")).unwrap_or(HeaderValue::from_static("99999999S"))
}

/// Percent-encodes a status message for a header: everything but printable ASCII, and `%` itself.
fn encode(message: &str) -> String {
    message.bytes().fold(String::with_capacity(message.len()), |mut text, byte| {
        match byte {
            b'%' => text.push_str("%25"),
            b' '..=b'~' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}

fn decode(value: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, behind @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| behind.get(..2))
            .flatten()
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        if let Some(byte) = escaped {
            bytes.push(byte);
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn timeout_of(text: &'static str) -> Option<Duration> {
        timeout(&HeaderMap::from_iter([(TIMEOUT, HeaderValue::from_static(text))]))
    }

    #[test]
    fn a_deadline_is_read_in_every_unit_and_nothing_else_is() {
        assert_eq!(timeout_of("2H"), Some(Duration::from_hours(2)));
        assert_eq!(timeout_of("3M"), Some(Duration::from_mins(3)));
        assert_eq!(timeout_of("4S"), Some(Duration::from_secs(4)));
        assert_eq!(timeout_of("5m"), Some(Duration::from_millis(5)));
        assert_eq!(timeout_of("119999870u"), None, "nine digits");
        assert_eq!(timeout_of("11999987u"), Some(Duration::from_micros(11_999_987)));
        assert_eq!(timeout_of("7n"), Some(Duration::from_nanos(7)));
        for other in ["", "S", "1", "1s", "-1S", "+1S", "1.5S"] {
            assert_eq!(timeout_of(other), None, "{other}");
        }
    }

    #[test]
    fn only_a_message_that_is_whole_plain_and_alone_is_read() {
        assert_eq!(message(&frame(b"abc")), Some(Bytes::from_static(b"abc")));
        assert_eq!(message(&frame(b"")), Some(Bytes::new()));
        for other in [&b""[..], b"\0\0\0\0", b"\x01\0\0\0\x01a", b"\0\0\0\0\x02a", b"\0\0\0\0\x01ab"] {
            assert_eq!(message(&Bytes::copy_from_slice(other)), None, "{other:?}");
        }
    }

    #[test]
    fn a_status_that_is_written_leaves_nothing_of_the_one_before() {
        let mut headers = Status::new(Code::UNKNOWN, "first").headers();
        headers.insert(DETAILS, HeaderValue::from_static("CAISBWZpcnN0"));
        Status::new(Code::UNAVAILABLE, "second").write(&mut headers);
        assert_eq!(Status::read(&headers), Some(Status::new(Code::UNAVAILABLE, "second")));
        assert!(!headers.contains_key(DETAILS), "a client would believe it first");
    }

    proptest! {
        #[test]
        fn any_message_arrives_as_it_was(text in "\\PC*|[\\x00-\\x7f]*") {
            let status = Status::new(Code::UNKNOWN, text);
            prop_assert_eq!(Status::read(&status.trailers()), Some(status));
        }

        #[test]
        fn a_deadline_that_is_written_is_never_longer_and_hardly_shorter(micros in 1..u64::from(u32::MAX) * 1000) {
            let left = Duration::from_micros(micros);
            let read = timeout(&HeaderMap::from_iter([(TIMEOUT, timeout_value(left))])).unwrap();
            prop_assert!(read <= left && left.abs_diff(read) <= left / 10_000, "{left:?} {read:?}");
        }
    }
}
