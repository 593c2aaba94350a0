//! How pulls are affected when one `registries.conf` replaces another, and who can notice.
//!
//! The levels of [`Notice`] follow the Machine Config Operator, which uses the same comparison to decide whether to
//! drain a node. Changes that it does not consider but that pulls may notice have a level of their own.

mod entry;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{ConfFile, MirrorUse, Registry};

/// One difference between two files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The prefix of the entry that changed, or `None` for a change to the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// What changed.
    #[serde(flatten)]
    pub what: Changed,
    /// Who can notice.
    pub notice: Notice,
}

/// The kinds of changes between two files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Changed {
    /// A new entry.
    EntryAdded {
        /// The entry.
        registry: Registry,
    },
    /// An entry was removed.
    EntryRemoved {
        /// The removed entry.
        registry: Registry,
    },
    /// The names of the entry are pulled from another place.
    Location {
        /// The previous location.
        old: String,
        /// The new location.
        new: String,
    },
    /// Pulls from the location were blocked or unblocked.
    Blocked {
        /// Whether it is blocked now.
        now: bool,
    },
    /// Whether insecure connections to a place are accepted has changed.
    Insecure {
        /// The mirror, or `None` for the location of the entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        mirror: Option<String>,
        /// Whether plain HTTP and unverified certificates are accepted now.
        now: bool,
    },
    /// A new mirror.
    MirrorAdded {
        /// Where it is.
        mirror: String,
        /// Which pulls it serves.
        serves: MirrorUse,
    },
    /// A mirror was removed.
    MirrorRemoved {
        /// Where it was.
        mirror: String,
        /// Which pulls it served.
        serves: MirrorUse,
    },
    /// A mirror serves different pulls.
    MirrorServes {
        /// Where it is.
        mirror: String,
        /// Which pulls it served.
        old: MirrorUse,
        /// Which pulls it serves now.
        new: MirrorUse,
    },
    /// The remaining mirrors are tried in a different order.
    MirrorsReordered {
        /// All mirrors in their new order.
        order: Vec<String>,
    },
    /// Nothing else in the entry is a reason to drain, but the Machine Config Operator drains anyway: if a mirror is
    /// listed once for digests and once for tags, it compares both lines with the first one.
    Misread,
    /// The upstream that a proxying registry is told to use has changed.
    NamespaceProxy {
        /// The location of that registry.
        place: String,
        /// The previous upstream.
        old: String,
        /// The new upstream.
        new: String,
    },
    /// The registries searched for names without a registry have changed.
    SearchRegistries {
        /// The previous list, or `None` if the file did not set it.
        old: Option<Vec<String>>,
        /// The new list, or `None` if the file does not set it.
        new: Option<Vec<String>>,
    },
    /// The target of a short name has changed.
    Alias {
        /// The short name.
        name: String,
        /// The previous repository.
        old: Option<String>,
        /// The new repository.
        new: Option<String>,
    },
    /// Another setting of the whole file has changed.
    Setting {
        /// Its key.
        key: &'static str,
        /// The previous value.
        old: Option<String>,
        /// The new value.
        new: Option<String>,
    },
}

/// Who can notice a change, from least to most disruptive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// Nobody: all existing sources remain, and new ones only serve pulls by digest, which give the same result from
    /// any source.
    Nobody,
    /// The next pulls may notice. The Machine Config Operator does not drain for it.
    Pulls,
    /// Pods that restart during the change may notice. The Machine Config Operator drains the node first.
    Drain,
    /// The Machine Config Operator has no rule for the file, so it drains and reboots.
    Reboot,
}

impl Notice {
    /// Returns who can notice any of the changes, or `None` if nothing changed.
    #[must_use]
    pub fn of(changes: &[Change]) -> Option<Self> {
        changes.iter().map(|change| change.notice).max()
    }
}

impl ConfFile {
    /// Returns what changes when `new` replaces this file: first entries by prefix, then settings of the whole file.
    #[must_use]
    pub fn changes_to(&self, new: &Self) -> Vec<Change> {
        let (before, after) = (by_prefix(&self.registries), by_prefix(&new.registries));
        let prefixes: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        let mut changes = Vec::new();
        for prefix in prefixes {
            match (before.get(prefix), after.get(prefix)) {
                (Some(old), Some(new)) => entry::compare(old, new, &mut changes),
                (Some(old), None) => changes.push(entry::removed(old)),
                (None, Some(new)) => changes.push(entry::added(new)),
                (None, None) => {}
            }
        }
        self.settings(new, &mut changes);
        changes
    }

    fn settings(&self, new: &Self, changes: &mut Vec<Change>) {
        let mut change = |what, notice| changes.push(Change { entry: None, what, notice });
        if self.search != new.search {
            let (old, now) = (self.search.as_deref(), new.search.as_deref());
            let appended = now.unwrap_or_default().starts_with(old.unwrap_or_default());
            change(
                Changed::SearchRegistries { old: self.search.clone(), new: new.search.clone() },
                if appended { Notice::Nobody } else { Notice::Drain },
            );
        }
        let mode = |file: &Self| file.short_name_mode.map(|mode| mode.as_str().to_owned());
        let helpers = |file: &Self| file.credential_helpers.as_ref().map(|helpers| helpers.join(", "));
        let layer_store = |file: &Self| {
            Some(file.additional_layer_store_auth_helper.clone()).filter(|helper| !helper.is_empty())
        };
        for (key, old, now) in [
            ("short-name-mode", mode(self), mode(new)),
            ("credential-helpers", helpers(self), helpers(new)),
            ("additional-layer-store-auth-helper", layer_store(self), layer_store(new)),
        ] {
            if old != now {
                change(Changed::Setting { key, old, new: now }, Notice::Pulls);
            }
        }
        let target = |file: &Self, name: &str| {
            let target = file.aliases.get(name)?;
            Some(target.as_ref().map(ToString::to_string).unwrap_or_default())
        };
        let names: BTreeSet<_> = self.aliases.keys().chain(new.aliases.keys()).collect();
        for name in names {
            let (old, now) = (target(self, name), target(new, name));
            if old != now {
                change(Changed::Alias { name: name.clone(), old, new: now }, Notice::Pulls);
            }
        }
    }
}

/// If several entries have the same prefix, only the first one counts.
fn by_prefix(registries: &[Registry]) -> BTreeMap<&str, &Registry> {
    let mut entries = BTreeMap::new();
    for registry in registries {
        entries.entry(registry.prefix.as_str()).or_insert(registry);
    }
    entries
}
