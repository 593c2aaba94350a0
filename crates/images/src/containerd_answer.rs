//! containerd's response to a call, read to its end, where its status is.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::http::response::Parts;

use crate::body::ResponseBody;
use crate::grpc::{Code, Status};
use crate::upstream::CallError;

/// A complete response.
#[derive(Debug)]
pub(crate) struct ContainerdAnswer {
    head: Parts,
    data: Bytes,
    trailers: Option<HeaderMap>,
    pub(crate) status: Status,
}

impl ContainerdAnswer {
    /// Reads a response to its end.
    pub(crate) async fn read(response: Response<Incoming>) -> Result<Self, CallError> {
        let (head, body) = response.into_parts();
        let collected = body.collect().await.map_err(CallError::Broken)?;
        let trailers = collected.trailers().cloned();
        let status = trailers.as_ref().and_then(Status::read).or_else(|| Status::read(&head.headers));
        let none = || Status::new(Code::UNKNOWN, format!("an answer without a status, HTTP {}", head.status));
        Ok(Self { status: status.unwrap_or_else(none), data: collected.to_bytes(), trailers, head })
    }

    /// Replaces the status of the response.
    pub(crate) fn with(mut self, status: &Status) -> Self {
        status.write(self.trailers.as_mut().unwrap_or(&mut self.head.headers));
        self
    }

    /// The response as it came.
    pub(crate) fn into_response(self) -> Response<ResponseBody> {
        let data = Some(self.data).filter(|data| !data.is_empty());
        Response::from_parts(self.head, ResponseBody::Whole { data, trailers: self.trailers })
    }
}
