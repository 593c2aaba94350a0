//! Serves the metrics on a local socket, with just enough HTTP for a scraper.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::listen::Listening;
use crate::metrics::Metrics;

/// How much of a request to read at most.
const MAX_REQUEST: usize = 8 << 10;
/// How long a scraper may take for its request and for reading the response.
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers every connection.
pub(crate) fn expose(listening: Listening, metrics: Arc<Metrics>) {
    tokio::spawn(async move {
        loop {
            match listening.listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(timeout(PATIENCE, answer(stream, metrics.clone())));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    });
}

async fn answer(mut stream: UnixStream, metrics: Arc<Metrics>) -> std::io::Result<()> {
    let mut request = Vec::with_capacity(1024);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > MAX_REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let body = metrics.render();
    let (status, body) =
        if request.starts_with(b"GET ") { ("200 OK", body.as_str()) } else { ("405 Method Not Allowed", "") };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
