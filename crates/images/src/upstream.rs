//! The connection to containerd: opened when a call needs it, shared by all calls, opened again after containerd
//! restarts.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use crate::body::RequestBody;
use crate::grpc::{Code, Status};
use crate::metrics::Metrics;
use crate::report::{Level, report};

/// The largest response headers, the same as in Go's gRPC client.
pub(crate) const MAX_HEADERS: u32 = 16 << 20;

/// containerd at its socket.
#[derive(Debug)]
pub(crate) struct Upstream {
    socket: PathBuf,
    metrics: Arc<Metrics>,
    current: Mutex<Current>,
}

#[derive(Debug)]
enum Current {
    Never,
    Connected(SendRequest<RequestBody>),
    Lost,
}

/// Why a call got no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// containerd cannot be reached.
    #[error("cannot connect to containerd at {socket:?}: {source}")]
    Connect { socket: PathBuf, source: io::Error },
    /// The connection was lost before the response came, or the call was reset.
    #[error("containerd did not answer: {}", chain(.0))]
    Broken(hyper::Error),
}

impl CallError {
    /// The status for the caller. A call that containerd reset is reset for the caller too, with the same code.
    pub(crate) fn into_status(self) -> Result<Status, hyper::Error> {
        match self {
            Self::Broken(error) if is_reset(&error) => Err(error),
            error => Ok(Status::new(Code::UNAVAILABLE, error.to_string())),
        }
    }
}

impl Upstream {
    pub(crate) fn new(socket: PathBuf, metrics: Arc<Metrics>) -> Self {
        Self { socket, metrics, current: Mutex::new(Current::Never) }
    }

    /// Makes one call. Dropping the future, or the body of the response, cancels it.
    pub(crate) async fn call(
        &self,
        mut request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, CallError> {
        let mut again = true;
        loop {
            let mut sender = self.connection().await?;
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(mut error) => match error.take_message() {
                    // Nothing of it was sent: the connection had ended without our noticing.
                    Some(unsent) if std::mem::take(&mut again) => request = unsent,
                    _ => return Err(CallError::Broken(error.into_error())),
                },
            }
        }
    }

    async fn connection(&self) -> Result<SendRequest<RequestBody>, CallError> {
        // Held while connecting: of a thousand calls after a restart, one connects and the others share the connection.
        let mut current = self.current.lock().await;
        if let Current::Connected(sender) = &*current
            && !sender.is_closed()
        {
            return Ok(sender.clone());
        }
        match connect(&self.socket).await {
            Ok(sender) => {
                report(Level::Info, format_args!("connected to containerd at {}", self.socket.display()));
                self.metrics.connected();
                *current = Current::Connected(sender.clone());
                Ok(sender)
            }
            Err(source) => {
                let error = CallError::Connect { socket: self.socket.clone(), source };
                // Once each time containerd goes away, not for each call meanwhile.
                if !matches!(std::mem::replace(&mut *current, Current::Lost), Current::Lost) {
                    report(
                        Level::Warning,
                        format_args!("{error}; calls are answered Unavailable until it is there"),
                    );
                }
                Err(error)
            }
        }
    }
}

/// Opens a connection to containerd.
pub(crate) async fn connect(socket: &Path) -> io::Result<SendRequest<RequestBody>> {
    let stream = UnixStream::connect(socket).await?;
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .max_header_list_size(MAX_HEADERS)
        .max_local_error_reset_streams(None)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    // The calls report how the connection ends.
    tokio::spawn(async move { drop(connection.await) });
    Ok(sender)
}

/// Whether containerd reset only this call, so that the connection continues.
pub(crate) fn is_reset(error: &hyper::Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<h2::Error>() {
            return error.is_reset();
        }
        source = cause.source();
    }
    false
}

/// An error with its causes, which hyper's own message leaves out.
fn chain(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
