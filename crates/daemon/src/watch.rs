//! What goes wrong with a watch.

use kube::runtime::watcher;

use crate::message;

/// The client's error in a watch's, if it is one.
#[must_use]
pub fn client_error(error: &watcher::Error) -> Option<&kube::Error> {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Some(error),
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => None,
    }
}

/// Says what went wrong, as [`message`] does.
#[must_use]
pub fn watch_message(error: &watcher::Error) -> String {
    client_error(error).map_or_else(|| error.to_string(), message)
}
