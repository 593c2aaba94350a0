//! The journal of a node: keeps as text what its programs send to journald with the native protocol.

use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use crate::{Error, error::Doing};

/// Stands in for journald. Entries are kept in the order of arrival, each with all its fields.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    entries: Arc<Mutex<Vec<String>>>,
}

impl Journal {
    /// Listens at journald's path, in the namespaces whose first process is `init`.
    pub(super) fn start(init: u32) -> Result<Self, Error> {
        let path = PathBuf::from(format!("/proc/{init}/root/run/systemd/journal/socket"));
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder).doing("creating", folder)?;
        let socket = UnixDatagram::bind(&path).doing("listening on", &path)?;
        let journal = Self { entries: Arc::default() };
        let kept = Arc::clone(&journal.entries);
        // The thread ends with the process: nothing arrives at a socket of a deleted namespace.
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
