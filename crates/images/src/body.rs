//! The bodies that pass through, as a stream or whole. None of them reports its size, because hyper would put it in a
//! header that the other side never sent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::HeaderMap;
use tokio::sync::OwnedSemaphorePermit;

use crate::grpc::{self, Code, Status};
use crate::metrics::CallTimer;

/// The body of a request to containerd.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// The caller's body, passed on as it arrives.
    Stream(Incoming),
    /// A message that we have read.
    Whole(Option<Bytes>),
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Stream(body) => Pin::new(body).poll_frame(cx),
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Stream(body) => body.is_end_stream(),
            Self::Whole(bytes) => bytes.is_none(),
        }
    }
}

/// The body of a response to the caller.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    /// containerd's body, passed on as it arrives.
    Stream {
        body: Incoming,
        /// Measures the call, whose status comes last.
        timer: CallTimer,
        /// A pull counts as running until its whole response is sent.
        _place: Option<OwnedSemaphorePermit>,
    },
    /// A response that we have read.
    Whole { data: Option<Bytes>, trailers: Option<HeaderMap> },
}

impl ResponseBody {
    /// The body of a response that has only headers.
    pub(crate) fn none() -> Self {
        Self::Whole { data: None, trailers: None }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole { data, trailers } => {
                let frame = data.take().map(Frame::data).or_else(|| trailers.take().map(Frame::trailers));
                Poll::Ready(frame.map(Ok))
            }
            Self::Stream { body, timer, .. } => {
                let frame = ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(match frame {
                    Some(Ok(frame)) => {
                        if let Some(code) = frame.trailers_ref().and_then(grpc::code) {
                            timer.end(code);
                        }
                        Some(Ok(frame))
                    }
                    Some(Err(error)) if timer.is_running() => Some(broken_off(error, timer)),
                    // Nothing follows the trailers that report the error.
                    Some(Err(_)) | None => None,
                })
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole { data, trailers } => data.is_none() && trailers.is_none(),
            Self::Stream { body, .. } => body.is_end_stream(),
        }
    }
}

/// What the caller gets when containerd's response breaks off. A reset stream is reset for the caller too. A lost
/// connection becomes `Unavailable`, as it would be without us; hyper would make it an internal error.
fn broken_off(error: hyper::Error, timer: &mut CallTimer) -> Result<Frame<Bytes>, hyper::Error> {
    timer.end(Code::UNAVAILABLE);
    if crate::upstream::is_reset(&error) {
        return Err(error);
    }
    let status = Status::new(Code::UNAVAILABLE, format!("containerd's answer broke off: {error}"));
    Ok(Frame::trailers(status.trailers()))
}
