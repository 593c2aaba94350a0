//! Requests to the API server: verified, with the Pod's token, limited in time and size, with one retry.

use std::time::{Duration, Instant};

use pullwright_engine::credentials::Sensitive;
use serde::Deserialize;

use super::protobuf;
use crate::cluster::Cluster;
use crate::http::{Client, Head, HttpAnswer, HttpError};
use crate::shown::{shown, without};

/// The largest object to read. By default, the API server stores no object of more than 1.5 MiB, and base64 adds a
/// third.
const OBJECT_MAX: u64 = 4 << 20;
/// How much of a refusal to read.
const REFUSAL_MAX: u64 = 64 << 10;
/// How many characters of its message to repeat.
const MESSAGE_SHOWN: usize = 300;
/// The longest wait before the one retry that a server may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// A connection to an API server on behalf of one Pod.
pub struct Api<'a> {
    client: Client,
    server: &'a str,
    authorization: Sensitive,
    deadline: Instant,
}

/// Why the API server did not return what was requested.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The certificate authority's file has no certificate.
    #[error(
        "the certificate authority of {server} holds no certificate in PEM: check --certificate-authority"
    )]
    NoCertificates {
        /// The server.
        server: String,
    },
    /// The server cannot be asked at all.
    #[error("cannot ask {server}: {why}")]
    Unusable {
        /// The server.
        server: String,
        /// The reason.
        why: String,
    },
    /// There was no connection, no response, or one that is not HTTP.
    #[error("asking {server} for {what}: {why}")]
    Transport {
        /// The server.
        server: String,
        /// What was requested.
        what: String,
        /// The reason.
        why: String,
    },
    /// The server's certificate was not accepted. It did not get the token.
    #[error(
        "{server} is not the server that its certificate authority knows ({why}): check --server and --certificate-authority"
    )]
    Untrusted {
        /// The server.
        server: String,
        /// What is wrong with its certificate.
        why: rustls::Error,
    },
    /// The server does not accept the token.
    #[error(
        "{server} does not accept the service account's token (401 for {what}): is serviceAccountTokenAudience one of its --api-audiences?"
    )]
    Unauthorized {
        /// The server.
        server: String,
        /// What was requested.
        what: String,
    },
    /// The service account lacks permission.
    #[error("{message} (403): give the Pod's service account a Role that allows it")]
    Forbidden {
        /// The server's message.
        message: String,
    },
    /// The object does not exist.
    #[error("{what} is not there (404)")]
    NotFound {
        /// What was requested.
        what: String,
    },
    /// Any other refusal.
    #[error("{server} answered {status} for {what}: {message}")]
    Status {
        /// The server.
        server: String,
        /// What was requested.
        what: String,
        /// The status.
        status: u16,
        /// The server's message.
        message: String,
    },
    /// The response is larger than an object, or a page of few objects, can be.
    #[error("{what} has more than {} MiB", .most >> 20)]
    TooLarge {
        /// What was requested.
        what: String,
        /// The limit in bytes.
        most: u64,
    },
    /// The response is not what the API returns.
    #[error("{server} answered something that is not {what}: is it an API server?")]
    Content {
        /// The server.
        server: String,
        /// What was requested.
        what: String,
    },
    /// The deadline has passed.
    #[error("{server} did not answer in time for {what}")]
    Deadline {
        /// The server.
        server: String,
        /// What was requested.
        what: String,
    },
}

impl<'a> Api<'a> {
    /// Prepares requests, which all end at `deadline`. Sends nothing yet.
    ///
    /// # Errors
    /// If the certificate authority or the server's URL cannot be used.
    pub fn new(
        cluster: &'a Cluster,
        token: &Sensitive,
        deadline: Instant,
        proxy_from_environment: bool,
    ) -> Result<Self, ApiError> {
        let server = &cluster.server;
        let client = Client::new(server, &cluster.certificate_authority, proxy_from_environment);
        let client = client.map_err(|error| match error {
            HttpError::NoCertificates => ApiError::NoCertificates { server: server.clone() },
            error => ApiError::Unusable { server: server.clone(), why: error.to_string() },
        })?;
        let authorization = Sensitive::new(format!("Bearer {}", token.expose()));
        Ok(Self { client, server, authorization, deadline })
    }

    /// Gets the object at `path` in JSON; error messages call it `what`.
    ///
    /// # Errors
    /// If the object cannot be read in time, or the server refuses.
    pub(super) fn get(&self, path: &str, what: &str) -> Result<Vec<u8>, ApiError> {
        let answer = self.ask(path, what, "application/json")?;
        answer.whole(OBJECT_MAX).map_err(|error| self.transport(error, what))
    }

    /// Gets the list at `path` in the encoding that the server prefers; its content is still to be read.
    ///
    /// # Errors
    /// If no response comes in time, or the server refuses.
    pub(super) fn list(&self, path: &str, what: &str) -> Result<HttpAnswer<'_>, ApiError> {
        const EITHER: &str = "application/vnd.kubernetes.protobuf, application/json";
        self.ask(path, what, EITHER)
    }

    fn ask(&self, path: &str, what: &str, accept: &str) -> Result<HttpAnswer<'_>, ApiError> {
        let mut answer = self.send(path, what, accept)?;
        if let Some(pause) = retry_after(&answer.head)
            && Instant::now() + pause < self.deadline
        {
            // Read it to its end, so that the connection can be reused.
            let _ = answer.whole(REFUSAL_MAX);
            std::thread::sleep(pause);
            answer = self.send(path, what, accept)?;
        }
        if answer.head.status == 200 { Ok(answer) } else { Err(self.refused(answer, what)) }
    }

    /// The error for a response that cannot be understood.
    pub(super) fn content(&self, what: &str) -> ApiError {
        ApiError::Content { server: self.server.to_owned(), what: what.to_owned() }
    }

    fn send(&self, path: &str, what: &str, accept: &str) -> Result<HttpAnswer<'_>, ApiError> {
        let headers = [("Authorization", self.authorization.expose().as_str()), ("Accept", accept)];
        let answer = self.client.get(path, &headers, self.deadline);
        answer.map_err(|error| self.transport(error, what))
    }

    /// The error for a response that does not arrive.
    pub(super) fn transport(&self, error: HttpError, what: &str) -> ApiError {
        let (server, what) = (self.server.to_owned(), what.to_owned());
        match error {
            HttpError::Deadline => ApiError::Deadline { server, what },
            HttpError::TooLarge => ApiError::TooLarge { what, most: OBJECT_MAX },
            HttpError::Certificate(why) => ApiError::Untrusted { server, why },
            error => ApiError::Transport { server, what, why: error.to_string() },
        }
    }

    fn refused(&self, answer: HttpAnswer<'_>, what: &str) -> ApiError {
        /// The part of a Kubernetes `Status` to show to people.
        #[derive(Deserialize)]
        struct Said {
            message: String,
        }
        let (status, in_protobuf) = (answer.head.status, is_protobuf(&answer));
        let body = answer.whole(REFUSAL_MAX).unwrap_or_default();
        let message = if in_protobuf {
            protobuf::message(&body).map(str::to_owned).unwrap_or_default()
        } else {
            serde_json::from_slice::<Said>(&body).map(|said| said.message).unwrap_or_default()
        };
        // Some servers, and even more gateways, repeat the token that they got.
        let token = self.authorization.expose().trim_start_matches("Bearer ");
        let mut message = shown(&without(&message, token), MESSAGE_SHOWN).into_owned();
        if message.is_empty() {
            message = format!("no reason given by {} for refusing {what}", self.server);
        }
        let (server, what) = (self.server.to_owned(), what.to_owned());
        match status {
            401 => ApiError::Unauthorized { server, what },
            403 => ApiError::Forbidden { message },
            404 => ApiError::NotFound { what },
            status => ApiError::Status { server, what, status, message },
        }
    }
}

pub(super) fn is_protobuf(answer: &HttpAnswer<'_>) -> bool {
    answer.head.content_type.split(';').next().is_some_and(|kind| kind.trim() == protobuf::MEDIA_TYPE)
}

/// How long to wait before the retry, if the server is only busy.
fn retry_after(head: &Head) -> Option<Duration> {
    if !matches!(head.status, 429 | 500..600) {
        return None;
    }
    let seconds = head.retry_after.as_deref().and_then(|value| value.parse().ok());
    let pause = seconds.map_or(Duration::from_millis(250), Duration::from_secs);
    (pause <= MAX_RETRY_AFTER).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(status: u16, header: Option<&str>) -> Option<Duration> {
        retry_after(&Head { status, retry_after: header.map(str::to_owned), ..Head::default() })
    }

    #[test]
    fn only_a_busy_server_is_asked_again_and_not_after_long() {
        assert_eq!(pause(429, Some("2")), Some(Duration::from_secs(2)));
        assert_eq!(pause(503, None), Some(Duration::from_millis(250)));
        assert_eq!(pause(500, Some("soon")), Some(Duration::from_millis(250)));
        assert_eq!(pause(429, Some("3600")), None);
        assert_eq!(pause(403, Some("1")), None);
        assert_eq!(pause(200, None), None);
    }
}
