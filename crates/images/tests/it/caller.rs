//! Who calls the service: a gRPC client that hides nothing.

use std::path::Path;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;

pub(crate) const PULL: &str = "PullImage";

#[derive(Clone)]
pub(crate) struct Caller(SendRequest<Full<Bytes>>);

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) data: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Answer {
    /// The status, wherever it is.
    pub(crate) fn code(&self) -> u32 {
        self.of_status("grpc-status").parse().unwrap()
    }

    /// Its message, percent-encoded.
    pub(crate) fn message(&self) -> String {
        self.of_status("grpc-message")
    }

    fn of_status(&self, name: &str) -> String {
        let headers = self.trailers.as_ref().unwrap_or(&self.headers);
        headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    }
}

impl Caller {
    pub(crate) async fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).await.unwrap();
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(async move { drop(connection.await) });
        Self(sender)
    }

    /// A call of a method of the image service with this message.
    pub(crate) async fn call(&self, method: &str, message: &[u8]) -> Answer {
        whole(self.send(method, &[], framed(message)).await.unwrap()).await.unwrap()
    }

    /// A call with headers and a body as they are.
    pub(crate) async fn send(
        &self,
        method: &str,
        headers: &[(&'static str, &'static str)],
        body: Bytes,
    ) -> hyper::Result<Response<Incoming>> {
        let mut request = Request::post(format!("http://localhost/runtime.v1.ImageService/{method}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("user-agent", "grpc-go/1.79.3");
        for (name, value) in headers {
            request = request.header(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        self.0.clone().send_request(request.body(Full::new(body)).unwrap()).await
    }
}

pub(crate) async fn whole(response: Response<Incoming>) -> hyper::Result<Answer> {
    let (head, body) = response.into_parts();
    let collected = body.collect().await?;
    let trailers = collected.trailers().cloned();
    Ok(Answer { headers: head.headers, data: collected.to_bytes(), trailers })
}

/// A message in gRPC's frame.
pub(crate) fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0][..], &length, message].concat().into()
}
