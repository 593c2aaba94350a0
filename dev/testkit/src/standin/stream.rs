//! A connection, with or without TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::certificates::Identity;
use crate::{Error, error::Doing as _};

/// Returns the TLS configuration of a server with this identity.
pub(super) fn tls(identity: &Identity) -> Result<Arc<ServerConfig>, Error> {
    let (certificates, key) = identity.load()?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(io::Error::other)
        .doing("using", &identity.certificate)?;
    Ok(Arc::new(config))
}

/// A connection, with or without TLS.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    pub(super) fn new(tcp: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Option<Self> {
        Some(match tls {
            None => Self::Plain(tcp),
            Some(config) => {
                let connection = ServerConnection::new(Arc::clone(config)).ok()?;
                Self::Tls(Box::new(StreamOwned::new(connection, tcp)))
            }
        })
    }

    /// Closes the connection without the closing message that TLS requires.
    pub(super) fn cut(&self) {
        let tcp = match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(stream) => &stream.sock,
        };
        // This fails if the client is already gone.
        let _ = tcp.shutdown(Shutdown::Both);
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
