//! Sleeps until a file leaves or enters a folder, or the time is up.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::folder::PrivateFolder;

/// How often to check the folder when the kernel grants no watch.
const WITHOUT_WATCH: Duration = Duration::from_millis(10);

/// Watches a folder for files that leave it, or for files that are moved in.
///
/// The kernel grants a user only a few watches (128 by default, shared by all of root's programs). When none is left,
/// the caller checks every few milliseconds instead, because a pull must not fail for lack of a watch.
pub(crate) struct Watch(Option<OwnedFd>);

impl Watch {
    /// Starts watching for files that leave. Later events end a [`Watch::wait`], so check the folder again before you
    /// wait.
    pub(crate) fn for_leaving(folder: &PrivateFolder) -> Self {
        Self::new(folder, WatchFlags::MOVED_FROM | WatchFlags::DELETE)
    }

    /// Starts watching for files that are moved in.
    pub(crate) fn for_coming(folder: &PrivateFolder) -> Self {
        Self::new(folder, WatchFlags::MOVED_TO)
    }

    fn new(folder: &PrivateFolder, what: WatchFlags) -> Self {
        let watch = || {
            let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            // Use the descriptor, not the path: it refers to the folder that was checked.
            let folder = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
            inotify::add_watch(&fd, folder, what)?;
            rustix::io::Result::Ok(fd)
        };
        Self(watch().ok())
    }

    /// Sleeps until an event occurs, but no longer than `time`. May return early.
    pub(crate) fn wait(&self, time: Duration) {
        let Some(fd) = &self.0 else {
            std::thread::sleep(time.min(WITHOUT_WATCH));
            return;
        };
        let timeout = Timespec::try_from(time).ok();
        let woken = poll(&mut [PollFd::new(fd, PollFlags::IN)], timeout.as_ref());
        // The event's details do not matter. If the buffer is too short for all of them, the rest wakes us once more.
        if matches!(woken, Ok(1..)) {
            let _ = rustix::io::read(fd, &mut [0u8; 4096]);
        }
    }
}
