//! The journal of a node: what its programs send to journald, by the native protocol, kept as text.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use crate::{Error, error::Doing};

/// Stands in for journald. Entries are kept in the order in which they come, each with all its fields.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    entries: Arc<Mutex<Vec<String>>>,
}

impl Journal {
    /// Listens where journald would, in the namespaces whose first process is `init`.
    pub(super) fn start(init: u32) -> Result<Self, Error> {
        let path = PathBuf::from(format!("/proc/{init}/root/run/systemd/journal/socket"));
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).doing("creating", folder)?;
        let socket = UnixDatagram::bind(&path).doing("listening on", &path)?;
        let journal = Self { entries: Arc::default() };
        let kept = Arc::clone(&journal.entries);
        // Ends with the process: a socket in a namespace that is gone is sent nothing.
        thread::spawn(move || {
            let mut buffer = vec![0; 256 * 1024];
            while let Ok(length) = socket.recv(&mut buffer) {
                let entry = String::from_utf8_lossy(&buffer[..length]).into_owned();
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
            }
        });
        Ok(journal)
    }

    /// All entries up to now.
    pub(super) fn entries(&self) -> Vec<String> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
