//! A client of the CRI image service: the least that a gRPC client does.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pullwright_protobuf::append;
use tokio::net::UnixStream;

/// One connection.
#[derive(Clone)]
pub(super) struct Caller(SendRequest<Full<Bytes>>);

impl Caller {
    pub(super) async fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)
            .await
            .with_context(|| format!("connecting to {}", socket.display()))?;
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(async move { drop(connection.await) });
        Ok(Self(sender))
    }

    /// One call with this message; the answer's bytes.
    pub(super) async fn call(&self, method: &str, message: &[u8]) -> Result<Bytes> {
        let length = u32::try_from(message.len())?.to_be_bytes();
        let request = Request::post(format!("http://localhost/runtime.v1.ImageService/{method}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Full::new(Bytes::from([&[0], &length[..], message].concat())))?;
        let response = self.0.clone().send_request(request).await?;
        let (head, body) = response.into_parts();
        let body = body.collect().await?;
        let trailers = body.trailers().unwrap_or(&head.headers);
        let status = trailers.get("grpc-status").map(hyper::header::HeaderValue::as_bytes);
        ensure!(status == Some(b"0"), "{method}: {:?}", trailers.get("grpc-message"));
        Ok(body.to_bytes())
    }
}

/// A message with an `ImageSpec` first, which is all that `ImageStatusRequest` needs.
pub(super) fn image(name: &str) -> Vec<u8> {
    let (mut spec, mut message) = (Vec::new(), Vec::new());
    append(&mut spec, 1, name.as_bytes());
    append(&mut message, 1, &spec);
    message
}

/// `PullImageRequest` of a Pod in the namespace `default`.
pub(super) fn pull(name: &str) -> Vec<u8> {
    let (mut metadata, mut sandbox, mut message) = (Vec::new(), Vec::new(), image(name));
    append(&mut metadata, 3, b"default");
    append(&mut sandbox, 1, &metadata);
    append(&mut message, 3, &sandbox);
    message
}
