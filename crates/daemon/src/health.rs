//! `/healthz`, `/readyz` and `/metrics` over plain HTTP, for the kubelet and for Prometheus.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// How many connections are served at a time; more wait.
const CONNECTIONS: usize = 64;
/// How long a client may take to send its request.
const HEADERS_WITHIN: Duration = Duration::from_secs(10);

/// What the endpoints tell.
pub struct Health {
    /// What the program still waits for before it is ready.
    pub waits_for: Box<dyn Fn() -> Option<String> + Send + Sync>,
    /// What is counted, in the text format of `OpenMetrics`.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
}

/// Serves until the process ends.
pub async fn serve(listener: TcpListener, health: Arc<Health>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely. Connections end, so this passes.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let health = Arc::clone(&health);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let answer = answer(&request, &health);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADERS_WITHIN)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            if let Err(error) = connection.await {
                tracing::debug!("a client of /metrics or of a probe went away: {error}");
            }
            drop(place);
        });
    }
}

fn answer(request: &Request<Incoming>, health: &Health) -> Response<Full<Bytes>> {
    let (status, text) = match request.uri().path() {
        "/healthz" => (StatusCode::OK, "ok\n".to_owned()),
        "/readyz" => match (health.waits_for)() {
            None => (StatusCode::OK, "ok\n".to_owned()),
            Some(what) => (StatusCode::SERVICE_UNAVAILABLE, format!("waiting for {what}\n")),
        },
        "/metrics" => (StatusCode::OK, (health.metrics)()),
        _ => (StatusCode::NOT_FOUND, "try /healthz, /readyz or /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    if request.uri().path() == "/metrics" {
        let format = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let value = hyper::header::HeaderValue::from_static(format);
        response.headers_mut().insert(hyper::header::CONTENT_TYPE, value);
    }
    response
}
