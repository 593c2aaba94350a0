//! Reading one answer: its head line by line, its body by length, in chunks, or to the end of the connection.

use std::io::{BufRead, Read as _};

use super::HttpError;

/// The most that is read of an answer's head; servers send a few hundred bytes.
const HEAD: u64 = 64 << 10;
/// The most memory that is taken on the server's word, before any of the body has come.
const PROMISED: u64 = 1 << 20;

/// What a server answered.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// `Retry-After`, as sent.
    pub(crate) retry_after: Option<String>,
    /// `Content-Type`, as sent.
    pub(crate) content_type: String,
    /// All of the body.
    pub(crate) body: Vec<u8>,
    /// Whether the next request may go the same way.
    pub(crate) keeps_connection: bool,
}

/// How much body there is.
#[derive(Clone, Copy)]
enum Length {
    Known(u64),
    Chunked,
    UntilEnd,
}

/// Reads an answer to a GET.
pub(super) fn read(from: &mut impl BufRead, limit: u64) -> Result<Answer, HttpError> {
    let (mut answer, length) = loop {
        let head = head(from)?;
        // "I am still here", and the like: the answer comes after it.
        if head.0.status >= 200 {
            break head;
        }
    };
    let body = &mut answer.body;
    match length {
        Length::Known(length) if length > limit => return Err(HttpError::TooLarge),
        Length::Known(length) => take(from, length, body)?,
        Length::Chunked => chunks(from, limit, body)?,
        Length::UntilEnd => {
            from.take(limit + 1).read_to_end(body)?;
            if body.len() as u64 > limit {
                return Err(HttpError::TooLarge);
            }
        }
    }
    Ok(answer)
}

/// Reads an answer that has no body, and gives its status.
pub(super) fn read_head(from: &mut impl BufRead) -> Result<u16, HttpError> {
    head(from).map(|(answer, _)| answer.status)
}

/// The status and what of the headers is needed.
fn head(from: &mut impl BufRead) -> Result<(Answer, Length), HttpError> {
    let mut budget = HEAD;
    let status = line(from, &mut budget)?;
    let (version, rest) = status.split_once(' ').ok_or(HttpError::NotHttp)?;
    let code = rest.get(..3).filter(|_| matches!(version, "HTTP/1.1" | "HTTP/1.0"));
    let status = code.and_then(|code| code.parse().ok()).ok_or(HttpError::NotHttp)?;
    let mut answer = Answer { status, keeps_connection: version == "HTTP/1.1", ..Answer::default() };
    let mut length = Length::UntilEnd;
    loop {
        let line = line(from, &mut budget)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(HttpError::NotHttp)?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" if !matches!(length, Length::Chunked) => {
                length = Length::Known(value.parse().map_err(|_| HttpError::NotHttp)?);
            }
            "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => length = Length::Chunked,
            // A way to write a body that was not asked for.
            "transfer-encoding" | "content-encoding" => return Err(HttpError::NotHttp),
            "content-type" => value.clone_into(&mut answer.content_type),
            "retry-after" => answer.retry_after = Some(value.to_owned()),
            "connection" if value.eq_ignore_ascii_case("close") => answer.keeps_connection = false,
            _ => {}
        }
    }
    if matches!(answer.status, 204 | 304) {
        length = Length::Known(0);
    }
    if matches!(length, Length::UntilEnd) {
        answer.keeps_connection = false;
    }
    Ok((answer, length))
}

/// A line without its end; takes its length off `budget`.
fn line(from: &mut impl BufRead, budget: &mut u64) -> Result<String, HttpError> {
    let mut line = Vec::new();
    from.take(*budget).read_until(b'\n', &mut line)?;
    *budget -= line.len() as u64;
    if line.pop() != Some(b'\n') {
        return Err(if *budget == 0 { HttpError::NotHttp } else { HttpError::Ended });
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| HttpError::NotHttp)
}

/// Appends exactly `length` bytes.
fn take(from: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> Result<(), HttpError> {
    body.reserve(usize::try_from(length.min(PROMISED)).unwrap_or(0));
    let taken = from.take(length).read_to_end(body)?;
    if taken as u64 == length { Ok(()) } else { Err(HttpError::Ended) }
}

fn chunks(from: &mut impl BufRead, limit: u64, body: &mut Vec<u8>) -> Result<(), HttpError> {
    loop {
        let mut budget = HEAD;
        let size = line(from, &mut budget)?;
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| HttpError::NotHttp)?;
        if size == 0 {
            // What may come behind the last chunk is of no use to us.
            while !line(from, &mut budget)?.is_empty() {}
            return Ok(());
        }
        if (body.len() as u64).saturating_add(size) > limit {
            return Err(HttpError::TooLarge);
        }
        take(from, size, body)?;
        if !line(from, &mut budget)?.is_empty() {
            return Err(HttpError::NotHttp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(text: &str) -> Result<Answer, String> {
        read(&mut text.as_bytes(), 10).map_err(|error| error.to_string())
    }

    fn body(text: &str) -> Result<(u16, String, bool), String> {
        let answer = answered(text)?;
        Ok((answer.status, String::from_utf8(answer.body).unwrap(), answer.keeps_connection))
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

    #[test]
    fn the_headers_that_matter_are_kept() {
        let answer =
            answered("HTTP/1.1 429 x\r\nRETRY-AFTER: 2\r\nContent-Type: a/b\r\nContent-Length: 0\r\n\r\n")
                .unwrap();
        assert_eq!((answer.retry_after.as_deref(), answer.content_type.as_str()), (Some("2"), "a/b"));
    }
}
