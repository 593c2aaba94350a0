//! The journal's native protocol: one datagram per entry, with fields.

use std::os::unix::net::UnixDatagram;
use std::path::Path;

/// A connection to the journal of this machine.
#[derive(Debug)]
pub(crate) struct Journal(UnixDatagram);

impl Journal {
    /// Connects to the journal; `None` if there is none.
    pub(crate) fn connect(listens_at: &Path) -> Option<Self> {
        let socket = UnixDatagram::unbound().ok()?;
        socket.connect(listens_at).ok()?;
        // A full journal must not hold up a pull.
        socket.set_nonblocking(true).ok()?;
        Some(Self(socket))
    }

    /// Sends an entry. If the journal does not accept it, it is lost: no pull depends on it.
    pub(crate) fn send<'a>(&self, fields: impl IntoIterator<Item = (&'static str, &'a str)>) {
        let _ = self.0.send(&entry(fields));
    }
}

/// Encodes an entry: `NAME=value`, or, for a value of several lines, the length before it.
fn entry<'a>(fields: impl IntoIterator<Item = (&'static str, &'a str)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.extend_from_slice(name.as_bytes());
        if value.contains('\n') {
            out.push(b'\n');
            out.extend_from_slice(&(value.len() as u64).to_le_bytes());
        } else {
            out.push(b'=');
        }
        out.extend_from_slice(value.as_bytes());
        out.push(b'\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn a_value_of_several_lines_cannot_forge_a_field() {
        assert_eq!(entry([("A", "b"), ("C", "d")]), b"A=b\nC=d\n");
        assert_eq!(entry([("A", "b\nC=d")]), b"A\n\x05\0\0\0\0\0\0\0b\nC=d\n");
    }
}
