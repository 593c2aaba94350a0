//! The life of the service: listens, serves, and stops or gives way to a successor without cutting off running calls.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::listen::Listening;
use crate::report::{Level, report};
use crate::service::Service;
use crate::signals::StopSignals;
use crate::succession::Succession;
use crate::successor::Successor;
use crate::upstream::MAX_HEADERS;

/// How long calls other than pulls may take to end, whatever the limit for pulls.
const LAST_CALLS: Duration = Duration::from_secs(2);

/// Tells all connections to end, and waits for them: each holds a receiver as long as it lives.
#[derive(Default)]
struct Connections {
    ending: watch::Sender<bool>,
}

/// Why this process stops to accept connections.
enum Turn {
    Stop(&'static str),
    Replaced(Successor),
}

/// Serves until this process is told to stop, or until another has taken over and the calls of this one have ended.
pub(crate) async fn serve(
    mut listening: Listening,
    service: Arc<Service>,
    mut succession: Succession,
    mut stop: StopSignals,
    drain: Duration,
) {
    let connections = Connections::default();
    loop {
        let turn = tokio::select! {
            why = stop.recv() => Turn::Stop(why),
            successor = succession.successor(&listening) => Turn::Replaced(successor),
            never = accept(&listening, &service, &connections) => match never {},
        };
        match turn {
            Turn::Stop(why) => {
                succession.notify.say("STOPPING=1");
                return end(listening, &service, &connections, why, drain).await;
            }
            Turn::Replaced(mut successor) => {
                listening.leave();
                connections.end();
                let status = tokio::select! {
                    () = connections.ended() => return,
                    why = stop.recv() => {
                        stopping(why, drain);
                        let _ = timeout(drain.max(LAST_CALLS), connections.ended()).await;
                        return;
                    }
                    status = Succession::orphaned(&listening, &mut successor) => status,
                };
                connections.go_on();
                succession.serve_again(&mut listening, status);
            }
        }
    }
}

/// Lets no pull begin. Running pulls have `drain` to end, and all other calls are served until then.
async fn end(
    listening: Listening,
    service: &Arc<Service>,
    connections: &Connections,
    why: &str,
    drain: Duration,
) {
    stopping(why, drain);
    let deadline = Instant::now() + drain;
    // Other calls are answered until the last pull has ended, so for the kubelet the service is away only for the
    // moment of a restart.
    tokio::select! {
        ended = timeout_at(deadline, service.last_pull_ended()) => if ended.is_err() {
            report(
                Level::Warning,
                format_args!("pulls that took longer are cut off; the kubelet will try again"),
            );
        },
        never = accept(&listening, service, connections) => match never {},
    }
    drop(listening);
    connections.end();
    let _ = timeout_at(deadline.max(Instant::now() + LAST_CALLS), connections.ended()).await;
}

fn stopping(why: &str, drain: Duration) {
    report(Level::Info, format_args!("stopping on {why}; pulls have {} s to end", drain.as_secs()));
}

impl Connections {
    /// Ends each connection after its current calls. The caller learns that it must connect again for the next one.
    fn end(&self) {
        self.ending.send_replace(true);
    }

    /// New connections are to stay.
    fn go_on(&self) {
        self.ending.send_replace(false);
    }

    async fn ended(&self) {
        self.ending.closed().await;
    }
}

async fn accept(listening: &Listening, service: &Arc<Service>, connections: &Connections) -> Infallible {
    loop {
        match listening.listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, service.clone(), connections.ending.subscribe()));
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
    let called = AtomicBool::new(false);
    let answer = service_fn(|request| {
        called.store(true, Ordering::Relaxed);
        service.clone().answer(request)
    });
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
    let ended = timeout(LAST_CALLS, &mut connection).await;
    // A caller that has only connected and says nothing must not keep this process for ever.
    if ended.is_err() && called.load(Ordering::Relaxed) {
        let _ = connection.await;
    }
}
