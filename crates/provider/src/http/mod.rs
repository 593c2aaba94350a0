//! HTTP/1.1 over TLS to one server, blocking, until a deadline: what the plugin's few requests need and no more.
//!
//! A client library costs more than the exchange itself: a thread to look up each name, half a megabyte of buffers, a fifth
//! of the binary. Here one connection is kept for all requests, and everything that a server sends is bounded.

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

/// As much as a TLS record holds.
const BUFFER: usize = 16 << 10;

/// What the other side knows us by.
const USER_AGENT: &str = concat!("crio-credential-provider/", env!("CARGO_PKG_VERSION"), " (pullwright)");

/// A connection, with what has come and is not read yet.
pub(crate) type Connection = BufReader<StreamOwned<ClientConnection, Socket>>;

/// Asks one server, which is known by the certificates of an authority.
pub(crate) struct Client {
    origin: Origin,
    proxy: Option<Proxy>,
    tls: Arc<ClientConfig>,
    /// Kept between requests; none while there is none to be used again.
    kept: RefCell<Option<Connection>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// What the server is called by.
    #[error("{0:?} is not a URL of an API server: use https://HOST[:PORT]")]
    Url(String),
    /// The authority has no certificate.
    #[error("there is no certificate in PEM")]
    NoCertificates,
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(rustls::Error),
    /// Somebody else's certificate.
    #[error(transparent)]
    Certificate(rustls::Error),
    /// A value that would end a line and begin another.
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
    /// No connection, or a broken one.
    #[error(transparent)]
    Io(io::Error),
    /// The connection ended where an answer should be.
    #[error("the connection ended before the answer did")]
    Ended,
    /// Something else than HTTP/1.1.
    #[error("the answer is not HTTP")]
    NotHttp,
    /// More than the limit.
    #[error("the answer is too large")]
    TooLarge,
    /// Time is up.
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

/// Through the traits of [`io`], by which a body is read.
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

/// What a server answered: the head, and a body that is still to come.
pub(crate) struct HttpAnswer<'a> {
    pub(crate) head: Head,
    body: Body<Connection>,
    client: &'a Client,
}

impl HttpAnswer<'_> {
    /// The same, once its body has begun as well.
    fn begun(mut self) -> Result<Self, HttpError> {
        self.body.limit(u64::MAX);
        self.body.fill_buf()?;
        Ok(self)
    }

    /// Reads the body with `read`, which is given no more than `limit` bytes of it.
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

    /// All of the body, which has at most `limit` bytes.
    pub(crate) fn whole(self, limit: u64) -> Result<Vec<u8>, HttpError> {
        self.read(limit, Body::whole)
    }
}

impl Client {
    /// Prepares requests to `server`, which must show a certificate of `authority` (PEM); nothing is sent yet.
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
        // One that is broken is no reason not to know a server by another.
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err(HttpError::NoCertificates);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(HttpError::Tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // There is one connection, and nothing to resume it from.
        tls.resumption = Resumption::disabled();
        let var = |name: &str| std::env::var(name).ok();
        let proxy = if proxy_from_environment { Proxy::choose(var, &origin) } else { None };
        Ok(Self { origin, proxy, tls: Arc::new(tls), kept: RefCell::new(None) })
    }

    /// The answer to a GET of `path`.
    ///
    /// # Errors
    /// If it does not begin until `deadline`; so does what is read of its body fail at the deadline.
    pub(crate) fn get(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
        deadline: Instant,
    ) -> Result<HttpAnswer<'_>, HttpError> {
        let request = self.request(path, headers)?;
        if let Some(connection) = self.kept.take() {
            match self.exchange(connection, &request, deadline).and_then(HttpAnswer::begun) {
                // A server may end a connection between two requests; to ask twice does no harm.
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
        // Before the handshake, which takes it along with its own last words.
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

/// A body that has come, for tests of its readers.
#[cfg(test)]
pub(crate) fn body_of(content: &[u8], limit: u64) -> Body<impl io::BufRead> {
    let head: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
    let mut body = answer::read(io::Read::chain(head, content)).expect("a head").1;
    body.limit(limit);
    body
}
