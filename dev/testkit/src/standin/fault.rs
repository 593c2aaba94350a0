//! The faults that can be injected into a stand-in.

use super::http::Response;

/// A fault to inject.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The fault applies to paths that contain this; empty for every path.
    pub path: String,
    /// The number of requests that the fault applies to.
    pub times: u32,
    /// What goes wrong.
    pub trouble: Trouble,
}

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// The answer has this status, and asks to wait so many seconds.
    Status(u16, Option<u32>),
    /// The answer has this status and body.
    Says(u16, String),
    /// The credential is refused with this challenge, like an expired token.
    Challenge(String),
    /// The answer is a redirect to this URL.
    Redirect(String),
    /// The connection breaks after so many bytes of the body.
    CutAfter(usize),
    /// Nothing more comes after so many bytes of the body.
    StallAfter(usize),
    /// The first byte of the body is changed.
    OtherBytes,
    /// This header has this value.
    Header(&'static str, String),
    /// The `Range` header is ignored.
    Whole,
    /// The body is this one, with status 200.
    Body(String),
    /// The body is sent in chunks without a total length, followed by this text.
    Chunked(String),
    /// The body has this length, if the client reads that much.
    Huge(u64),
    /// There is no answer, but the connection stays open.
    NeverAnswers,
}

impl Fault {
    /// A fault for the next `times` requests whose path contains `path`.
    #[must_use]
    pub fn new(path: &str, times: u32, trouble: Trouble) -> Self {
        Self { path: path.to_owned(), times, trouble }
    }

    /// A fault for every request whose path contains `path`.
    #[must_use]
    pub fn always(path: &str, trouble: Trouble) -> Self {
        Self::new(path, u32::MAX, trouble)
    }
}

/// Returns the answer with the fault applied.
pub(super) fn spoiled(mut response: Response, trouble: &Trouble) -> Response {
    match trouble {
        Trouble::Status(status, retry_after) => {
            let answer = Response::new(*status, "");
            match retry_after {
                Some(seconds) => answer.with("Retry-After", seconds.to_string()),
                None => answer,
            }
        }
        Trouble::Says(status, body) => Response::new(*status, body.as_bytes()),
        Trouble::Challenge(challenge) => Response::new(401, "").with("WWW-Authenticate", challenge.as_str()),
        Trouble::Redirect(url) => Response::new(307, "").with("Location", url.as_str()),
        Trouble::Body(body) => Response::new(200, body.as_bytes()),
        Trouble::Huge(_) => Response::new(200, ""),
        Trouble::Header(name, value) => {
            response.headers.retain(|(key, _)| key != name);
            response.with(name, value.as_str())
        }
        Trouble::OtherBytes => {
            if let Some(first) = response.body.first_mut() {
                *first ^= 1;
            }
            response
        }
        _ => response,
    }
}
