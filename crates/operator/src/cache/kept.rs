//! The objects of one kind as a watch reports them, without the watch: a value that takes events.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;

/// What names an object among those of its kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Its namespace; empty for objects of the cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl From<&ObjectMeta> for ObjectKey {
    fn from(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// An object of a watch: what was read from it, or why it cannot be read.
pub(crate) struct Seen<T> {
    pub(crate) key: ObjectKey,
    pub(crate) value: Result<T, String>,
}

/// The objects of one kind.
///
/// An object that can no longer be read stays as it last was: what it says cannot be known, and dropping it would take its mirrors off every
/// node.
#[derive(Debug)]
pub struct Kept<T> {
    objects: BTreeMap<ObjectKey, Arc<T>>,
    unparsable: BTreeMap<ObjectKey, String>,
    /// The objects of a list that is still being read; it takes effect as a whole, so that an object that was deleted unseen goes too.
    arriving: Option<Arriving<T>>,
}

/// Those that can be read, and why the others cannot.
type Arriving<T> = (BTreeMap<ObjectKey, Arc<T>>, BTreeMap<ObjectKey, String>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), unparsable: BTreeMap::new(), arriving: None }
    }
}

impl<T: PartialEq> Kept<T> {
    /// Takes an event. Returns whether anything is different now.
    pub(crate) fn take(&mut self, event: Event<Seen<T>>) -> bool {
        match event {
            Event::Init => {
                self.arriving = Some(Default::default());
                false
            }
            Event::InitApply(seen) => {
                let known = self.objects.get(&seen.key).cloned();
                let (objects, unparsable) = self.arriving.get_or_insert_default();
                put(objects, unparsable, seen, known);
                false
            }
            Event::InitDone => {
                let (objects, unparsable) = self.arriving.take().unwrap_or_default();
                let changed = objects != self.objects || unparsable != self.unparsable;
                (self.objects, self.unparsable) = (objects, unparsable);
                changed
            }
            Event::Apply(seen) => {
                let known = self.objects.get(&seen.key).cloned();
                put(&mut self.objects, &mut self.unparsable, seen, known)
            }
            Event::Delete(seen) => {
                let object = self.objects.remove(&seen.key).is_some();
                self.unparsable.remove(&seen.key).is_some() || object
            }
        }
    }

    /// Forgets everything: the kind itself is gone.
    pub(crate) fn clear(&mut self) -> bool {
        let changed = !self.objects.is_empty() || !self.unparsable.is_empty();
        *self = Self::default();
        changed
    }

    /// The objects, in the order of their names.
    #[must_use]
    pub fn objects(&self) -> &BTreeMap<ObjectKey, Arc<T>> {
        &self.objects
    }

    /// The objects that cannot be read, and why.
    #[must_use]
    pub fn unparsable(&self) -> &BTreeMap<ObjectKey, String> {
        &self.unparsable
    }
}

fn put<T: PartialEq>(
    objects: &mut BTreeMap<ObjectKey, Arc<T>>,
    unparsable: &mut BTreeMap<ObjectKey, String>,
    seen: Seen<T>,
    known: Option<Arc<T>>,
) -> bool {
    match seen.value {
        Ok(value) => {
            let readable_again = unparsable.remove(&seen.key).is_some();
            let same = objects.get(&seen.key).is_some_and(|before| **before == value);
            if !same {
                objects.insert(seen.key, Arc::new(value));
            }
            !same || readable_again
        }
        Err(why) => {
            if let Some(known) = known {
                objects.insert(seen.key.clone(), known);
            }
            let before = unparsable.insert(seen.key, why.clone());
            before.as_ref() != Some(&why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(name: &str, value: Result<u8, &str>) -> Seen<u8> {
        let key = ObjectKey { namespace: String::new(), name: name.to_owned() };
        Seen { key, value: value.map_err(str::to_owned) }
    }

    fn names(kept: &Kept<u8>) -> Vec<(String, u8)> {
        kept.objects().iter().map(|(key, value)| (key.name.clone(), **value)).collect()
    }

    #[test]
    fn an_object_that_went_while_nobody_watched_goes_with_the_next_list() {
        let mut kept = Kept::default();
        for name in ["a", "b"] {
            kept.take(Event::Apply(seen(name, Ok(1))));
        }
        assert!(!kept.take(Event::Init), "the old ones stay until the list is complete");
        kept.take(Event::InitApply(seen("b", Ok(1))));
        assert_eq!(names(&kept), [("a".to_owned(), 1), ("b".to_owned(), 1)]);
        assert!(kept.take(Event::InitDone));
        assert_eq!(names(&kept), [("b".to_owned(), 1)]);
    }

    #[test]
    fn an_object_that_cannot_be_read_any_more_stays_as_it_was() {
        let mut kept = Kept::default();
        kept.take(Event::Apply(seen("a", Ok(1))));
        assert!(kept.take(Event::Apply(seen("a", Err("no spec")))));
        assert_eq!(names(&kept), [("a".to_owned(), 1)]);
        assert_eq!(kept.unparsable().len(), 1);
        // Also across a new list.
        kept.take(Event::Init);
        kept.take(Event::InitApply(seen("a", Err("no spec"))));
        assert!(!kept.take(Event::InitDone), "nothing is different");
        assert_eq!(names(&kept), [("a".to_owned(), 1)]);
        assert!(kept.take(Event::Apply(seen("a", Ok(1)))), "it can be read again");
        assert!(kept.unparsable().is_empty());
    }

    #[test]
    fn a_report_of_the_same_changes_nothing() {
        let mut kept = Kept::default();
        assert!(kept.take(Event::Apply(seen("a", Ok(1)))));
        assert!(!kept.take(Event::Apply(seen("a", Ok(1)))));
        assert!(kept.take(Event::Delete(seen("a", Ok(1)))));
        assert!(!kept.take(Event::Delete(seen("a", Ok(1)))));
    }
}
