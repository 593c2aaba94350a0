//! One call: passed through as it is, unless it is a pull.

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

/// The one method that is ours.
const PULL_IMAGE: &str = "/runtime.v1.ImageService/PullImage";

/// As many pulls at once as a kubelet could ever make; all of them together are the sign that none is running.
const MOST_PULLS: u32 = 1 << 20;

/// The answer to one call. An error resets it, with the code that containerd reset it with.
pub(crate) type CallAnswer = Result<Response<ResponseBody>, hyper::Error>;

/// What all calls share.
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

    /// Answers one call. Dropping the future or the answer's body is how the caller cancels.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> CallAnswer {
        let timer = self.metrics.call(request.uri().path());
        if request.uri().path() == PULL_IMAGE {
            return self.pull_image(request, timer).await;
        }
        let (head, body) = request.into_parts();
        self.pass(head, RequestBody::Stream(body), timer, None).await
    }

    /// Passes a call on and its answer back, both as they come.
    pub(crate) async fn pass(
        &self,
        head: Parts,
        body: RequestBody,
        mut timer: CallTimer,
        place: Option<OwnedSemaphorePermit>,
    ) -> CallAnswer {
        match self.upstream.call(Request::from_parts(head, body)).await {
            Ok(response) => {
                // An answer without a body has its status in its headers.
                if let Some(code) = grpc::code(response.headers()) {
                    timer.end(code);
                }
                Ok(response.map(|body| ResponseBody::Stream { body, timer, _place: place }))
            }
            Err(error) => Ok(end(timer, &error.into_status()?)),
        }
    }

    /// A place among the pulls; none while the service ends.
    pub(crate) fn begin_pull(&self) -> Option<OwnedSemaphorePermit> {
        self.pulls.clone().try_acquire_owned().ok()
    }

    /// Lets no further pull begin, and waits for those that run.
    pub(crate) async fn last_pull_ended(&self) {
        // It takes every free place at once and the others as they come back, so nobody gets one meanwhile.
        if let Ok(all) = self.pulls.acquire_many(MOST_PULLS).await {
            all.forget();
        }
    }
}

/// An answer that is a status and nothing else.
pub(crate) fn end(mut timer: CallTimer, status: &Status) -> Response<ResponseBody> {
    timer.end(status.code);
    let mut response = Response::new(ResponseBody::none());
    *response.headers_mut() = status.headers();
    response
}

/// What a caller is told whose pull cannot begin any more.
pub(crate) fn ending() -> Status {
    Status::new(Code::UNAVAILABLE, "pullwright-images is being stopped: the kubelet will try again")
}
