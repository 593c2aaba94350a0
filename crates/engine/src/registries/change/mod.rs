//! What becomes of pulls when one `registries.conf` replaces another, and who could notice.
//!
//! The ladder of [`Notice`] follows the Machine Config Operator, which decides by the same comparison whether it drains a
//! node; what it does not look at and a pull may still notice has a step of its own.

mod entry;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{ConfFile, MirrorUse, Registry};

/// One difference between two files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The prefix of the entry that changed; `None` for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// What is different.
    #[serde(flatten)]
    pub what: Changed,
    /// Who could notice.
    pub notice: Notice,
}

/// What is different between two files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Changed {
    /// A new entry.
    EntryAdded {
        /// The entry.
        registry: Registry,
    },
    /// An entry is gone.
    EntryRemoved {
        /// What it was.
        registry: Registry,
    },
    /// Its names are pulled from another place.
    Location {
        /// From where so far.
        old: String,
        /// From where now.
        new: String,
    },
    /// Its location may be asked or not.
    Blocked {
        /// Whether it is blocked now.
        now: bool,
    },
    /// What connections to a place are accepted.
    Insecure {
        /// The mirror; none for the location of the entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        mirror: Option<String>,
        /// Whether plain HTTP and any certificate are accepted now.
        now: bool,
    },
    /// A new mirror.
    MirrorAdded {
        /// Where it is.
        mirror: String,
        /// Which pulls it serves.
        serves: MirrorUse,
    },
    /// A mirror is gone.
    MirrorRemoved {
        /// Where it is.
        mirror: String,
        /// Which pulls it served.
        serves: MirrorUse,
    },
    /// A mirror serves other pulls.
    MirrorServes {
        /// Where it is.
        mirror: String,
        /// Which pulls it served.
        old: MirrorUse,
        /// Which pulls it serves.
        new: MirrorUse,
    },
    /// The mirrors that stay are asked in another order.
    MirrorsReordered {
        /// All mirrors in their order now.
        order: Vec<String>,
    },
    /// Nothing else in the entry is a reason to drain, but the Machine Config Operator takes it for one: of a mirror that is
    /// listed for digests and for tags it compares both lines with the first.
    Misread,
    /// What a proxying registry is told to ask.
    NamespaceProxy {
        /// The place that is told.
        place: String,
        /// Upstream so far.
        old: String,
        /// Upstream now.
        new: String,
    },
    /// Where names without a registry are looked for.
    SearchRegistries {
        /// So far; none if the file does not say.
        old: Option<Vec<String>>,
        /// Now.
        new: Option<Vec<String>>,
    },
    /// What a short name stands for.
    Alias {
        /// The short name.
        name: String,
        /// The repository so far.
        old: Option<String>,
        /// The repository now.
        new: Option<String>,
    },
    /// Another setting of the whole file.
    Setting {
        /// Its key.
        key: &'static str,
        /// So far.
        old: Option<String>,
        /// Now.
        new: Option<String>,
    },
}

/// Who could notice a change, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// Nobody: what could be asked still can, and what is new serves pulls by digest, which are the same from anywhere.
    Nobody,
    /// The next pulls may, and the Machine Config Operator does not drain for it.
    Pulls,
    /// Pods that are restarted during the change may; the Machine Config Operator drains the node first.
    Drain,
    /// The Machine Config Operator has no rule for the file, and so drains and reboots.
    Reboot,
}

impl Notice {
    /// Who could notice any of the changes; `None` if nothing changed.
    #[must_use]
    pub fn of(changes: &[Change]) -> Option<Self> {
        changes.iter().map(|change| change.notice).max()
    }
}

impl ConfFile {
    /// What is different when `new` replaces this file: entries by prefix, then what is about the whole file.
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

/// Of several entries with one prefix only the first counts.
fn by_prefix(registries: &[Registry]) -> BTreeMap<&str, &Registry> {
    let mut entries = BTreeMap::new();
    for registry in registries {
        entries.entry(registry.prefix.as_str()).or_insert(registry);
    }
    entries
}
