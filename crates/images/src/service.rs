//! Handles one call: passes it through unchanged, unless it is a pull.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::body::{RequestBody, ResponseBody};
use crate::grpc::{self, Code, Status};
use crate::metrics::{CallTimer, Metrics};
use crate::node::NodeConfiguration;
use crate::upstream::Upstream;

/// The one method that we handle ourselves.
const PULL_IMAGE: &str = "/runtime.v1.ImageService/PullImage";

/// More pulls at once than a kubelet could ever make. When all permits are free, no pull is running.
const MOST_PULLS: u32 = 1 << 20;

/// The response to one call. An error resets the call, with the same code that containerd used.
pub(crate) type CallAnswer = Result<Response<ResponseBody>, hyper::Error>;

/// The state that all calls share.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) upstream: Upstream,
    pub(crate) node: Arc<NodeConfiguration>,
    pub(crate) metrics: Arc<Metrics>,
    pulls: Arc<Semaphore>,
}

impl Service {
    pub(crate) fn new(upstream: Upstream, node: NodeConfiguration, metrics: Arc<Metrics>) -> Self {
        let pulls = Arc::new(Semaphore::new(MOST_PULLS as usize));
        Self { upstream, node: Arc::new(node), metrics, pulls }
    }

    /// Answers one call. The caller cancels it by dropping the future or the response's body.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> CallAnswer {
        let timer = self.metrics.call(request.uri().path());
        if request.uri().path() == PULL_IMAGE {
            return self.pull_image(request, timer).await;
        }
        let (head, body) = request.into_parts();
        self.pass(head, RequestBody::Stream(body), timer, None).await
    }

    /// Passes a call on and its response back, both unchanged.
    pub(crate) async fn pass(
        &self,
        head: Parts,
        body: RequestBody,
        mut timer: CallTimer,
        place: Option<OwnedSemaphorePermit>,
    ) -> CallAnswer {
        match self.upstream.call(Request::from_parts(head, body)).await {
            Ok(response) => {
                // A response without a body has its status in its headers.
                if let Some(code) = grpc::code(response.headers()) {
                    timer.end(code);
                }
                Ok(response.map(|body| ResponseBody::Stream { body, timer, _place: place }))
            }
            Err(error) => Ok(end(timer, &error.into_status()?)),
        }
    }

    /// A permit for one pull; `None` while the service is stopping.
    pub(crate) fn begin_pull(&self) -> Option<OwnedSemaphorePermit> {
        self.pulls.clone().try_acquire_owned().ok()
    }

    /// Lets no further pull begin, and waits for the running ones.
    pub(crate) async fn last_pull_ended(&self) {
        // This takes every free permit at once and the others as they are returned, so nobody gets one meanwhile.
        if let Ok(all) = self.pulls.acquire_many(MOST_PULLS).await {
            all.forget();
        }
    }
}

/// A response that has only a status.
pub(crate) fn end(mut timer: CallTimer, status: &Status) -> Response<ResponseBody> {
    timer.end(status.code);
    let mut response = Response::new(ResponseBody::none());
    *response.headers_mut() = status.headers();
    response
}

/// The status for a pull that can no longer begin.
pub(crate) fn ending() -> Status {
    Status::new(Code::UNAVAILABLE, "pullwright-images is being stopped: the kubelet will try again")
}
