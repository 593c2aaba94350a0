//! Notifies systemd: ready, alive, stopping. Sends one datagram each, and nothing if there is no systemd.

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The connection to systemd for `Type=notify`.
#[derive(Debug)]
pub(crate) struct Notify {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often to report that we are alive.
    pub(crate) watchdog: Option<Duration>,
}

impl Notify {
    /// Reads the variables that systemd sets for a service.
    pub(crate) fn from_vars(var: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let address = var("NOTIFY_SOCKET").and_then(|name| match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
            _ => SocketAddr::from_pathname(&name).ok(),
        });
        let socket = address.and_then(|address| Some((UnixDatagram::unbound().ok()?, address)));
        let number = |name: &str| var(name)?.to_str()?.parse::<u64>().ok();
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        // Report twice as often as required, so that one late report does no harm.
        let watchdog = number("WATCHDOG_USEC").filter(|micros| ours && *micros > 1).map(|micros| micros / 2);
        Self { socket, watchdog: watchdog.map(Duration::from_micros) }
    }

    /// Sends `state`, such as `READY=1`. If nobody receives it, nothing is lost.
    pub(crate) fn say(&self, state: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(state.as_bytes(), address);
        }
    }
}
