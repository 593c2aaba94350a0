//! Sockets on the loopback of this machine, or of a node's own network.

use std::{
    fs::File,
    io,
    net::{TcpListener, TcpStream},
    os::fd::AsFd as _,
    thread,
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::process::Place;

impl Place {
    /// Listens on a port of this place's loopback; on a free one for 0.
    pub(crate) fn listen(self, port: u16) -> io::Result<TcpListener> {
        self.there(|| TcpListener::bind(("127.0.0.1", port)))
    }

    /// Connects to a port of this place's loopback.
    pub fn connect(self, port: u16) -> io::Result<TcpStream> {
        self.there(|| TcpStream::connect(("127.0.0.1", port)))
    }

    /// Makes a socket in this place's network. It belongs to that network wherever it is used afterwards.
    fn there<T: Send>(self, make: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let Self::Inside(init) = self else { return make() };
        // A thread that enters a network stays there, so this uses a new thread.
        let socket = thread::scope(|scope| {
            let entered = scope.spawn(|| {
                let network = File::open(format!("/proc/{init}/ns/net"))?;
                move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
                make()
            });
            entered.join()
        });
        socket.unwrap_or_else(|_| Err(io::Error::other("making a socket panicked")))
    }
}
