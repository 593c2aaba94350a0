//! A stand-in for containerd: it answers as a test says, and remembers what it was asked.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::caller::framed;

type Body = UnsyncBoxBody<Bytes, h2::Error>;
pub(crate) type Frames = mpsc::UnboundedSender<Result<Frame<Bytes>, h2::Error>>;

/// A call that it got.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// How it answers a call.
pub(crate) enum Reply {
    /// One message and status 0.
    Message(&'static [u8]),
    /// An error in the headers, as a server answers that has nothing else to say.
    Error(u32, &'static str),
    /// Headers, and what the test sends.
    Stream(Box<dyn FnOnce(Frames) + Send>),
    /// No answer.
    Hang,
    /// The call is reset.
    Reset(h2::Reason),
}

pub(crate) struct Containerd {
    socket: PathBuf,
    seen: Arc<Mutex<Vec<Seen>>>,
    waiting: Arc<AtomicUsize>,
    connections: JoinSet<()>,
}

/// Counts the calls without an answer; one that the caller gave up is dropped.
struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Containerd {
    pub(crate) fn start(socket: &Path, script: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket).unwrap();
        let (seen, waiting) = (Arc::default(), Arc::default());
        let mut connections = JoinSet::new();
        connections.spawn(accept(listener, Arc::new(script), Arc::clone(&seen), Arc::clone(&waiting)));
        Self { socket: socket.to_owned(), seen, waiting, connections }
    }

    /// All calls that it got.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until as many calls hang.
    pub(crate) async fn until_waiting(&self, count: usize) {
        let until = async {
            while self.waiting.load(Ordering::SeqCst) != count {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        let waited = tokio::time::timeout(std::time::Duration::from_mins(1), until).await;
        assert!(
            waited.is_ok(),
            "{} calls wait, not {count}: {:?}",
            self.waiting.load(Ordering::SeqCst),
            self.seen()
        );
    }

    /// Ends as a process that is killed: every connection breaks.
    pub(crate) async fn kill(mut self) -> PathBuf {
        self.connections.shutdown().await;
        self.socket.clone()
    }
}

async fn accept(
    listener: UnixListener,
    script: Arc<dyn Fn(&Seen) -> Reply + Send + Sync>,
    seen: Arc<Mutex<Vec<Seen>>>,
    waiting: Arc<AtomicUsize>,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (script, seen, waiting) = (Arc::clone(&script), Arc::clone(&seen), Arc::clone(&waiting));
        let answer = service_fn(move |request: Request<Incoming>| {
            let (script, seen, waiting) = (Arc::clone(&script), Arc::clone(&seen), Arc::clone(&waiting));
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let call = Seen { path: head.uri.path().to_owned(), headers: head.headers, body };
                let reply = script(&call);
                seen.lock().unwrap().push(call);
                answer(reply, waiting).await
            }
        });
        connections.spawn(async move {
            let served = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .auto_date_header(false)
                .max_concurrent_streams(None)
                .serve_connection(TokioIo::new(stream), answer)
                .await;
            drop(served);
        });
    }
}

async fn answer(reply: Reply, waiting: Arc<AtomicUsize>) -> Result<Response<Body>, h2::Error> {
    match reply {
        Reply::Message(message) => Ok(streamed(|frames| {
            frames.send(Ok(Frame::data(framed(message)))).unwrap();
            frames.send(Ok(Frame::trailers(status(0, "")))).unwrap();
        })),
        Reply::Error(code, message) => {
            let mut response = Response::new(Full::default().map_err(|never| match never {}).boxed_unsync());
            *response.headers_mut() = status(code, message);
            response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
            Ok(response)
        }
        Reply::Stream(send) => Ok(streamed(send)),
        Reply::Hang => {
            waiting.fetch_add(1, Ordering::SeqCst);
            let _waiting = Waiting(waiting);
            std::future::pending().await
        }
        Reply::Reset(reason) => Err(reason.into()),
    }
}

fn streamed(send: impl FnOnce(Frames)) -> Response<Body> {
    let (frames, mut receiver) = mpsc::unbounded_channel();
    send(frames);
    let body = StreamBody::new(futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx)));
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response.headers_mut().insert("x-from-containerd", HeaderValue::from_static("yes"));
    response
}

/// Trailers with a status.
pub(crate) fn status(code: u32, message: &'static str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(code));
    if !message.is_empty() {
        trailers.insert("grpc-message", HeaderValue::from_static(message));
        trailers.insert(HeaderName::from_static("grpc-status-details-bin"), HeaderValue::from_static("CAI"));
    }
    trailers
}
