//! A TCP connection on which every wait ends at the deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::origin::Origin;

/// A connection whose reads and writes fail with [`ErrorKind::TimedOut`] at the deadline.
pub(crate) struct Socket {
    stream: TcpStream,
    pub(super) deadline: Instant,
}

impl Socket {
    pub(super) fn connect(origin: &Origin, deadline: Instant) -> io::Result<Self> {
        let addresses = match origin.address() {
            Some(address) => vec![SocketAddr::new(address, origin.port)],
            None => look_up(origin.host.clone(), origin.port, deadline)?,
        };
        let mut failure = io::Error::new(ErrorKind::NotFound, format!("{} has no address", origin.host));
        let mut untried = addresses.len();
        for address in addresses {
            // Leave time for the next address if this one does not respond.
            let share = left(deadline)? / u32::try_from(untried).unwrap_or(u32::MAX);
            untried -= 1;
            match TcpStream::connect_timeout(&address, share) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(Self { stream, deadline });
                }
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}

/// Looks up a host's addresses. The system's lookup has no time limit, so a thread waits for it. If we stop waiting for
/// the thread, the process ends before it does.
fn look_up(host: String, port: u16, deadline: Instant) -> io::Result<Vec<SocketAddr>> {
    let (give, take) = sync_channel(1);
    std::thread::Builder::new().name("lookup".to_owned()).spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
        let _ = give.send(found);
    })?;
    match take.recv_timeout(left(deadline)?) {
        Ok(found) => found,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(ErrorKind::TimedOut.into()),
    }
}

/// The time until the deadline, or an error if it has passed.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Converts the error that the system returns when a socket's own time limit has passed.
fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.deadline)?))?;
        self.stream.read(buffer).map_err(timed_out)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[io::IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.deadline)?))?;
        self.stream.write_vectored(slices).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
