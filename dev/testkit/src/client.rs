//! Just enough of an HTTP/1.1 client for thousands of requests to kube-apiserver, and for etcd: one connection that is kept.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    path::Path,
    sync::Arc,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, IpAddr, ServerName, pem::PemObject as _},
};
use serde_json::Value;

use crate::{Error, certificates::Identity, error::Doing, process::Place};

const MAX_ANSWER: usize = 64 << 20;
const MAX_HEADERS: usize = 64;

/// A connection to a server on the loopback.
pub(crate) struct Client {
    stream: Box<dyn ReadWrite>,
    /// What was read beyond the last answer.
    buffer: Vec<u8>,
}

trait ReadWrite: Read + Write + Send {}
impl<T: Read + Write + Send> ReadWrite for T {}

/// Who connects, and whom it trusts.
#[derive(Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    pub(crate) fn new(ca: &Path, identity: &Identity) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(ca).map_err(io::Error::other).doing("reading", ca)?;
        roots.add(authority).map_err(io::Error::other).doing("using", ca)?;
        let (certificates, key) = identity.load()?;
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_root_certificates(roots).with_client_auth_cert(certificates, key)
            })
            .map_err(io::Error::other)
            .doing("using", &identity.certificate)?;
        Ok(Self(Arc::new(config)))
    }
}

impl Client {
    /// Connects to a port of a place's loopback.
    pub(crate) fn connect(place: Place, port: u16, tls: Option<&Tls>) -> Result<Self, Error> {
        let open = || -> io::Result<Box<dyn ReadWrite>> {
            let tcp: TcpStream = place.connect(port)?;
            tcp.set_nodelay(true)?;
            let Some(Tls(config)) = tls else { return Ok(Box::new(tcp)) };
            let name = ServerName::from(IpAddr::from(std::net::Ipv4Addr::LOCALHOST));
            let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
            Ok(Box::new(StreamOwned::new(connection, tcp)))
        };
        let stream = open().doing("connecting to", Path::new(&format!("127.0.0.1:{port}")))?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Sends a request with a JSON body, of this content type, and returns the JSON of the answer.
    pub(crate) fn send(
        &mut self,
        (method, path): (&str, &str),
        body: Option<(&str, &Value)>,
    ) -> Result<Value, Error> {
        let request = format!("{method} {path}");
        let (kind, body) =
            body.map_or(("application/json", String::new()), |(kind, body)| (kind, body.to_string()));
        let head = format!(
            "{request} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: pullwright-testkit\r\nAccept: application/json\r\n\
             Content-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let (status, answer) = self.exchange(&(head + &body)).doing("sending", Path::new(&request))?;
        if status >= 300 {
            let answer = String::from_utf8_lossy(&answer).into_owned();
            return Err(Error::Refused { request, status, answer });
        }
        serde_json::from_slice(&answer).map_err(|source| Error::Json { from: request, source })
    }

    fn exchange(&mut self, request: &str) -> io::Result<(u16, Vec<u8>)> {
        self.stream.write_all(request.as_bytes())?;
        self.stream.flush()?;
        let (status, length) = loop {
            if let Some((head, status, length)) = parse_head(&self.buffer)? {
                self.buffer.drain(..head);
                break (status, length);
            }
            self.fill()?;
        };
        let body = match length {
            Some(length) => self.take(length)?,
            None => self.take_chunks()?,
        };
        Ok((status, body))
    }

    fn take_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size =
                httparse::parse_chunk_size(&self.buffer).map_err(|_| io::Error::other("an invalid chunk"))?;
            let httparse::Status::Complete((head, size)) = size else {
                self.fill()?;
                continue;
            };
            self.buffer.drain(..head);
            body.extend(self.take(usize::try_from(size).map_err(io::Error::other)?)?);
            // The line end after the chunk.
            self.take(2)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.fill()?;
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.buffer.len() > MAX_ANSWER {
            return Err(io::Error::other("the answer is too long"));
        }
        let mut chunk = [0; 16 << 10];
        match self.stream.read(&mut chunk)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.buffer.extend_from_slice(&chunk[..read]);
                Ok(())
            }
        }
    }
}

/// Returns the length of the head, the status, and the length of the body: `None` if it comes in chunks.
fn parse_head(bytes: &[u8]) -> io::Result<Option<(usize, u16, Option<usize>)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let parsed = response.parse(bytes).map_err(io::Error::other)?;
    let httparse::Status::Complete(head) = parsed else { return Ok(None) };
    let length = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length = length.map(|header| String::from_utf8_lossy(header.value).parse().map_err(io::Error::other));
    Ok(Some((head, response.code.unwrap_or_default(), length.transpose()?)))
}
