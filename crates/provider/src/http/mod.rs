//! HTTP/1.1 over TLS to one server, blocking, with a deadline: just what the plugin's few requests need.
//!
//! A client library costs more than the exchange itself: a thread for each name lookup, half a megabyte of buffers, a
//! fifth of the binary. This client keeps one connection for all requests, and limits everything that a server sends.

mod answer;
mod dial;
mod origin;
mod proxy;

use std::cell::RefCell;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::sync::Arc;
use std::time::Instant;

use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

pub(crate) use answer::{Body, Head};
use dial::Socket;
use origin::Origin;
use proxy::Proxy;

/// The size of a TLS record.
const BUFFER: usize = 16 << 10;

/// The name that we send to servers.
const USER_AGENT: &str = concat!("crio-credential-provider/", env!("CARGO_PKG_VERSION"), " (pullwright)");

/// A connection, with the data that has arrived but is not read yet.
pub(crate) type Connection = BufReader<StreamOwned<ClientConnection, Socket>>;

/// A client for one server, which it verifies with the certificates of an authority.
pub(crate) struct Client {
    origin: Origin,
    proxy: Option<Proxy>,
    tls: Arc<ClientConfig>,
    /// The connection kept for the next request; `None` if there is none to reuse.
    kept: RefCell<Option<Connection>>,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The server's URL is not valid.
    #[error("{0:?} is not a URL of an API server: use https://HOST[:PORT]")]
    Url(String),
    /// The authority has no certificate.
    #[error("there is no certificate in PEM")]
    NoCertificates,
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(rustls::Error),
    /// The server's certificate was not accepted.
    #[error(transparent)]
    Certificate(rustls::Error),
    /// A value has a character that is not allowed in a header, such as one that ends the line.
    #[error("{0} has a character that no header can have")]
    Header(&'static str),
    /// The proxy cannot be used, or refuses.
    #[error("the proxy {proxy}: {why}")]
    Proxy {
        /// Its address.
        proxy: String,
        /// The reason.
        why: String,
    },
    /// The connection could not be opened, or broke.
    #[error(transparent)]
    Io(io::Error),
    /// The connection ended before the response did.
    #[error("the connection ended before the answer did")]
    Ended,
    /// The response is not HTTP/1.1.
    #[error("the answer is not HTTP")]
    NotHttp,
    /// The response is larger than the limit.
    #[error("the answer is too large")]
    TooLarge,
    /// The deadline has passed.
    #[error("time is up")]
    Deadline,
}

impl From<io::Error> for HttpError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => return Self::Deadline,
            io::ErrorKind::UnexpectedEof => return Self::Ended,
            _ => {}
        }
        let error = match error.downcast::<Self>() {
            Ok(ours) => return ours,
            Err(error) => error,
        };
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(tls @ rustls::Error::InvalidCertificate(_)) => Self::Certificate(tls.clone()),
            _ => Self::Io(error),
        }
    }
}

/// Converts the error for the traits of [`io`], through which a body is read.
impl From<HttpError> for io::Error {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::Deadline => io::ErrorKind::TimedOut.into(),
            HttpError::Ended => io::ErrorKind::UnexpectedEof.into(),
            HttpError::Io(error) => error,
            error => Self::other(error),
        }
    }
}

/// A server's response: the head, and a body that is still to be read.
pub(crate) struct HttpAnswer<'a> {
    pub(crate) head: Head,
    body: Body<Connection>,
    client: &'a Client,
}

impl HttpAnswer<'_> {
    /// Waits until the body has begun too.
    fn begun(mut self) -> Result<Self, HttpError> {
        self.body.limit(u64::MAX);
        self.body.fill_buf()?;
        Ok(self)
    }

    /// Reads the body with `read`, which gets at most `limit` bytes of it.
    pub(crate) fn read<T, E>(
        mut self,
        limit: u64,
        read: impl FnOnce(&mut Body<Connection>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.body.limit(limit);
        let value = read(&mut self.body)?;
        if self.head.keeps_connection
            && let Some(connection) = self.body.into_connection()
        {
            self.client.kept.replace(Some(connection));
        }
        Ok(value)
    }

    /// Reads the whole body of at most `limit` bytes.
    pub(crate) fn whole(self, limit: u64) -> Result<Vec<u8>, HttpError> {
        self.read(limit, Body::whole)
    }
}

impl Client {
    /// Prepares requests to `server`, which must show a certificate from `authority` (PEM). Sends nothing yet.
    ///
    /// # Errors
    /// If the URL or the authority cannot be used.
    pub(crate) fn new(
        server: &str,
        authority: &[u8],
        proxy_from_environment: bool,
    ) -> Result<Self, HttpError> {
        let origin = Origin::parse(server).ok_or_else(|| HttpError::Url(server.to_owned()))?;
        let mut roots = RootCertStore::empty();
        let certificates = CertificateDer::pem_slice_iter(authority).filter_map(Result::ok);
        // If one certificate is broken, the others can still verify the server.
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err(HttpError::NoCertificates);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(HttpError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // There is only one connection, so there is no session to resume.
        tls.resumption = Resumption::disabled();
        let var = |name: &str| std::env::var(name).ok();
        let proxy = if proxy_from_environment { Proxy::choose(var, &origin) } else { None };
        Ok(Self { origin, proxy, tls: Arc::new(tls), kept: RefCell::new(None) })
    }

    /// Sends a GET request for `path` and returns the response.
    ///
    /// # Errors
    /// If the response does not begin before `deadline`. Reading its body also fails at the deadline.
    pub(crate) fn get(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
        deadline: Instant,
    ) -> Result<HttpAnswer<'_>, HttpError> {
        let request = self.request(path, headers)?;
        if let Some(connection) = self.kept.take() {
            match self.exchange(connection, &request, deadline).and_then(HttpAnswer::begun) {
                // A server may close a connection between two requests; asking again does no harm.
                Err(HttpError::Ended | HttpError::Io(_)) => {}
                result => return result,
            }
        }
        let socket = match &self.proxy {
            None => Socket::connect(&self.origin, deadline)?,
            Some(proxy) => proxy.tunnel(&self.origin, deadline)?,
        };
        let connection = ClientConnection::new(Arc::clone(&self.tls), self.origin.server_name()?)
            .map_err(HttpError::Tls)?;
        let connection = BufReader::with_capacity(BUFFER, StreamOwned::new(connection, socket));
        self.exchange(connection, &request, deadline)
    }

    fn exchange(
        &self,
        mut connection: Connection,
        request: &[u8],
        deadline: Instant,
    ) -> Result<HttpAnswer<'_>, HttpError> {
        let stream = connection.get_mut();
        stream.sock.deadline = deadline;
        // Before the handshake, which then sends the request along with its last message.
        stream.conn.writer().write_all(request)?;
        stream.flush()?;
        let (head, body) = answer::read(connection)?;
        Ok(HttpAnswer { head, body, client: self })
    }

    fn request(&self, path: &str, headers: &[(&'static str, &str)]) -> Result<Vec<u8>, HttpError> {
        let origin = &self.origin;
        let target = format!("{}{path}", origin.prefix);
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(HttpError::Header("the path"));
        }
        let mut request = format!("GET {target} HTTP/1.1\r\nHost: {origin}\r\nUser-Agent: {USER_AGENT}\r\n");
        for (name, value) in headers {
            if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
                return Err(HttpError::Header(name));
            }
            request += &format!("{name}: {value}\r\n");
        }
        request += "\r\n";
        Ok(request.into_bytes())
    }
}

/// A body that has arrived, for tests of its readers.
#[cfg(test)]
pub(crate) fn body_of(content: &[u8], limit: u64) -> Body<impl io::BufRead> {
    let head: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
    let mut body = answer::read(io::Read::chain(head, content)).expect("a head").1;
    body.limit(limit);
    body
}
