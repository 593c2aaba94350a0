//! Reads one response: its head, and its body by length, in chunks, or until the connection ends.

use std::io::{self, BufRead, Read};

use super::HttpError;

/// The largest head to read; servers send a few hundred bytes.
const HEAD: u64 = 64 << 10;
/// The most headers in a head; servers send ten or twenty.
const HEADERS: usize = 100;
/// How much memory to reserve for an announced length before any of the body has arrived.
const PROMISED: u64 = 1 << 20;

/// The head of a response.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The status code.
    pub(crate) status: u16,
    /// `Retry-After`, as sent.
    pub(crate) retry_after: Option<String>,
    /// `Content-Type`, as sent.
    pub(crate) content_type: String,
    /// Whether the next request may use the same connection.
    pub(crate) keeps_connection: bool,
}

/// How much of the body is still to come.
#[derive(Debug, Clone, Copy)]
enum Length {
    Known(u64),
    /// This much of the current chunk, and perhaps further chunks.
    Chunk(u64),
    /// A chunk is about to begin.
    NextChunk {
        first: bool,
    },
    UntilEnd,
}

/// The body of a response. It is read as it arrives and never beyond a limit.
pub(crate) struct Body<R> {
    from: R,
    length: Length,
    limit: u64,
}

impl<R: BufRead> Body<R> {
    /// Allows at most `limit` more bytes to be read; more than that is [`HttpError::TooLarge`].
    pub(super) fn limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// How many bytes may still be read.
    pub(crate) fn room(&self) -> u64 {
        self.limit
    }

    /// The connection, if all of the body has been read.
    pub(super) fn into_connection(self) -> Option<R> {
        matches!(self.length, Length::Known(0)).then_some(self.from)
    }

    /// Reads the whole body at once. Does not read a body whose announced length is too large.
    pub(super) fn whole(&mut self) -> Result<Vec<u8>, HttpError> {
        let mut body = Vec::new();
        while let Some(announced) = self.announced()? {
            if announced > self.limit {
                return Err(HttpError::TooLarge);
            }
            body.reserve(usize::try_from(announced.min(PROMISED)).unwrap_or(0));
            let before = body.len();
            body.extend_from_slice(self.fill_buf()?);
            let read = body.len() - before;
            self.consume(read);
            if read == 0 {
                break;
            }
        }
        Ok(body)
    }

    /// The length that is known to follow; `None` at the end.
    fn announced(&mut self) -> Result<Option<u64>, HttpError> {
        if let Length::NextChunk { first } = self.length {
            self.length = next_chunk(&mut self.from, first)?;
        }
        Ok(match self.length {
            Length::Known(0) => None,
            Length::Known(left) | Length::Chunk(left) => Some(left),
            Length::UntilEnd | Length::NextChunk { .. } => Some(0),
        })
    }
}

impl<R: BufRead> BufRead for Body<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let Some(announced) = self.announced()? else { return Ok(&[]) };
        let known = !matches!(self.length, Length::UntilEnd);
        let available = self.from.fill_buf()?;
        if available.is_empty() {
            return if known { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(&[]) };
        }
        if self.limit == 0 {
            return Err(HttpError::TooLarge.into());
        }
        let most = if known { announced.min(self.limit) } else { self.limit };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(&available[..available.len().min(most)])
    }

    fn consume(&mut self, count: usize) {
        self.from.consume(count);
        let count = count as u64;
        self.limit = self.limit.saturating_sub(count);
        self.length = match self.length {
            Length::Known(left) => Length::Known(left.saturating_sub(count)),
            Length::Chunk(left) if left == count => Length::NextChunk { first: false },
            Length::Chunk(left) => Length::Chunk(left.saturating_sub(count)),
            other => other,
        };
    }
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        buffer[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Reads the head of a response to a GET; the body is still to be read.
pub(super) fn read<R: BufRead>(mut from: R) -> Result<(Head, Body<R>), HttpError> {
    loop {
        let (head, length) = head(&mut from)?;
        // An interim response, such as "continue": the actual one follows.
        if head.status >= 200 {
            return Ok((head, Body { from, length, limit: 0 }));
        }
    }
}

/// Reads a response that has no body, and returns its status.
pub(super) fn read_head(from: &mut impl BufRead) -> Result<u16, HttpError> {
    head(from).map(|(head, _)| head.status)
}

/// The status and the headers that we need.
fn head(from: &mut impl BufRead) -> Result<(Head, Length), HttpError> {
    let bytes = head_bytes(from)?;
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let whole = response.parse(&bytes).is_ok_and(|parsed| parsed.is_complete());
    let (Some(version), Some(status), true) = (response.version, response.code, whole) else {
        return Err(HttpError::NotHttp);
    };
    let mut head = Head { status, keeps_connection: version == 1, ..Head::default() };
    let (mut known, mut chunked) = (None, false);
    for header in response.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-length") {
            let length = number(text(header.value)?, 10)?;
            // If there are two lengths, the server and we might each use another one.
            if known.replace(length).is_some_and(|earlier| earlier != length) {
                return Err(HttpError::NotHttp);
            }
        } else if is("transfer-encoding") {
            chunked = text(header.value)?.eq_ignore_ascii_case("chunked");
            if !chunked {
                return Err(HttpError::NotHttp);
            }
        } else if is("content-encoding") {
            // An encoding of the body that we did not ask for.
            return Err(HttpError::NotHttp);
        } else if is("content-type") {
            text(header.value)?.clone_into(&mut head.content_type);
        } else if is("retry-after") {
            head.retry_after = Some(text(header.value)?.to_owned());
        } else if is("connection") && header.value.eq_ignore_ascii_case(b"close") {
            head.keeps_connection = false;
        }
    }
    let length = match known {
        _ if matches!(head.status, 204 | 304) => Length::Known(0),
        _ if chunked => Length::NextChunk { first: true },
        Some(known) => Length::Known(known),
        None => Length::UntilEnd,
    };
    if matches!(length, Length::UntilEnd) {
        head.keeps_connection = false;
    }
    Ok((head, length))
}

/// The bytes of a head, including the empty line at its end.
fn head_bytes(from: &mut impl BufRead) -> Result<Vec<u8>, HttpError> {
    let (mut bytes, mut budget) = (Vec::new(), HEAD);
    loop {
        let begin = bytes.len();
        read_line(from, &mut budget, &mut bytes)?;
        match &bytes[begin..] {
            b"\n" | b"\r\n" => return Ok(bytes),
            // A server that speaks another protocol may wait for us to go on, so stop at the first line.
            first if begin == 0 && !first.starts_with(b"HTTP/1.") => return Err(HttpError::NotHttp),
            _ => {}
        }
    }
}

/// The value of a header.
fn text(value: &[u8]) -> Result<&str, HttpError> {
    str::from_utf8(value).map(str::trim).map_err(|_| HttpError::NotHttp)
}

/// Parses a number that has only digits: Rust's own parser also accepts a sign.
fn number(text: &str, radix: u32) -> Result<u64, HttpError> {
    let digits = text.chars().all(|digit| digit.is_digit(radix));
    u64::from_str_radix(text, radix).ok().filter(|_| digits).ok_or(HttpError::NotHttp)
}

/// Appends a line with its line ending to `bytes`, and subtracts its length from `budget`.
fn read_line(from: &mut impl BufRead, budget: &mut u64, bytes: &mut Vec<u8>) -> Result<(), HttpError> {
    let read = from.take(*budget).read_until(b'\n', bytes)?;
    *budget -= read as u64;
    match bytes.last() {
        Some(b'\n') if read > 0 => Ok(()),
        _ if *budget == 0 => Err(HttpError::NotHttp),
        _ => Err(HttpError::Ended),
    }
}

/// Reads a line without its line ending, and subtracts its length from `budget`.
fn line(from: &mut impl BufRead, budget: &mut u64) -> Result<String, HttpError> {
    let mut line = Vec::new();
    read_line(from, budget, &mut line)?;
    line.pop();
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| HttpError::NotHttp)
}

/// Reads what follows a chunk, or the start of the first one.
fn next_chunk(from: &mut impl BufRead, first: bool) -> Result<Length, HttpError> {
    let mut budget = HEAD;
    if !first && !line(from, &mut budget)?.is_empty() {
        return Err(HttpError::NotHttp);
    }
    let size = line(from, &mut budget)?;
    let size = size.split(';').next().unwrap_or_default().trim();
    let size = number(size, 16)?;
    if size > 0 {
        return Ok(Length::Chunk(size));
    }
    // Ignore the trailers after the last chunk.
    while !line(from, &mut budget)?.is_empty() {}
    Ok(Length::Known(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> Result<(Head, Vec<u8>), String> {
        let (head, mut body) = read(text.as_bytes()).map_err(|error| error.to_string())?;
        body.limit(10);
        let content = body.whole().map_err(|error| error.to_string())?;
        assert!(!head.keeps_connection || body.into_connection().is_some(), "{text:?}");
        Ok((head, content))
    }

    fn body(text: &str) -> Result<(u16, String, bool), String> {
        let (head, body) = answered(text)?;
        Ok((head.status, String::from_utf8(body).unwrap(), head.keeps_connection))
    }

    #[test]
    fn a_body_ends_where_its_length_its_chunks_or_the_connection_say() {
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", (200, "ab", true)),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\nt: x\r\n\r\n",
                (200, "abc", true),
            ),
            ("HTTP/1.1 404 \r\n\r\nabc", (404, "abc", false)),
            ("HTTP/1.0 200 OK\ncontent-length: 1\n\na", (200, "a", false)),
            ("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n", (200, "", false)),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", (204, "", true)),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 99\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
                (200, "", true),
            ),
        ] {
            let (status, body_text, keeps) = body(text).unwrap();
            assert_eq!((status, body_text.as_str(), keeps), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_not_a_whole_answer_is_none() {
        let ended = "the connection ended before the answer did";
        let not_http = "the answer is not HTTP";
        let large = "the answer is too large";
        for (text, why) in [
            ("", ended),
            ("HTTP/1.1 200 OK\r\ncontent-le", ended),
            ("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab", ended),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nab", ended),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n", ended),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n", not_http),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n", not_http),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n", not_http),
            ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", not_http),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", not_http),
            ("HTTP/2 200\r\n\r\n", not_http),
            ("SSH-2.0-OpenSSH\r\n", not_http),
            ("HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n", large),
            ("HTTP/1.1 200 OK\r\n\r\n01234567890", large),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\nghijk\r\n", large),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n", large),
        ] {
            assert_eq!(body(text).unwrap_err(), why, "{text:?}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(100_000));
        assert_eq!(body(&endless).unwrap_err(), not_http, "a head without end");
    }

    /// A reader that understands such a head in another way than the server looks for the next response in the wrong
    /// place.
    #[test]
    fn a_length_is_said_once_and_in_digits() {
        let not_http = Err("the answer is not HTTP".to_owned());
        for length in ["+3", " +3", "0x3", "3,3", "3 3", "", "99999999999999999999"] {
            let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\nabc");
            assert_eq!(body(&text), not_http, "{length:?}");
        }
        for size in ["+3", "-3", "0x3", ""] {
            let text =
                format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{size}\r\nabc\r\n0\r\n\r\n");
            assert_eq!(body(&text), not_http, "{size:?}");
        }
        let twice = |first, second| {
            body(&format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {first}\r\ncontent-length: {second}\r\n\r\nabc"
            ))
        };
        assert_eq!((twice(2, 3), twice(3, 2)), (not_http.clone(), not_http.clone()));
        assert_eq!(twice(3, 3).unwrap().1, "abc");
        assert_eq!(body("HTTP/1.1 +20 OK\r\n\r\n"), not_http);
    }

    #[test]
    fn a_head_has_a_bounded_number_of_headers() {
        let many =
            |count| format!("HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n", "a: b\r\n".repeat(count));
        assert_eq!(body(&many(HEADERS - 1)).unwrap().0, 200);
        assert_eq!(body(&many(HEADERS)).unwrap_err(), "the answer is not HTTP");
    }

    #[test]
    fn the_headers_that_matter_are_kept() {
        let (head, _) =
            answered("HTTP/1.1 429 x\r\nRETRY-AFTER: 2\r\nContent-Type: a/b\r\nContent-Length: 0\r\n\r\n")
                .unwrap();
        assert_eq!((head.retry_after.as_deref(), head.content_type.as_str()), (Some("2"), "a/b"));
    }

    #[test]
    fn a_body_that_is_read_as_it_comes_is_read_up_to_the_limit() {
        for text in [
            "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n0123456789ab",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n0123\r\nff\r\n456789ab",
            "HTTP/1.1 200 OK\r\n\r\n0123456789ab",
        ] {
            let (_, mut body) = read(text.as_bytes()).unwrap();
            body.limit(10);
            let mut ten = [0; 10];
            body.read_exact(&mut ten).unwrap();
            assert_eq!(&ten, b"0123456789", "{text:?}");
            let error = HttpError::from(body.read(&mut ten).unwrap_err());
            assert!(matches!(error, HttpError::TooLarge), "{text:?} {error:?}");
        }
    }
}
