//! A cable between a program and a server on this machine, which a test can cut.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use rustix::net::{Shutdown as Ways, shutdown};

use crate::{Error, error::Doing, process::Place};

/// More connections than this are closed as soon as they are made: each costs two threads.
const MAX_CONNECTIONS: usize = 256;
/// How long a write may keep [`Cable::cut`] waiting, and how often a stalled thread looks whether it can go on.
const PATIENCE: Duration = Duration::from_millis(20);

/// A TCP proxy on a port of the loopback. It ends, with all its connections, when this value is dropped.
///
/// While it is cut, it is like a network that loses every packet: connections stay open and silent, and new ones are made but
/// stay silent, too. What was sent meanwhile arrives late, when the cable is mended, as TCP would send it again. A test that
/// wants it to be lost calls [`Cable::break_connections`] before [`Cable::mend`].
#[derive(Debug)]
pub struct Cable {
    port: u16,
    listener: TcpListener,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    /// The port of the server.
    to: u16,
    /// Whether the cable is cut. Every write holds this lock, so that nothing passes once `cut` has returned.
    cut: RwLock<bool>,
    connections: Mutex<Vec<Arc<Connection>>>,
}

/// One connection of a client.
#[derive(Debug)]
struct Connection {
    client: TcpStream,
    /// The other half, which is made only when the cable is not cut.
    server: Mutex<Option<TcpStream>>,
    broken: AtomicBool,
}

impl Cable {
    /// Lays a cable to a port of the loopback.
    pub fn to(port: u16) -> Result<Self, Error> {
        let loopback = Path::new("the loopback");
        let listener = Place::Host.listen(0).doing("listening on", loopback)?;
        let address = listener.local_addr().doing("listening on", loopback)?;
        let accepts = listener.try_clone().doing("listening on", loopback)?;
        let shared =
            Arc::new(Shared { to: port, cut: RwLock::new(false), connections: Mutex::new(Vec::new()) });
        let serves = Arc::clone(&shared);
        let accepting = thread::spawn(move || accept(&accepts, &serves));
        Ok(Self { port: address.port(), listener, shared, accepting: Some(accepting) })
    }

    /// The port of this end of the cable.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of an HTTPS server at the other end.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Cuts the cable: nothing passes any more, in neither direction, and neither side is told.
    pub fn cut(&self) {
        self.set_cut(true);
    }

    /// Mends the cable: everything that waited passes.
    pub fn mend(&self) {
        self.set_cut(false);
    }

    /// Closes all connections, on both sides. What they had not delivered is lost.
    pub fn break_connections(&self) {
        for connection in lock(&self.shared.connections).iter() {
            connection.break_off();
        }
    }

    /// The number of open connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        lock(&self.shared.connections).len()
    }

    fn set_cut(&self, cut: bool) {
        *self.shared.cut.write().unwrap_or_else(PoisonError::into_inner) = cut;
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        // Wakes the accepting thread, which then ends.
        let _ = shutdown(&self.listener, Ways::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
        self.break_connections();
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let client = match listener.accept() {
            Ok((client, _)) => client,
            // The cable was dropped.
            Err(error) if error.kind() == ErrorKind::InvalidInput => return,
            Err(_) => continue,
        };
        let mut connections = lock(&shared.connections);
        if connections.len() >= MAX_CONNECTIONS {
            continue;
        }
        let connection =
            Arc::new(Connection { client, server: Mutex::default(), broken: AtomicBool::new(false) });
        connections.push(Arc::clone(&connection));
        drop(connections);
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // Whatever goes wrong, both sides see that the connection has ended.
            let _ = carry(&shared, &connection);
            connection.break_off();
            lock(&shared.connections).retain(|other| !Arc::ptr_eq(other, &connection));
        });
    }
}

/// Carries bytes in both directions until both sides have closed the connection. `None` if it was broken.
fn carry(shared: &Arc<Shared>, connection: &Arc<Connection>) -> Option<()> {
    let server = {
        let _open = shared.pass(connection)?;
        let server = Place::Host.connect(shared.to).ok()?;
        *lock(&connection.server) = Some(server.try_clone().ok()?);
        server
    };
    let client = connection.client.try_clone().ok()?;
    for stream in [&client, &server] {
        stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(PATIENCE))).ok()?;
    }
    let (shared, connection) = (shared.as_ref(), connection.as_ref());
    thread::scope(|scope| {
        let forth = scope.spawn(|| pump(shared, connection, &client, &server));
        let back = pump(shared, connection, &server, &client);
        forth.join().ok()?.and(back)
    })
}

/// Carries bytes in one direction, and the end after them. If that fails, the connection ends in both directions.
fn pump(shared: &Shared, connection: &Connection, from: &TcpStream, to: &TcpStream) -> Option<()> {
    let carried = forward(shared, connection, from, to);
    if carried.is_none() {
        // A connection that was reset on one side ends on the other, but not while the cable is cut.
        drop(shared.pass(connection));
        connection.break_off();
    }
    carried
}

fn forward(shared: &Shared, connection: &Connection, mut from: &TcpStream, mut to: &TcpStream) -> Option<()> {
    let mut buffer = vec![0; 32 << 10];
    loop {
        let mut bytes = match from.read(&mut buffer) {
            Ok(length) => &buffer[..length],
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        if bytes.is_empty() {
            let _open = shared.pass(connection)?;
            return to.shutdown(Shutdown::Write).ok();
        }
        while !bytes.is_empty() {
            let _open = shared.pass(connection)?;
            match to.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                // The reader is slow: the cable can be cut meanwhile.
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(_) => return None,
            }
        }
    }
}

impl Shared {
    /// Waits until the cable is not cut, and keeps it so. `None` if the connection is broken before.
    fn pass(&self, connection: &Connection) -> Option<RwLockReadGuard<'_, bool>> {
        loop {
            if connection.broken.load(Ordering::SeqCst) {
                return None;
            }
            let cut = self.cut.read().unwrap_or_else(PoisonError::into_inner);
            if !*cut {
                return Some(cut);
            }
            drop(cut);
            thread::sleep(PATIENCE);
        }
    }
}

impl Connection {
    fn break_off(&self) {
        self.broken.store(true, Ordering::SeqCst);
        // These fail if the other side is already gone.
        let _ = self.client.shutdown(Shutdown::Both);
        if let Some(server) = &*lock(&self.server) {
            let _ = server.shutdown(Shutdown::Both);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
