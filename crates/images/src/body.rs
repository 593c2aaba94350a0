//! The bodies that pass: as they come, or whole. None tells its size, for hyper would say it in a header that the other
//! side never sent.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::HeaderMap;
use tokio::sync::OwnedSemaphorePermit;

use crate::grpc::{self, Code, Status};
use crate::metrics::CallTimer;

/// What is sent to containerd.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// The caller's, as it comes.
    Stream(Incoming),
    /// A message that was read.
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

/// What is answered to the caller.
#[derive(Debug)]
pub(crate) enum ResponseBody {
    /// containerd's, as it comes.
    Stream {
        body: Incoming,
        /// Measures the call; its status comes last.
        timer: CallTimer,
        /// A pull is running until all of its answer is sent.
        _place: Option<OwnedSemaphorePermit>,
    },
    /// An answer that was read.
    Whole { data: Option<Bytes>, trailers: Option<HeaderMap> },
}

impl ResponseBody {
    /// The body of an answer that is all in its headers.
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
                    // After the trailers that say so there is nothing.
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

/// What the caller is told when containerd's answer breaks off. A reset stream is reset for the caller too; a lost
/// connection is what it would be without us, `Unavailable`, where hyper would make it an internal error.
fn broken_off(error: hyper::Error, timer: &mut CallTimer) -> Result<Frame<Bytes>, hyper::Error> {
    timer.end(Code::UNAVAILABLE);
    if crate::upstream::is_reset(&error) {
        return Err(error);
    }
    let status = Status::new(Code::UNAVAILABLE, format!("containerd's answer broke off: {error}"));
    Ok(Frame::trailers(status.trailers()))
}
