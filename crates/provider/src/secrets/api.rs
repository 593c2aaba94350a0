//! Requests to the API server: verified, with the Pod's token, bounded in time and size, one retry.

use std::time::{Duration, Instant};

use pullwright_engine::credentials::Sensitive;
use serde::Deserialize;

use super::protobuf;
use crate::cluster::Cluster;
use crate::http::{Client, Head, HttpAnswer, HttpError};
use crate::shown::{shown, without};

/// The most that is read of one object. The API server keeps none beyond 1.5 MiB unless it is told to, and base64 makes a
/// third more of it.
const OBJECT_MAX: u64 = 4 << 20;
/// The most that is read of what a server says when it refuses.
const REFUSAL_MAX: u64 = 64 << 10;
/// How much of that is repeated.
const MESSAGE_SHOWN: usize = 300;
/// The longest that a server may make us wait before the one retry.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// A connection to an API server on behalf of one Pod.
pub struct Api<'a> {
    client: Client,
    server: &'a str,
    authorization: Sensitive,
    deadline: Instant,
}

/// Why the API server did not give what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The certificate authority is none.
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
    /// No connection, no answer, or one that is not HTTP.
    #[error("asking {server} for {what}: {why}")]
    Transport {
        /// The server.
        server: String,
        /// What was asked for.
        what: String,
        /// The reason.
        why: String,
    },
    /// Somebody else's certificate. It was not shown the token.
    #[error(
        "{server} is not the server that its certificate authority knows ({why}): check --server and --certificate-authority"
    )]
    Untrusted {
        /// The server.
        server: String,
        /// What is wrong with its certificate.
        why: rustls::Error,
    },
    /// The token is not accepted.
    #[error(
        "{server} does not accept the service account's token (401 for {what}): is serviceAccountTokenAudience one of its --api-audiences?"
    )]
    Unauthorized {
        /// The server.
        server: String,
        /// What was asked for.
        what: String,
    },
    /// The service account may not.
    #[error("{message} (403): give the Pod's service account a Role that allows it")]
    Forbidden {
        /// The server's words.
        message: String,
    },
    /// Not there.
    #[error("{what} is not there (404)")]
    NotFound {
        /// What was asked for.
        what: String,
    },
    /// Any other refusal.
    #[error("{server} answered {status} for {what}: {message}")]
    Status {
        /// The server.
        server: String,
        /// What was asked for.
        what: String,
        /// The status.
        status: u16,
        /// The server's words.
        message: String,
    },
    /// More than an object, or a page of few objects, can be.
    #[error("{what} has more than {} MiB", .most >> 20)]
    TooLarge {
        /// What was asked for.
        what: String,
        /// The most that is read of it.
        most: u64,
    },
    /// Not what the API answers.
    #[error("{server} answered something that is not {what}: is it an API server?")]
    Content {
        /// The server.
        server: String,
        /// What was asked for.
        what: String,
    },
    /// Time is up.
    #[error("{server} did not answer in time for {what}")]
    Deadline {
        /// The server.
        server: String,
        /// What was asked for.
        what: String,
    },
}

impl<'a> Api<'a> {
    /// Prepares requests, all of which end at `deadline`; nothing is sent yet.
    ///
    /// # Errors
    /// If the certificate authority cannot be read.
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

    /// The object at `path` in JSON, which is for `what` a person would call it.
    ///
    /// # Errors
    /// If it is not to be had in time.
    pub(super) fn get(&self, path: &str, what: &str) -> Result<Vec<u8>, ApiError> {
        let answer = self.ask(path, what, "application/json")?;
        answer.whole(OBJECT_MAX).map_err(|error| self.transport(error, what))
    }

    /// The list at `path` in the encoding that the server prefers; its content is still to come.
    ///
    /// # Errors
    /// If it is not to be had in time.
    pub(super) fn list(&self, path: &str, what: &str) -> Result<HttpAnswer<'_>, ApiError> {
        const EITHER: &str = "application/vnd.kubernetes.protobuf, application/json";
        self.ask(path, what, EITHER)
    }

    fn ask(&self, path: &str, what: &str, accept: &str) -> Result<HttpAnswer<'_>, ApiError> {
        let mut answer = self.send(path, what, accept)?;
        if let Some(pause) = retry_after(&answer.head)
            && Instant::now() + pause < self.deadline
        {
            // To its end, so that the connection can be used again.
            let _ = answer.whole(REFUSAL_MAX);
            std::thread::sleep(pause);
            answer = self.send(path, what, accept)?;
        }
        if answer.head.status == 200 { Ok(answer) } else { Err(self.refused(answer, what)) }
    }

    /// The error for an answer that cannot be understood.
    pub(super) fn content(&self, what: &str) -> ApiError {
        ApiError::Content { server: self.server.to_owned(), what: what.to_owned() }
    }

    fn send(&self, path: &str, what: &str, accept: &str) -> Result<HttpAnswer<'_>, ApiError> {
        let headers = [("Authorization", self.authorization.expose().as_str()), ("Accept", accept)];
        let answer = self.client.get(path, &headers, self.deadline);
        answer.map_err(|error| self.transport(error, what))
    }

    /// The error for an answer that does not come.
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
        /// The part of a Kubernetes `Status` that people are told.
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
        // Some servers, and more gateways, repeat what they were shown.
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

/// How long to wait before asking again, if the server is only busy.
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
