//! Sleeping until something leaves a folder or comes into it, or time is up.

use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::folder::PrivateFolder;

/// How often to look where the kernel has no watch for us.
const WITHOUT_WATCH: Duration = Duration::from_millis(10);

/// A watch on a folder for files that leave it, or for those that come.
///
/// The kernel gives a user few of these (128 by default, shared by all of root's programs): when none is left, we
/// look again every few milliseconds instead, for a pull must not fail for want of one.
pub(crate) struct Watch(Option<OwnedFd>);

impl Watch {
    /// Begins to watch. Events from now on end a [`Watch::wait`], so look at the folder again before waiting.
    pub(crate) fn for_leaving(folder: &PrivateFolder) -> Self {
        Self::new(folder, WatchFlags::MOVED_FROM | WatchFlags::DELETE)
    }

    /// The same for files that are moved in.
    pub(crate) fn for_coming(folder: &PrivateFolder) -> Self {
        Self::new(folder, WatchFlags::MOVED_TO)
    }

    fn new(folder: &PrivateFolder, what: WatchFlags) -> Self {
        let watch = || {
            let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            // Through the descriptor, not the path: it is the folder that was checked.
            let folder = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
            inotify::add_watch(&fd, folder, what)?;
            rustix::io::Result::Ok(fd)
        };
        Self(watch().ok())
    }

    /// Sleeps until it has happened, at most for `time`. May return early.
    pub(crate) fn wait(&self, time: Duration) {
        let Some(fd) = &self.0 else {
            std::thread::sleep(time.min(WITHOUT_WATCH));
            return;
        };
        let timeout = Timespec::try_from(time).ok();
        let woken = poll(&mut [PollFd::new(fd, PollFlags::IN)], timeout.as_ref());
        // What happened does not matter, only that it did; what a short buffer leaves wakes us once more.
        if matches!(woken, Ok(1..)) {
            let _ = rustix::io::read(fd, &mut [0u8; 4096]);
        }
    }
}
