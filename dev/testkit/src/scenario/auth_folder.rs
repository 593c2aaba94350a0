//! The folder in which a plugin hands credentials to the runtime, and everything that happens there.

use std::{
    fs, io,
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init},
    io::Errno,
};

use crate::{Error, error::Doing};

/// The folders inside the auth folder for credentials that a runtime has taken, and for those that wait for a ticket.
const WITHIN: [&str; 2] = ["in-use", "tickets"];

/// A change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was created.
    Created,
    /// It was closed after writing.
    Written,
    /// It was renamed to another name.
    MovedAway,
    /// It was renamed to this name.
    MovedHere,
    /// It was removed.
    Removed,
}

/// The correct life of an auth file: it appears complete, the runtime takes it, and then removes it.
pub const WHOLE_THEN_TAKEN_THEN_GONE: [(bool, Change); 4] = [
    (false, Change::MovedHere),
    (false, Change::MovedAway),
    (true, Change::MovedHere),
    (true, Change::Removed),
];

/// One event in the auth folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthEvent {
    /// The file, relative to the folder.
    pub file: String,
    /// The change.
    pub change: Change,
}

/// The auth folder under watch. The kernel keeps the events in order until they are asked for.
#[derive(Debug)]
pub(super) struct AuthFolder {
    folder: PathBuf,
    inotify: OwnedFd,
    within: Vec<(i32, &'static str)>,
    events: Vec<AuthEvent>,
}

impl AuthFolder {
    /// Watches `folder` from now on.
    pub(super) fn watch(folder: &Path) -> Result<Self, Error> {
        let inotify = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .map_err(Into::into)
            .doing("watching", folder)?;
        let changes = WatchFlags::CREATE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE;
        let within_folders = WITHIN.map(|name| (name, folder.join(name)));
        // Also the folder itself, which a node without CRI-O and without the image service lacks.
        for (_, folder) in &within_folders {
            fs::create_dir_all(folder).doing("creating", folder)?;
        }
        add_watch(&inotify, folder, changes).map_err(Into::into).doing("watching", folder)?;
        let mut within = Vec::new();
        for (name, folder) in within_folders {
            let watch =
                add_watch(&inotify, &folder, changes).map_err(Into::into).doing("watching", &folder)?;
            within.push((watch, name));
        }
        Ok(Self { folder: folder.to_owned(), inotify, within, events: Vec::new() })
    }

    /// All events since the watch began.
    pub(super) fn events(&mut self) -> Result<Vec<AuthEvent>, Error> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let name =
                        event.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                    let within = self.within.iter().find(|(watch, _)| *watch == event.wd());
                    let file = within.map_or(name.clone(), |(_, folder)| format!("{folder}/{name}"));
                    let change = match event.events() {
                        flags if flags.contains(ReadFlags::CREATE) => Change::Created,
                        flags if flags.contains(ReadFlags::CLOSE_WRITE) => Change::Written,
                        flags if flags.contains(ReadFlags::MOVED_FROM) => Change::MovedAway,
                        flags if flags.contains(ReadFlags::MOVED_TO) => Change::MovedHere,
                        flags if flags.contains(ReadFlags::DELETE) => Change::Removed,
                        _ => continue,
                    };
                    self.events.push(AuthEvent { file, change });
                }
                Err(Errno::AGAIN) => return Ok(self.events.clone()),
                Err(error) => {
                    return Err(io::Error::from(error)).doing("reading events of", &self.folder);
                }
            }
        }
    }

    /// The files there now.
    pub(super) fn files(&self) -> Result<Vec<String>, Error> {
        let mut files = Vec::new();
        let within = WITHIN.map(|name| (format!("{name}/"), self.folder.join(name)));
        for (prefix, folder) in [(String::new(), self.folder.clone())].into_iter().chain(within) {
            for entry in fs::read_dir(&folder).doing("reading", &folder)?.flatten() {
                if entry.path().is_file() {
                    files.push(format!("{prefix}{}", entry.file_name().display()));
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// Removes the files.
    pub(super) fn clear(&self) -> Result<(), Error> {
        for file in self.files()? {
            let path = self.folder.join(file);
            fs::remove_file(&path).doing("removing", &path)?;
        }
        Ok(())
    }
}
