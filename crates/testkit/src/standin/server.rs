//! A server of one thread for each connection, that logs every access and misbehaves on demand.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustls::ServerConfig;

use super::http::{Request, Response};
use super::stream::{Stream, tls};
use crate::certificates::Identity;
use crate::{Error, error::Doing as _};

/// What a stand-in answers when nothing is broken, and whom it takes the request to be from.
pub(super) trait Service: Send + Sync + 'static {
    fn answer(&self, request: &Request) -> (Option<String>, Response);
}

/// One access, as the server saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// Who it was, if the credential was good.
    pub user: Option<String>,
    /// What kind of credential was shown: `Basic` or `Bearer`.
    pub shown: Option<String>,
    /// The part that was asked for.
    pub range: Option<String>,
    /// The answer; 0 if there was none.
    pub status: u16,
}

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

/// A server that runs until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
    log: Mutex<Vec<Access>>,
    faults: Mutex<Vec<Fault>>,
}

impl Server {
    /// Starts a server on a free port of the loopback, with TLS if it is given an identity.
    pub(super) fn start(identity: Option<&Identity>, service: Arc<impl Service>) -> Result<Self, Error> {
        let config = identity.map(tls).transpose()?;
        let loopback = Path::new("127.0.0.1:0");
        let listener = TcpListener::bind("127.0.0.1:0").doing("listening on", loopback)?;
        let address = listener.local_addr().doing("listening on", loopback)?;
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        let listener = thread::spawn(move || accept(&listener, config.as_ref(), &accepting, &service));
        Ok(Self { address, shared, listener: Some(listener) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn log(&self) -> Vec<Access> {
        lock(&self.shared.log).clone()
    }

    pub(super) fn inject(&self, fault: Fault) {
        lock(&self.shared.faults).push(fault);
    }

    pub(super) fn mend(&self) {
        lock(&self.shared.faults).clear();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        for connection in lock(&self.shared.connections).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn accept(
    listener: &TcpListener,
    config: Option<&Arc<ServerConfig>>,
    shared: &Arc<Shared>,
    service: &Arc<impl Service>,
) {
    for tcp in listener.incoming() {
        if shared.stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(tcp) = tcp else { continue };
        let Ok(copy) = tcp.try_clone() else { continue };
        lock(&shared.connections).push(copy);
        let Some(mut stream) = Stream::new(tcp, config) else { continue };
        let (shared, service) = (Arc::clone(shared), Arc::clone(service));
        thread::spawn(move || {
            // A connection that breaks is the client's affair, and often the point of the test.
            let _ = converse(&mut stream, &shared, service.as_ref());
            stream.cut();
        });
    }
}

/// Answers the requests of a connection until one of the two has enough.
fn converse(stream: &mut Stream, shared: &Shared, service: &impl Service) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = Request::read(stream, &mut buffer)? {
        let trouble = shared.trouble(&request.target);
        let (user, response) = service.answer(&request);
        let response = match &trouble {
            Some(Trouble::Whole) | None => response,
            Some(trouble) => spoiled(response, trouble),
        };
        let response = match (&trouble, request.header("range")) {
            (None | Some(Trouble::CutAfter(_) | Trouble::StallAfter(_)), range) if response.status == 200 => {
                response.part(range)
            }
            _ => response,
        };
        let silent = trouble == Some(Trouble::NeverAnswers);
        lock(&shared.log).push(Access {
            method: request.method.clone(),
            path: request.target.clone(),
            user,
            shown: request
                .header("authorization")
                .and_then(|value| value.split(' ').next())
                .map(str::to_owned),
            range: request.header("range").map(str::to_owned),
            status: if silent { 0 } else { response.status },
        });
        match trouble {
            Some(Trouble::NeverAnswers) => return outwait(stream),
            Some(Trouble::CutAfter(bytes)) => return begin(stream, &response, bytes),
            Some(Trouble::StallAfter(bytes)) => {
                begin(stream, &response, bytes)?;
                return outwait(stream);
            }
            Some(Trouble::Chunked(more)) => response.write_chunked(stream, more.as_bytes())?,
            Some(Trouble::Huge(length)) => return flood(stream, &response, length),
            _ => response.write(stream, request.method == "HEAD")?,
        }
    }
    Ok(())
}

/// The answer as a fault makes it.
fn spoiled(mut response: Response, trouble: &Trouble) -> Response {
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

/// Writes the head and only the beginning of the body.
fn begin(stream: &mut Stream, response: &Response, bytes: usize) -> io::Result<()> {
    stream.write_all(response.head(response.body.len() as u64).as_bytes())?;
    stream.write_all(&response.body[..bytes.min(response.body.len())])?;
    stream.flush()
}

/// Writes the head and a long body, until the client has enough of it.
fn flood(stream: &mut Stream, response: &Response, length: u64) -> io::Result<()> {
    stream.write_all(response.head(length).as_bytes())?;
    let chunk = [b' '; 16 << 10];
    let mut written = 0;
    while written < length {
        stream.write_all(&chunk)?;
        written += chunk.len() as u64;
    }
    stream.flush()
}

/// Says nothing until the client gives up.
fn outwait(stream: &mut Stream) -> io::Result<()> {
    let mut ignored = [0; 1024];
    while stream.read(&mut ignored)? > 0 {}
    Ok(())
}

impl Shared {
    /// The next fault that a request for `target` meets.
    fn trouble(&self, target: &str) -> Option<Trouble> {
        let mut faults = lock(&self.faults);
        let met = faults.iter_mut().find(|fault| fault.times > 0 && target.contains(&fault.path))?;
        if met.times != u32::MAX {
            met.times -= 1;
        }
        Some(met.trouble.clone())
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
