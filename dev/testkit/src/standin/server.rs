//! A server with one thread per connection that logs every access and misbehaves on demand.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::net::{Shutdown as Ways, shutdown};
use rustls::ServerConfig;

use super::fault::{Fault, Trouble, spoiled};
use super::http::{Request, Response};
use super::stream::{Stream, tls};
use crate::certificates::Identity;
use crate::{Error, error::Doing as _, process::Place};

/// Returns the normal answer of a stand-in, and the user that sent the request.
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
    /// The user, if the credential was valid.
    pub user: Option<String>,
    /// The kind of credential that was sent: `Basic` or `Bearer`.
    pub shown: Option<String>,
    /// The requested range.
    pub range: Option<String>,
    /// The status of the answer; 0 if there was none.
    pub status: u16,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: TcpListener,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
    log: Mutex<Vec<Access>>,
    faults: Mutex<Vec<Fault>>,
    /// The number of clients that are kept waiting.
    outwaited: AtomicUsize,
}

impl Server {
    /// Starts a server on a port of a place's loopback (a free one for 0), with TLS if there is an identity.
    pub(super) fn start(
        (place, port): (Place, u16),
        identity: Option<&Identity>,
        service: Arc<impl Service>,
    ) -> Result<Self, Error> {
        let config = identity.map(tls).transpose()?;
        let loopback = Path::new("the loopback");
        let listener = place.listen(port).doing("listening on", loopback)?;
        let address = listener.local_addr().doing("listening on", loopback)?;
        let shared = Arc::new(Shared::default());
        let (accepts, serves) = (listener.try_clone().doing("listening on", loopback)?, Arc::clone(&shared));
        let accepting = thread::spawn(move || accept(&accepts, config.as_ref(), &serves, &service));
        Ok(Self { address, shared, listener, accepting: Some(accepting) })
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

    pub(super) fn outwaited(&self) -> usize {
        self.shared.outwaited.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        for connection in lock(&self.shared.connections).drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        // Wakes the accepting thread, which then sees that the server has stopped.
        let _ = shutdown(&self.listener, Ways::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
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
            // A broken connection is the client's problem, and often the point of the test.
            let _ = converse(&mut stream, &shared, service.as_ref());
            stream.cut();
        });
    }
}

/// Answers the requests of a connection until one of the two sides closes it.
fn converse(stream: &mut Stream, shared: &Shared, service: &impl Service) -> io::Result<()> {
    let mut buffer = Vec::new();
    while let Some(request) = Request::read(stream, &mut buffer).or_else(|error| refuse(stream, error))? {
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
            Some(Trouble::NeverAnswers) => return shared.outwait(stream),
            Some(Trouble::CutAfter(bytes)) => return begin(stream, &response, bytes),
            Some(Trouble::StallAfter(bytes)) => {
                begin(stream, &response, bytes)?;
                return shared.outwait(stream);
            }
            Some(Trouble::Chunked(more)) => response.write_chunked(stream, more.as_bytes())?,
            Some(Trouble::Huge(length)) => return flood(stream, &response, length),
            _ => response.write(stream, request.method == "HEAD")?,
        }
    }
    Ok(())
}

/// Answers an invalid request as other servers do: the answer tells a client that used TLS that this is plain HTTP.
fn refuse<T>(stream: &mut Stream, error: io::Error) -> io::Result<T> {
    stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n")?;
    Err(error)
}

/// Writes the head and only the beginning of the body.
fn begin(stream: &mut Stream, response: &Response, bytes: usize) -> io::Result<()> {
    stream.write_all(response.head(response.body.len() as u64).as_bytes())?;
    stream.write_all(&response.body[..bytes.min(response.body.len())])?;
    stream.flush()
}

/// Writes the head and a long body, until the client stops reading.
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

impl Shared {
    /// Sends nothing until the client gives up.
    fn outwait(&self, stream: &mut Stream) -> io::Result<()> {
        self.outwaited.fetch_add(1, Ordering::SeqCst);
        let mut ignored = [0; 1024];
        let left = loop {
            match stream.read(&mut ignored) {
                Ok(0) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        self.outwaited.fetch_sub(1, Ordering::SeqCst);
        left
    }

    /// Returns the next fault for a request to `target`.
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
