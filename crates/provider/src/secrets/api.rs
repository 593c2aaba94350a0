//! Requests to the API server: verified, with the Pod's token, bounded in time and size, one retry.

use std::time::{Duration, Instant};

use pullwright_engine::credentials::Sensitive;
use serde::Deserialize;

use super::protobuf;
use crate::cluster::Cluster;
use crate::http::{Answer, Client, HttpError};

/// The most that is read of one answer: a page of Secrets a hundred times as large as they usually are. What is larger is
/// an attack, or a namespace for which naming Secrets is the better way.
const MAX_BYTES: u64 = 64 << 20;
/// The longest that a server may make us wait before the one retry.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(5);

/// A connection to an API server on behalf of one Pod.
pub struct Api<'a> {
    client: Client,
    server: &'a str,
    authorization: Sensitive,
    deadline: Instant,
}

/// A list, in one of two encodings.
pub(super) enum Body {
    Json(Vec<u8>),
    Protobuf(Vec<u8>),
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
        /// Why.
        why: String,
    },
    /// No connection, no answer, or one that is not HTTP.
    #[error("asking {server} for {what}: {why}")]
    Transport {
        /// The server.
        server: String,
        /// What was asked for.
        what: String,
        /// Why.
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
    /// More than configuration can be.
    #[error("{what} has more than {} MiB: use --secrets named", MAX_BYTES >> 20)]
    TooLarge {
        /// What was asked for.
        what: String,
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
    /// Prepares requests; nothing is sent yet.
    ///
    /// # Errors
    /// If the certificate authority cannot be read.
    pub fn new(
        cluster: &'a Cluster,
        token: &Sensitive,
        timeout: Duration,
        proxy_from_environment: bool,
    ) -> Result<Self, ApiError> {
        let server = &cluster.server;
        let client = Client::new(server, &cluster.certificate_authority, proxy_from_environment);
        let client = client.map_err(|error| match error {
            HttpError::NoCertificates => ApiError::NoCertificates { server: server.clone() },
            error => ApiError::Unusable { server: server.clone(), why: error.to_string() },
        })?;
        Ok(Self {
            client,
            server,
            authorization: Sensitive::new(format!("Bearer {}", token.expose())),
            deadline: Instant::now() + timeout,
        })
    }

    /// The object at `path` in JSON, which is for `what` a person would call it.
    ///
    /// # Errors
    /// If it is not to be had in time.
    pub(super) fn get(&self, path: &str, what: &str) -> Result<Vec<u8>, ApiError> {
        Ok(self.ask(path, what, "application/json")?.body)
    }

    /// The list at `path` in the encoding that the server prefers.
    ///
    /// # Errors
    /// If it is not to be had in time.
    pub(super) fn list(&self, path: &str, what: &str) -> Result<Body, ApiError> {
        const EITHER: &str = "application/vnd.kubernetes.protobuf, application/json";
        let answer = self.ask(path, what, EITHER)?;
        let protobuf = is_protobuf(&answer);
        Ok(if protobuf { Body::Protobuf(answer.body) } else { Body::Json(answer.body) })
    }

    fn ask(&self, path: &str, what: &str, accept: &str) -> Result<Answer, ApiError> {
        let mut answer = self.send(path, what, accept)?;
        if let Some(pause) = retry_after(&answer)
            && Instant::now() + pause < self.deadline
        {
            std::thread::sleep(pause);
            answer = self.send(path, what, accept)?;
        }
        if answer.status == 200 { Ok(answer) } else { Err(self.refused(&answer, what)) }
    }

    /// The error for an answer that cannot be understood.
    pub(super) fn content(&self, what: &str) -> ApiError {
        ApiError::Content { server: self.server.to_owned(), what: what.to_owned() }
    }

    fn send(&self, path: &str, what: &str, accept: &str) -> Result<Answer, ApiError> {
        let headers = [("Authorization", self.authorization.expose().as_str()), ("Accept", accept)];
        let answer = self.client.get(path, &headers, MAX_BYTES, self.deadline);
        answer.map_err(|error| self.transport(error, what))
    }

    fn transport(&self, error: HttpError, what: &str) -> ApiError {
        let (server, what) = (self.server.to_owned(), what.to_owned());
        match error {
            HttpError::Deadline => ApiError::Deadline { server, what },
            HttpError::TooLarge => ApiError::TooLarge { what },
            HttpError::Certificate(why) => ApiError::Untrusted { server, why },
            error => ApiError::Transport { server, what, why: error.to_string() },
        }
    }

    fn refused(&self, answer: &Answer, what: &str) -> ApiError {
        /// The part of a Kubernetes `Status` that people are told.
        #[derive(Deserialize)]
        struct Said {
            message: String,
        }
        let message = if is_protobuf(answer) {
            protobuf::message(&answer.body).map(str::to_owned).unwrap_or_default()
        } else {
            serde_json::from_slice::<Said>(&answer.body).map(|said| said.message).unwrap_or_default()
        };
        let mut message: String = message.chars().filter(|c| !c.is_control()).take(300).collect();
        if message.is_empty() {
            message = format!("no reason given by {} for refusing {what}", self.server);
        }
        let (server, what) = (self.server.to_owned(), what.to_owned());
        match answer.status {
            401 => ApiError::Unauthorized { server, what },
            403 => ApiError::Forbidden { message },
            404 => ApiError::NotFound { what },
            status => ApiError::Status { server, what, status, message },
        }
    }
}

fn is_protobuf(answer: &Answer) -> bool {
    answer.content_type.split(';').next().is_some_and(|kind| kind.trim() == protobuf::MEDIA_TYPE)
}

/// How long to wait before asking again, if the server is only busy.
fn retry_after(answer: &Answer) -> Option<Duration> {
    if !matches!(answer.status, 429 | 500..600) {
        return None;
    }
    let seconds = answer.retry_after.as_deref().and_then(|value| value.parse().ok());
    let pause = seconds.map_or(Duration::from_millis(250), Duration::from_secs);
    (pause <= MAX_RETRY_AFTER).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(status: u16, header: Option<&str>) -> Option<Duration> {
        retry_after(&Answer { status, retry_after: header.map(str::to_owned), ..Answer::default() })
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
