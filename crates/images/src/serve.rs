//! The life of the service: listens, serves, and stops without cutting off running calls.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout_at};

use crate::listen::Listening;
use crate::report::{Level, report};
use crate::service::Service;
use crate::upstream::MAX_HEADERS;

/// How long calls other than pulls may take to end, whatever the limit for pulls.
const LAST_CALLS: Duration = Duration::from_secs(2);

/// Tells all connections to end, and waits for them.
struct Connections {
    /// Announces that the service ends.
    ending: watch::Sender<bool>,
    /// Each connection holds a sender; when all senders are gone, so are the connections.
    held: mpsc::Sender<()>,
    released: mpsc::Receiver<()>,
}

/// Serves until `stop`. After that no pull begins, running pulls have `drain` to end, and all other calls are served
/// until then.
pub(crate) async fn serve(
    listening: Listening,
    service: Arc<Service>,
    stop: impl Future<Output = &'static str>,
    drain: Duration,
    stopping: impl FnOnce(),
) {
    let (held, released) = mpsc::channel(1);
    let (ending, _) = watch::channel(false);
    let connections = Connections { ending, held, released };
    let last_pull = async {
        let why = stop.await;
        stopping();
        report(Level::Info, format_args!("stopping on {why}; pulls have {} s to end", drain.as_secs()));
        let deadline = Instant::now() + drain;
        if timeout_at(deadline, service.last_pull_ended()).await.is_err() {
            report(
                Level::Warning,
                format_args!("pulls that took longer are cut off; the kubelet will try again"),
            );
        }
        deadline
    };
    // Other calls are answered until the last pull has ended, so for the kubelet the service is away only for the
    // moment of a restart.
    let deadline = tokio::select! {
        deadline = last_pull => deadline,
        never = accept(&listening, &service, &connections) => match never {},
    };
    drop(listening);
    connections.end(deadline.max(Instant::now() + LAST_CALLS)).await;
}

impl Connections {
    /// Ends each connection after its current calls.
    async fn end(mut self, deadline: Instant) {
        self.ending.send_replace(true);
        drop(self.held);
        let _ = timeout_at(deadline, self.released.recv()).await;
    }
}

async fn accept(listening: &Listening, service: &Arc<Service>, connections: &Connections) -> Infallible {
    loop {
        match listening.listener.accept().await {
            Ok((stream, _)) => {
                let (ending, held) = (connections.ending.subscribe(), connections.held.clone());
                let connection = connection(stream, service.clone(), ending);
                tokio::spawn(async move {
                    connection.await;
                    drop(held);
                });
            }
            Err(error) => {
                // Usually we are out of descriptors, and some will be freed.
                report(Level::Error, format_args!("cannot accept a connection: {error}"));
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(stream: UnixStream, service: Arc<Service>, mut ending: watch::Receiver<bool>) {
    let answer = service_fn(move |request| service.clone().answer(request));
    // The limits of HTTP/2 servers protect against strangers. Here the caller is root, and containerd has no such
    // limits.
    let connection = http2::Builder::new(TokioExecutor::new())
        .auto_date_header(false)
        .max_concurrent_streams(None)
        .max_header_list_size(MAX_HEADERS)
        .max_pending_accept_reset_streams(usize::MAX)
        .max_local_error_reset_streams(None)
        .serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    tokio::select! {
        // The caller knows how the connection ended.
        _ = &mut connection => return,
        _ = ending.wait_for(|ending| *ending) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
