//! `bare-exchange SERVER CA NAMESPACE < token`: the plugin's requests for Secrets and nothing else.
//!
//! The least that any program must do to have them: the same TLS library with the same cryptography, the same questions in
//! the same pages on one connection, HTTP/1.1 by hand, and the answers thrown away. What the plugin takes beyond this is
//! its own.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};

type Failure = Box<dyn Error>;

/// The types of Secrets that the plugin does not ask for.
const OTHER_TYPES: [&str; 7] = [
    "Opaque",
    "kubernetes.io%2Fservice-account-token",
    "kubernetes.io%2Ftls",
    "kubernetes.io%2Fbasic-auth",
    "kubernetes.io%2Fssh-auth",
    "bootstrap.kubernetes.io%2Ftoken",
    "helm.sh%2Frelease.v1",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, ca, namespace] = arguments.as_slice() else {
        eprintln!("usage: bare-exchange https://ADDRESS:PORT CA NAMESPACE < token");
        return ExitCode::from(2);
    };
    match exchange(server, ca, namespace) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bare-exchange: {error}");
            ExitCode::from(1)
        }
    }
}

fn exchange(server: &str, ca: &str, namespace: &str) -> Result<(), Failure> {
    let mut token = String::new();
    std::io::stdin().read_to_string(&mut token)?;
    let address: SocketAddr = server.strip_prefix("https://").ok_or("an https URL is needed")?.parse()?;

    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(ca)? {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut connection = ClientConnection::new(Arc::new(config), ServerName::from(address.ip()))?;
    let mut socket = TcpStream::connect(address)?;
    socket.set_nodelay(true)?;
    let mut stream = Stream::new(&mut connection, &mut socket);

    let selector = OTHER_TYPES.map(|kind| format!("type%21%3D{kind}")).join("%2C");
    let mut next = String::new();
    loop {
        let request = format!(
            "GET /api/v1/namespaces/{namespace}/secrets?fieldSelector={selector}&limit=500{next} HTTP/1.1\r\n\
             Host: {address}\r\nAuthorization: Bearer {}\r\n\
             Accept: application/vnd.kubernetes.protobuf, application/json\r\n\r\n",
            token.trim()
        );
        stream.write_all(request.as_bytes())?;
        let body = answer(&mut stream)?;
        let Some(token) = token_of_next_page(&body) else { return Ok(()) };
        next = format!("&continue={}", std::str::from_utf8(token)?);
    }
}

/// The `continue` of a list. It is a JSON object in base64, stands near the beginning, and has no character that a query would
/// have to escape: that is enough to find it without reading the list.
fn token_of_next_page(body: &[u8]) -> Option<&[u8]> {
    let begins = b"eyJ2IjoibWV0YS5rOHMuaW8v";
    let head = &body[..body.len().min(4096)];
    let from = head.windows(begins.len()).position(|window| window == begins)?;
    let length =
        head[from..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte)).count();
    Some(&head[from..from + length])
}

/// Reads one answer and gives its body.
fn answer(stream: &mut impl Read) -> Result<Vec<u8>, Failure> {
    let mut read = Reader { stream, buffer: vec![0; 16 << 10], left: 0..0 };
    let (mut length, mut chunked) = (0, false);
    let status = read.line()?;
    if !status.starts_with("HTTP/1.1 200 ") {
        return Err(status.into());
    }
    loop {
        let line = read.line()?.to_ascii_lowercase();
        match line.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse()?,
            Some(("transfer-encoding", value)) => chunked = value.trim() == "chunked",
            Some(_) => {}
            None => break,
        }
    }
    let mut body = Vec::new();
    if !chunked {
        read.take(length, &mut body)?;
        return Ok(body);
    }
    loop {
        let size = usize::from_str_radix(&read.line()?, 16)?;
        read.take(size, &mut body)?;
        read.line()?;
        if size == 0 {
            return Ok(body);
        }
    }
}

/// What has come of an answer and is not used yet.
struct Reader<'a, S> {
    stream: &'a mut S,
    buffer: Vec<u8>,
    /// The part of the buffer that is not used yet.
    left: Range<usize>,
}

impl<S: Read> Reader<'_, S> {
    /// Reads more behind what is left, which moves to the beginning.
    fn more(&mut self) -> Result<(), Failure> {
        self.buffer.copy_within(self.left.clone(), 0);
        self.left = 0..self.left.len();
        let read = self.stream.read(&mut self.buffer[self.left.end..])?;
        self.left.end += read;
        if read == 0 { Err("the answer broke off".into()) } else { Ok(()) }
    }

    fn line(&mut self) -> Result<String, Failure> {
        loop {
            let left = &self.buffer[self.left.clone()];
            if let Some(end) = left.windows(2).position(|window| window == b"\r\n") {
                let line = std::str::from_utf8(&left[..end])?.to_owned();
                self.left.start += end + 2;
                return Ok(line);
            }
            self.more()?;
        }
    }

    fn take(&mut self, mut size: usize, into: &mut Vec<u8>) -> Result<(), Failure> {
        while size > 0 {
            if self.left.is_empty() {
                self.more()?;
            }
            let left = &self.buffer[self.left.clone()];
            let taken = &left[..left.len().min(size)];
            into.extend_from_slice(taken);
            size -= taken.len();
            self.left.start += taken.len();
        }
        Ok(())
    }
}
