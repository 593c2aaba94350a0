//! Sends HTTP requests over verified or unverified connections, each with a time limit.

use std::error::Error;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tokio::time::timeout;

use crate::error::Cause;
use crate::trust::{self, TrustError};
use crate::{Options, Timeouts};

/// Whether to verify a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    Verified,
    Unverified,
}

/// Two connection pools, so that an unverified connection is never used for a request that requires a verified one.
#[derive(Debug)]
pub(crate) struct Transport {
    verified: Pool,
    unverified: Pool,
    timeouts: Timeouts,
}

type Pool = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

impl Transport {
    pub(crate) fn new(options: &Options) -> Result<Self, TrustError> {
        let pool = |tls| pool(tls, &options.timeouts);
        Ok(Self {
            verified: pool(trust::verified(options.roots, &options.authorities)?),
            unverified: pool(trust::unverified()?),
            timeouts: options.timeouts,
        })
    }

    /// Sends a request and waits for the head of the response.
    pub(crate) async fn send(
        &self,
        trust: Trust,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Cause> {
        let host = host(request.uri());
        let pool = match trust {
            Trust::Verified => &self.verified,
            Trust::Unverified => &self.unverified,
        };
        match timeout(self.timeouts.answer, pool.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_connect() => Err(Cause::Connect { host, reason: reasons(&error) }),
            Ok(Err(error)) => Err(Cause::Broken { host, reason: reasons(&error) }),
            Err(_) => Err(Cause::Silent { host, waited: self.timeouts.answer }),
        }
    }

    /// The next bytes of a body; `None` at its end.
    pub(crate) async fn next(&self, host: &str, body: &mut Incoming) -> Result<Option<Bytes>, Cause> {
        loop {
            match timeout(self.timeouts.idle, body.frame()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => {
                    // Ignore trailers.
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Ok(Some(Err(error))) => {
                    return Err(Cause::Broken { host: host.to_owned(), reason: reasons(&error) });
                }
                Err(_) => {
                    return Err(Cause::Silent { host: host.to_owned(), waited: self.timeouts.idle });
                }
            }
        }
    }

    /// Reads a whole body of at most `limit` bytes.
    pub(crate) async fn collect(&self, host: &str, mut body: Incoming, limit: u64) -> Result<Vec<u8>, Cause> {
        let mut collected = Vec::new();
        while let Some(data) = self.next(host, &mut body).await? {
            if (collected.len() + data.len()) as u64 > limit {
                return Err(Cause::TooLarge(limit));
            }
            collected.extend_from_slice(&data);
        }
        Ok(collected)
    }
}

fn pool(tls: ClientConfig, timeouts: &Timeouts) -> Pool {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeouts.connect));
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(30))
        .build(connector)
}

/// The host of a URL with its port, for messages. The rest of a URL may grant access to whoever reads it.
pub(crate) fn host(uri: &Uri) -> String {
    uri.authority().map(ToString::to_string).unwrap_or_default()
}

/// The causes of an HTTP library error, whose own message only names the phase in which it occurred.
fn reasons(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    if texts.is_empty() {
        texts.push(error.to_string());
    }
    // Some errors repeat the message of their cause.
    texts.dedup_by(|cause, error| error.ends_with(cause.as_str()));
    texts.join(": ")
}
