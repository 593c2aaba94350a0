//! What a stand-in can be made to do wrong.

use super::http::Response;

/// A fault to inject.
#[derive(Debug, Clone)]
pub struct Fault {
    /// What the path contains for which it happens; empty for every path.
    pub path: String,
    /// How many requests meet it.
    pub times: u32,
    /// What happens.
    pub trouble: Trouble,
}

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// An answer with this status, and how many seconds to wait.
    Status(u16, Option<u32>),
    /// An answer with this status and body.
    Says(u16, String),
    /// The credential is not taken, with this challenge, as when a token has run out.
    Challenge(String),
    /// A redirect to this URL.
    Redirect(String),
    /// The connection breaks after so many bytes of the body.
    CutAfter(usize),
    /// Nothing more comes after so many bytes of the body.
    StallAfter(usize),
    /// The first byte of the body is another.
    OtherBytes,
    /// This header has this value.
    Header(&'static str, String),
    /// The `Range` header is not heeded.
    Whole,
    /// The body is this one, with status 200.
    Body(String),
    /// The body comes in chunks of no announced length, with this after it.
    Chunked(String),
    /// The body is so long, if anybody reads that much.
    Huge(u64),
    /// No answer at all, but the connection stands.
    NeverAnswers,
}

impl Fault {
    /// The fault for the next `times` requests whose path contains `path`.
    #[must_use]
    pub fn new(path: &str, times: u32, trouble: Trouble) -> Self {
        Self { path: path.to_owned(), times, trouble }
    }

    /// The fault for every request whose path contains `path`.
    #[must_use]
    pub fn always(path: &str, trouble: Trouble) -> Self {
        Self::new(path, u32::MAX, trouble)
    }
}

/// The answer as a fault makes it.
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
