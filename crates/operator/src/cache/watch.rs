//! The watch that keeps a cache up to date.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, pin_mut};
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use pullwright_daemon::{client_error, watch_message};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::kept::{Kept, Seen};
use crate::category::Category;
use crate::metrics::Metrics;

/// What of an object is kept in memory. A Node is tens of kilobytes, of which a few words matter here.
pub type Trim<K, T> = fn(K) -> T;

/// How long to wait before asking again for a kind that the cluster does not have, or does not show us.
const ABSENT_RETRY: Duration = Duration::from_secs(30);
/// How long to wait before believing that a kind is gone. An API server that has just started may not know it yet, and believing it would
/// take the configuration off every node.
const DOUBT: Duration = Duration::from_secs(5);

/// How far a cache is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// The first list has not been read yet.
    Cold,
    /// It holds all objects.
    Warm,
    /// The API server has no such kind, so there are no objects.
    Absent,
    /// The API server does not let us read the kind.
    Forbidden,
}

/// The objects of one kind.
#[derive(Debug)]
pub struct Cache<T> {
    shared: Arc<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T> {
    kind: &'static str,
    inner: Mutex<(CacheState, Kept<T>)>,
}

impl<T: PartialEq + Send + Sync + 'static> Cache<T> {
    /// Starts a watch of a kind. It tells `changed` whenever the objects are different from before.
    pub fn start<K>(
        kind: &'static str,
        api: Api<DeserializeGuard<K>>,
        config: watcher::Config,
        trim: Trim<K, T>,
        changed: Arc<Notify>,
        metrics: Metrics,
    ) -> Self
    where
        K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
        K::DynamicType: Default,
    {
        let shared = Arc::new(Shared { kind, inner: Mutex::new((CacheState::Cold, Kept::default())) });
        let cache = Self { shared: Arc::clone(&shared) };
        tokio::spawn(async move {
            let mut refused_before = None;
            loop {
                let refused = follow(&shared, &api, &config, trim, &changed, &metrics).await;
                let confirmed = refused_before == Some(refused);
                if confirmed {
                    shared.settle(refused, &changed);
                }
                refused_before = Some(refused);
                sleep(if confirmed { ABSENT_RETRY } else { DOUBT }).await;
            }
        });
        cache
    }

    /// How far it is.
    #[must_use]
    pub fn state(&self) -> CacheState {
        self.lock().0
    }

    /// The kind of its objects.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.shared.kind
    }

    /// Calls `read` with the objects.
    pub fn with<R>(&self, read: impl FnOnce(&Kept<T>) -> R) -> R {
        read(&self.lock().1)
    }

    /// The objects as they are now.
    #[must_use]
    pub fn snapshot(&self) -> Vec<Arc<T>> {
        self.with(|kept| kept.objects().values().cloned().collect())
    }

    fn lock(&self) -> MutexGuard<'_, (CacheState, Kept<T>)> {
        self.shared.lock()
    }
}

impl<T: PartialEq> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, (CacheState, Kept<T>)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note that the kind cannot be watched. One that is gone has no objects; one that is only hidden keeps those it had.
    fn settle(&self, state: CacheState, changed: &Notify) {
        let mut inner = self.lock();
        let before = std::mem::replace(&mut inner.0, state);
        let emptied = state == CacheState::Absent && inner.1.clear();
        drop(inner);
        if before != state {
            tracing::info!(kind = self.kind, "the API server {}", state.in_words());
        }
        if emptied || before != state {
            changed.notify_one();
        }
    }
}

impl CacheState {
    fn in_words(self) -> &'static str {
        match self {
            Self::Cold => "has not answered yet",
            Self::Warm => "serves this kind",
            Self::Absent => "has no such kind",
            Self::Forbidden => "does not let the operator read this kind",
        }
    }
}

/// Follows a watch until the API server says that the kind is not there, or not for us, and returns which. Everything else is tried again
/// at growing intervals, and the objects stay meanwhile.
async fn follow<K, T>(
    shared: &Shared<T>,
    api: &Api<DeserializeGuard<K>>,
    config: &watcher::Config,
    trim: Trim<K, T>,
    changed: &Notify,
    metrics: &Metrics,
) -> CacheState
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
    K::DynamicType: Default,
    T: PartialEq,
{
    let kind = shared.kind;
    let events = watcher(api.clone(), config.clone()).default_backoff();
    pin_mut!(events);
    while let Some(event) = events.next().await {
        let error = match event {
            Ok(event) => {
                let listed = matches!(event, Event::InitDone);
                let event = read(event, trim);
                if let Event::Apply(Seen { key, value: Err(why) })
                | Event::InitApply(Seen { key, value: Err(why) }) = &event
                {
                    tracing::error!(reason = %Category::Unparsable, kind, name = key.name, "cannot read the object: {why}");
                }
                let mut inner = shared.lock();
                let (state, kept) = &mut *inner;
                let mut news = kept.take(event);
                if listed && *state != CacheState::Warm {
                    *state = CacheState::Warm;
                    news = true;
                }
                metrics.objects(kind, kept.objects().len(), kept.unparsable().len());
                drop(inner);
                if news {
                    changed.notify_one();
                }
                continue;
            }
            Err(error) => error,
        };
        metrics.watch_error(kind, category(&error));
        match status(&error) {
            Some(404) => return CacheState::Absent,
            Some(401 | 403) => return CacheState::Forbidden,
            _ => {
                tracing::warn!(reason = %category(&error), kind, "the watch was interrupted: {}", watch_message(&error));
            }
        }
    }
    // A watch has no end.
    CacheState::Cold
}

fn read<K: Resource + 'static, T>(event: Event<DeserializeGuard<K>>, trim: Trim<K, T>) -> Event<Seen<T>>
where
    K::DynamicType: Default,
{
    let seen = |DeserializeGuard(object): DeserializeGuard<K>| match object {
        Ok(object) => Seen { key: object.meta().into(), value: Ok(trim(object)) },
        Err(invalid) => Seen { key: (&invalid.metadata).into(), value: Err(invalid.error) },
    };
    match event {
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(seen(object)),
        Event::InitDone => Event::InitDone,
        Event::Apply(object) => Event::Apply(seen(object)),
        Event::Delete(object) => Event::Delete(seen(object)),
    }
}

fn status(error: &watcher::Error) -> Option<u16> {
    match client_error(error) {
        Some(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

fn category(error: &watcher::Error) -> Category {
    client_error(error).map_or(Category::ApiUnavailable, Category::of)
}
