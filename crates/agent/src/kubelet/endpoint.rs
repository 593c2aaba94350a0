//! Talks to the kubelet of this node. Each call opens a connection of its own, follows no redirect, uses no proxy, and ends in time.

use std::error::Error;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::time::timeout;

use super::exposition::HashScanner;
use super::hash::ConfigHash;
use super::pins::{NOT_PINNED, Pins};

/// How long the health check may take. It does nothing but answer.
const HEALTH_TIME: Duration = Duration::from_secs(5);
/// How long the metrics may take: many MiB on a large node that has just started.
const METRICS_TIME: Duration = Duration::from_secs(30);
/// How much of the metrics to read.
const METRICS_MAX: usize = 64 << 20;
/// The largest token to read.
const TOKEN_MAX: u64 = 64 << 10;

/// Where the kubelet of this node listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletEndpoint {
    /// Its API: `port`, by default 10250, on an address that it listens on.
    pub api: SocketAddr,
    /// The file with the agent's token, which is read at each use: tokens are replaced while the agent runs.
    pub token: PathBuf,
}

/// Why the kubelet could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// The connection could not be made, or was lost.
    #[error("cannot ask the kubelet at {url}: {reason}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// Something else is where the kubelet should be, or the kubelet has a certificate that is not in its files.
    #[error(
        "{url} is not this node's kubelet: its certificate is none of those in the kubelet's files; if the kubelet has \
         just replaced it, try again"
    )]
    NotTheKubelet {
        /// What was asked.
        url: String,
    },
    /// It did not answer in time.
    #[error("the kubelet at {url} has not answered for {} s", waited.as_secs())]
    Silent {
        /// What was asked.
        url: String,
        /// For how long.
        waited: Duration,
    },
    /// It does not accept the agent, or cannot find out whether it should.
    #[error("the kubelet at {url} answered {status}{}", what_to_do(*.status))]
    Refused {
        /// What was asked.
        url: String,
        /// Its answer.
        status: u16,
    },
    /// Its answer is too long.
    #[error("the kubelet at {url} answered with more than {} MiB", METRICS_MAX >> 20)]
    TooLong {
        /// What was asked.
        url: String,
    },
    /// The agent has no token.
    #[error("cannot read the agent's token {}: {reason}", path.display())]
    Token {
        /// Its file.
        path: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// The TLS library has no protocol version for its cipher suites.
    #[error("cannot set up TLS: {0}")]
    Tls(rustls::Error),
}

fn what_to_do(status: u16) -> &'static str {
    match status {
        401 => {
            ": it does not accept the agent's token; it needs authentication.webhook.enabled, and an API server to ask"
        }
        403 => ": the agent's ServiceAccount needs the permission to get nodes/metrics",
        _ => "",
    }
}

/// Whether the kubelet says that it is well, at `healthzBindAddress` and `healthzPort`, by default 127.0.0.1:10248.
///
/// # Errors
/// If it does not answer.
pub async fn healthz(address: SocketAddr) -> Result<bool, EndpointError> {
    let url = format!("http://{address}/healthz");
    let request = Request::get(&url).body(Empty::<Bytes>::new()).map_err(unreachable(&url))?;
    in_time(&url, HEALTH_TIME, async { Ok(send(&url, tcp(), request).await?.status() == StatusCode::OK) })
        .await
}

impl KubeletEndpoint {
    /// The hash of the credential provider configuration that the kubelet runs with; none if it has no such metric. The token is
    /// sent only to a server with one of these certificates.
    ///
    /// # Errors
    /// If the kubelet does not answer, or does not accept the agent.
    pub async fn provider_hash(&self, pins: Pins) -> Result<Option<ConfigHash>, EndpointError> {
        let url = format!("https://{}/metrics", self.api);
        let request = Request::get(&url)
            .header(AUTHORIZATION, bearer(&self.token)?)
            .body(Empty::<Bytes>::new())
            .map_err(unreachable(&url))?;
        let tls = pins.client().map_err(EndpointError::Tls)?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_only()
            .enable_http1()
            .wrap_connector(tcp());
        in_time(&url, METRICS_TIME, async {
            let response = send(&url, connector, request).await?;
            match response.status() {
                StatusCode::OK => find_hash(&url, response.into_body()).await,
                status => Err(EndpointError::Refused { url: url.clone(), status: status.as_u16() }),
            }
        })
        .await
    }
}

async fn find_hash(url: &str, mut body: Incoming) -> Result<Option<ConfigHash>, EndpointError> {
    let (mut scanner, mut read) = (HashScanner::default(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(unreachable(url))?;
        let Some(data) = frame.data_ref() else { continue };
        read += data.len();
        if read > METRICS_MAX {
            return Err(EndpointError::TooLong { url: url.to_owned() });
        }
        if let Some(hash) = scanner.feed(data) {
            return Ok(Some(hash));
        }
    }
    Ok(scanner.end())
}

/// Sends a request on a connection of its own.
async fn send<C>(
    url: &str,
    connector: C,
    request: Request<Empty<Bytes>>,
) -> Result<Response<Incoming>, EndpointError>
where
    C: Connect + Clone + Send + Sync + 'static,
{
    let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
    client.request(request).await.map_err(unreachable(url))
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp
}

async fn in_time<T>(
    url: &str,
    limit: Duration,
    call: impl Future<Output = Result<T, EndpointError>>,
) -> Result<T, EndpointError> {
    let silent = |_| EndpointError::Silent { url: url.to_owned(), waited: limit };
    timeout(limit, call).await.map_err(silent)?
}

/// The header with the token, which no message shows.
fn bearer(path: &Path) -> Result<HeaderValue, EndpointError> {
    let unreadable = |reason: String| EndpointError::Token { path: path.to_owned(), reason };
    let mut token = String::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(TOKEN_MAX).read_to_string(&mut token))
        .map_err(|error| unreadable(error.to_string()))?;
    let token = token.trim();
    if token.is_empty() {
        return Err(unreadable("it is empty".to_owned()));
    }
    let value = HeaderValue::try_from(format!("Bearer {token}"));
    let mut value = value.map_err(|_| unreadable("it is not a token".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// For `map_err`: the innermost cause of an HTTP library's error, whose own message only names the phase in which it occurred.
fn unreachable<E: Error + 'static>(url: &str) -> impl FnOnce(E) -> EndpointError {
    move |error| {
        let url = url.to_owned();
        let last =
            std::iter::successors(Some(&error as &(dyn Error + 'static)), |&cause| inside(cause)).last();
        match last {
            Some(cause) if cause.downcast_ref() == Some(&NOT_PINNED) => EndpointError::NotTheKubelet { url },
            last => {
                EndpointError::Unreachable { url, reason: last.map(ToString::to_string).unwrap_or_default() }
            }
        }
    }
}

/// What an error is about. An error of the operating system that wraps another one does not name it as its source.
fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.map(|wrapped| wrapped as _).or_else(|| error.source())
}

#[cfg(test)]
mod tests;
