//! A pull: claims the auth file and calls containerd with each credential in turn until one leads to the image.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::http::request::Parts;

use crate::answer::{self, Attempt};
use crate::body::RequestBody;
use crate::containerd_answer::ContainerdAnswer;
use crate::decide::{Call, Calls};
use crate::grpc::{self, Code, Status};
use crate::metrics::{CallTimer, PullResult};
use crate::node::Prepared;
use crate::report::{Level, report};
use crate::request::PullRequest;
use crate::service::{CallAnswer, Service, end, ending};

/// The largest request to read, the same as in containerd.
const MAX_REQUEST: usize = 16 << 20;

impl Service {
    /// Answers `PullImage`.
    pub(crate) async fn pull_image(
        self: Arc<Self>,
        request: Request<Incoming>,
        timer: CallTimer,
    ) -> CallAnswer {
        let started = Instant::now();
        let place = self.begin_pull();
        let (head, body) = request.into_parts();
        let body = match read(body).await {
            Ok(body) => body,
            Err(status) => return Ok(end(timer, &status)),
        };
        let request = grpc::message(&body).and_then(|message| PullRequest::read(message).ok());
        let Some(place) = place else {
            if let Some(request) = request {
                let node = self.node.clone();
                let _ = tokio::task::spawn_blocking(move || node.discard(&request)).await;
            }
            return Ok(end(timer, &ending()));
        };
        let Some(request) = request else {
            self.metrics.unread();
            report(Level::Warning, format_args!("a pull request that cannot be read is passed on as it is"));
            return self.pass(head, RequestBody::Whole(Some(body)), timer, Some(place)).await;
        };
        match self.prepare(request.clone()).await {
            Ok(Prepared::Calls(calls)) => {
                Pull { service: &self, head, request, started }.try_each(calls, timer).await
            }
            Ok(Prepared::PassThrough) => {
                self.pass(head, RequestBody::Whole(Some(body)), timer, Some(place)).await
            }
            Ok(Prepared::WithoutAuth) => {
                let body = grpc::frame(&request.without_auth());
                self.pass(without_length(head), RequestBody::Whole(Some(body)), timer, Some(place)).await
            }
            Err(status) => {
                report(Level::Error, format_args!("{request}: {}", status.message));
                Ok(end(timer, &status))
            }
        }
    }

    /// Reads the files for a pull on another thread than the one that serves calls.
    async fn prepare(&self, request: PullRequest) -> Result<Prepared, Status> {
        let node = self.node.clone();
        match tokio::task::spawn_blocking(move || node.prepare(&request)).await {
            Ok(Ok(prepared)) => Ok(prepared),
            Ok(Err(refused)) => Err(Status::new(Code::FAILED_PRECONDITION, refused.to_string())),
            Err(error) => Err(Status::new(Code::UNKNOWN, format!("the pull was not prepared: {error}"))),
        }
    }
}

/// Removes the content length: some callers send it, and the message is replaced by another.
fn without_length(mut head: Parts) -> Parts {
    head.headers.remove(CONTENT_LENGTH);
    head
}

/// Reads the whole body of a request.
async fn read(body: Incoming) -> Result<Bytes, Status> {
    match Limited::new(body, MAX_REQUEST).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Status::new(Code::RESOURCE_EXHAUSTED, "a pull request of more than 16 MiB"))
        }
        // The caller is gone.
        Err(_) => Err(Status::new(Code::CANCELLED, "the request broke off")),
    }
}

/// A pull in progress.
struct Pull<'a> {
    service: &'a Service,
    head: Parts,
    request: PullRequest,
    started: Instant,
}

impl Pull<'_> {
    async fn try_each(self, calls: Calls, mut timer: CallTimer) -> CallAnswer {
        let Calls { calls, passed_over } = calls;
        let mut earlier: Vec<Attempt> = Vec::new();
        let last = calls.len().saturating_sub(1);
        for (at, Call { origin, auth }) in calls.into_iter().enumerate() {
            let Some(request) = self.with_auth(auth.expose()) else { break };
            let called = match self.service.upstream.call(request).await {
                Ok(response) => ContainerdAnswer::read(response).await,
                Err(error) => Err(error),
            };
            let outcome = match called {
                Ok(outcome) => outcome,
                // containerd is gone; another credential would not help.
                Err(error) => return Ok(end(timer, &error.into_status()?)),
            };
            let code = outcome.status.code;
            if code == Code::OK {
                self.service.metrics.pulled(PullResult::Pulled, origin.host());
                report(
                    Level::Info,
                    format_args!("{}: pulled with the credential for {origin}", self.request),
                );
                timer.end(code);
                return Ok(outcome.into_response());
            }
            self.service.metrics.pulled(PullResult::Failed, origin.host());
            // Leave out containerd's message: it may repeat the credential that the kubelet sent.
            report(
                Level::Warning,
                format_args!("{}: failed with the credential for {origin}, code {}", self.request, code.0),
            );
            if at == last || matches!(code, Code::CANCELLED | Code::DEADLINE_EXCEEDED) {
                let status = answer::failed(&outcome.status, &earlier, &origin, &passed_over);
                timer.end(code);
                return Ok(outcome.with(&status).into_response());
            }
            earlier.push(Attempt { origin, status: outcome.status });
        }
        Ok(end(timer, &answer::too_late(&earlier)))
    }

    /// The caller's request with another `auth` and the remaining time; `None` if no time is left.
    fn with_auth(&self, auth: &[u8]) -> Option<Request<RequestBody>> {
        let mut head = without_length(self.head.clone());
        if let Some(allowed) = grpc::timeout(&head.headers) {
            let left = allowed.checked_sub(self.started.elapsed()).filter(|left| !left.is_zero())?;
            head.headers.insert(grpc::TIMEOUT, grpc::timeout_value(left));
        }
        let body = grpc::frame(&self.request.with_auth(auth));
        Some(Request::from_parts(head, RequestBody::Whole(Some(body))))
    }
}
