//! Just enough of HTTP/1.1 for a stand-in: reads requests, writes answers, and keeps connections open.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use pullwright_golang::base64;

const MAX_HEAD: usize = 64 << 10;
const MAX_BODY: usize = 8 << 20;
const MAX_HEADERS: usize = 64;

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    /// The path with its query, as it was sent.
    pub(super) target: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection; `None` if there are no more. `buffer` keeps bytes of the request after it.
    pub(super) fn read(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let (mut request, head) = loop {
            if let Some(parsed) = parse(buffer)? {
                break parsed;
            }
            if buffer.len() > MAX_HEAD {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if !fill(stream, buffer)? {
                return Ok(None);
            }
        };
        let length = request.header("content-length").map_or(Ok(0), str::parse::<usize>);
        let length = length.map_err(io::Error::other)?;
        if length > MAX_BODY {
            return Err(io::ErrorKind::InvalidData.into());
        }
        while buffer.len() < head + length {
            if !fill(stream, buffer)? {
                return Ok(None);
            }
        }
        request.body = buffer[head..head + length].to_vec();
        buffer.drain(..head + length);
        Ok(Some(request))
    }

    /// Returns a header by its lowercase name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns a decoded parameter of the query.
    pub(super) fn parameter(&self, name: &str) -> Option<String> {
        field(self.target.split_once('?')?.1, name)
    }

    /// Returns a decoded field of the form in the body.
    pub(super) fn form(&self, name: &str) -> Option<String> {
        field(std::str::from_utf8(&self.body).ok()?, name)
    }

    /// Returns the user name and password of the request.
    pub(super) fn basic(&self) -> Option<(String, String)> {
        let encoded = self.header("authorization")?.strip_prefix("Basic ")?;
        let pair = String::from_utf8(base64::decode(encoded).ok()?).ok()?;
        let (user, password) = pair.split_once(':')?;
        Some((user.to_owned(), password.to_owned()))
    }

    /// Returns the token of the request.
    pub(super) fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }
}

fn fill(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let mut chunk = [0; 16 << 10];
    let read = stream.read(&mut chunk)?;
    buffer.extend_from_slice(&chunk[..read]);
    Ok(read > 0)
}

/// Parses the head of a request and returns it with its length, once it is complete.
fn parse(buffer: &[u8]) -> io::Result<Option<(Request, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = parsed.parse(buffer).map_err(io::Error::other)? else {
        return Ok(None);
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        headers: parsed
            .headers
            .iter()
            .map(|header| (header.name.to_ascii_lowercase(), text(header.value)))
            .collect(),
        body: Vec::new(),
    };
    Ok(Some((request, length)))
}

fn field(form: &str, name: &str) -> Option<String> {
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    let mut found = pairs.filter(|(key, _)| *key == name);
    found.next().map(|(_, value)| decode(value))
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digits = |rest: &mut std::str::Bytes| {
            let hex = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&hex).ok()?, 16).ok()
        };
        bytes.push(match byte {
            b'%' => digits(&mut rest).unwrap_or(b'?'),
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An answer.
#[derive(Debug, Clone)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Response {
    pub(super) fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub(super) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::new(status, body.to_string()).with("Content-Type", "application/json")
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Reduces the body to the part that a `Range` header requests.
    pub(super) fn part(mut self, range: Option<&str>) -> Self {
        let from = range
            .and_then(|range| range.strip_prefix("bytes="))
            .and_then(|range| range.strip_suffix('-'))
            .and_then(|from| from.parse::<usize>().ok());
        let total = self.body.len();
        match from {
            Some(from) if from >= total => {
                Self::new(416, "").with("Content-Range", format!("bytes */{total}"))
            }
            Some(from) => {
                self.status = 206;
                self.body.drain(..from);
                self.with("Content-Range", format!("bytes {from}-{}/{total}", total - 1))
            }
            None => self,
        }
    }

    /// Returns the head, with this length of the body.
    pub(super) fn head(&self, length: u64) -> String {
        self.head_with(&format!("Content-Length: {length}"))
    }

    fn head_with(&self, measure: &str) -> String {
        let mut head = format!("HTTP/1.1 {} Answer\r\n{measure}\r\n", self.status);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        head
    }

    /// Writes the answer without its length, followed by `more`.
    pub(super) fn write_chunked(&self, stream: &mut impl Write, more: &[u8]) -> io::Result<()> {
        stream.write_all(self.head_with("Transfer-Encoding: chunked").as_bytes())?;
        for chunk in [self.body.as_slice(), more] {
            // An empty chunk would end the body.
            if !chunk.is_empty() {
                write!(stream, "{:x}\r\n", chunk.len())?;
                stream.write_all(chunk)?;
                stream.write_all(b"\r\n")?;
            }
        }
        stream.write_all(b"0\r\n\r\n")?;
        stream.flush()
    }

    /// Writes the answer; only the head if `head_only`.
    pub(super) fn write(&self, stream: &mut impl Write, head_only: bool) -> io::Result<()> {
        stream.write_all(self.head(self.body.len() as u64).as_bytes())?;
        if !head_only {
            stream.write_all(&self.body)?;
        }
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_follow_each_other_on_a_connection() {
        let mut wire: &[u8] = b"POST /token?a=b%2Fc HTTP/1.1\r\nContent-Length: 3\r\nAuthorization: Basic dTpw\r\n\r\nx=+GET / HTTP/1.1\r\n\r\n";
        let mut buffer = Vec::new();
        let first = Request::read(&mut wire, &mut buffer).unwrap().unwrap();
        assert_eq!((first.method.as_str(), first.path()), ("POST", "/token"));
        assert_eq!(first.parameter("a").as_deref(), Some("b/c"));
        assert_eq!(first.form("x").as_deref(), Some(" "));
        assert_eq!(first.basic(), Some(("u".to_owned(), "p".to_owned())));
        let second = Request::read(&mut wire, &mut buffer).unwrap().unwrap();
        assert_eq!((second.method.as_str(), second.path()), ("GET", "/"));
        assert!(Request::read(&mut wire, &mut buffer).unwrap().is_none());
    }

    #[test]
    fn a_part_begins_where_it_is_asked_to() {
        let whole = Response::new(200, "0123456789");
        let part = whole.clone().part(Some("bytes=4-"));
        assert_eq!((part.status, part.body.as_slice()), (206, b"456789".as_slice()));
        assert_eq!(part.headers, [("Content-Range", "bytes 4-9/10".to_owned())]);
        assert_eq!(whole.part(Some("bytes=10-")).status, 416);
    }
}
