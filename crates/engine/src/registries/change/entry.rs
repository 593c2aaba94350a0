//! Compares two versions of one entry.

use std::collections::{HashMap, VecDeque};

use super::super::{Mirror, MirrorUse, PullFromMirror, Registry, RegistryEndpoint};
use super::{Change, Changed, Notice};

/// Reports a new entry. The Machine Config Operator considers it harmless if it can only affect pulls by digest; it
/// does not check whether the entry also blocks or redirects names.
pub(super) fn added(registry: &Registry) -> Change {
    let only_digests = match registry.mirrors.as_slice() {
        [] => registry.mirror_by_digest_only,
        mirrors => mirrors.iter().all(is_digest_only),
    };
    let notice = match (only_digests, registry.blocked || registry.endpoint.insecure || moves(registry)) {
        (false, _) => Notice::Drain,
        (true, true) => Notice::Pulls,
        (true, false) => Notice::Nobody,
    };
    change(registry, Changed::EntryAdded { registry: registry.clone() }, notice)
}

pub(super) fn removed(registry: &Registry) -> Change {
    change(registry, Changed::EntryRemoved { registry: registry.clone() }, Notice::Drain)
}

/// Compares two entries with the same prefix.
pub(super) fn compare(old: &Registry, new: &Registry, changes: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let mut found = Vec::new();
    let mut push = |what, notice| found.push(change(new, what, notice));
    if old.endpoint.location != new.endpoint.location {
        let (old, new) = (old.endpoint.location.clone(), new.endpoint.location.clone());
        push(Changed::Location { old, new }, Notice::Drain);
    }
    if old.blocked != new.blocked {
        push(Changed::Blocked { now: new.blocked }, Notice::Drain);
    }
    if old.endpoint.insecure != new.endpoint.insecure {
        push(Changed::Insecure { mirror: None, now: new.endpoint.insecure }, Notice::Drain);
    }
    if let Some(proxy) = proxy_change(&old.endpoint, &new.endpoint) {
        push(proxy, Notice::Pulls);
    }
    mirrors(&Mirrors::of(old), &Mirrors::of(new), &mut push);
    // The operator's rule has the last word, even where it misses an effect on pulls.
    if !drains(old, new) {
        for change in &mut found {
            change.notice = change.notice.min(Notice::Pulls);
        }
    } else if Notice::of(&found) < Some(Notice::Drain) {
        found.push(change(new, Changed::Misread, Notice::Drain));
    }
    changes.append(&mut found);
}

/// Returns whether the Machine Config Operator drains a node for this change to an entry.
fn drains(old: &Registry, new: &Registry) -> bool {
    let (before, after) = (first_uses(&old.mirrors), first_uses(&new.mirrors));
    let gone = |mirror: &Mirror| !after.contains_key(mirror.endpoint.location.as_str());
    let unsafe_now = |mirror: &Mirror| match before.get(mirror.endpoint.location.as_str()) {
        Some(before) => *before != mirror.pull_from_mirror && !is_digest_only(mirror),
        None => !is_digest_only(mirror) && !new.mirror_by_digest_only,
    };
    old.endpoint.location != new.endpoint.location
        || old.blocked != new.blocked
        || old.endpoint.insecure != new.endpoint.insecure
        || old.mirrors.iter().any(gone)
        || new.mirrors.iter().any(unsafe_now)
}

/// Returns what the first mirror for each location serves.
fn first_uses(mirrors: &[Mirror]) -> HashMap<&str, Option<PullFromMirror>> {
    let uses = mirrors.iter().map(|mirror| (mirror.endpoint.location.as_str(), mirror.pull_from_mirror));
    uses.rev().collect()
}

fn is_digest_only(mirror: &Mirror) -> bool {
    mirror.pull_from_mirror == Some(PullFromMirror::DigestOnly)
}

/// A mirror with the pulls that it serves. A location listed once for digests and once for tags counts as two.
type Used<'a> = (MirrorUse, &'a Mirror);

/// The mirrors of an entry in order, and the first one for each location and use.
struct Mirrors<'a> {
    list: Vec<Used<'a>>,
    first: HashMap<(MirrorUse, &'a str), &'a Mirror>,
}

impl<'a> Mirrors<'a> {
    fn of(registry: &'a Registry) -> Self {
        let list: Vec<Used<'_>> =
            registry.mirrors.iter().map(|mirror| (registry.use_of(mirror), mirror)).collect();
        let first = list.iter().rev().map(|used| (key(used), used.1)).collect();
        Self { list, first }
    }

    fn has(&self, mirror: &Used<'_>) -> bool {
        self.first.contains_key(&key(mirror))
    }

    /// Returns the mirrors that `other` does not have, in order.
    fn without<'m>(&'m self, other: &'m Self) -> impl Iterator<Item = &'m Used<'a>> {
        self.list.iter().filter(|mirror| !other.has(mirror))
    }
}

fn key<'a>(mirror: &Used<'a>) -> (MirrorUse, &'a str) {
    (mirror.0, location(mirror))
}

fn location<'a>((_, mirror): &Used<'a>) -> &'a str {
    &mirror.endpoint.location
}

fn mirrors(old: &Mirrors<'_>, new: &Mirrors<'_>, push: &mut impl FnMut(Changed, Notice)) {
    come_and_go(old, new, push);
    order(old, new, push);
    for mirror in &new.list {
        let Some(before) = old.first.get(&key(mirror)) else { continue };
        let (before, now) = (&before.endpoint, &mirror.1.endpoint);
        if before.insecure != now.insecure {
            let what = Changed::Insecure { mirror: Some(now.location.clone()), now: now.insecure };
            push(what, Notice::Pulls);
        }
        if let Some(proxy) = proxy_change(before, now) {
            push(proxy, Notice::Pulls);
        }
    }
}

fn come_and_go(old: &Mirrors<'_>, new: &Mirrors<'_>, push: &mut impl FnMut(Changed, Notice)) {
    let mut gone: Vec<Option<&Used<'_>>> = old.without(new).map(Some).collect();
    // Grouped by location, because an added mirror may only change which pulls a removed one served.
    let mut at: HashMap<&str, VecDeque<usize>> = HashMap::new();
    for (index, mirror) in gone.iter().flatten().enumerate() {
        at.entry(location(mirror)).or_default().push_back(index);
    }
    for added in new.without(old) {
        let (mirror, serves) = (location(added).to_owned(), added.0);
        let replaced = at.get_mut(location(added)).and_then(VecDeque::pop_front);
        let (what, notice) = match replaced.and_then(|index| gone[index].take()) {
            Some((old, _)) => (Changed::MirrorServes { mirror, old: *old, new: serves }, Notice::Drain),
            None if serves == MirrorUse::DigestOnly => {
                (Changed::MirrorAdded { mirror, serves }, Notice::Nobody)
            }
            None => (Changed::MirrorAdded { mirror, serves }, Notice::Drain),
        };
        push(what, notice);
    }
    for removed in gone.into_iter().flatten() {
        let what = Changed::MirrorRemoved { mirror: location(removed).to_owned(), serves: removed.0 };
        push(what, Notice::Drain);
    }
}

fn order(old: &Mirrors<'_>, new: &Mirrors<'_>, push: &mut impl FnMut(Changed, Notice)) {
    let kept = |mirrors: &Mirrors<'_>, other: &Mirrors<'_>| -> Vec<_> {
        let kept = mirrors.list.iter().filter(|mirror| other.has(mirror));
        kept.map(|mirror| (mirror.0, location(mirror).to_owned())).collect()
    };
    let (before, after) = (kept(old, new), kept(new, old));
    if before == after {
        return;
    }
    // In a different order, a tag may resolve to a different image.
    let tags = |order: &[(MirrorUse, String)]| -> Vec<_> {
        order.iter().filter(|(serves, _)| *serves != MirrorUse::DigestOnly).cloned().collect()
    };
    let notice = if tags(&before) == tags(&after) { Notice::Nobody } else { Notice::Pulls };
    let order = new.list.iter().map(|mirror| location(mirror).to_owned()).collect();
    push(Changed::MirrorsReordered { order }, notice);
}

fn proxy_change(old: &RegistryEndpoint, new: &RegistryEndpoint) -> Option<Changed> {
    (old.namespace_proxy != new.namespace_proxy).then(|| Changed::NamespaceProxy {
        place: new.location.clone(),
        old: old.namespace_proxy.clone(),
        new: new.namespace_proxy.clone(),
    })
}

fn moves(registry: &Registry) -> bool {
    let location = &registry.endpoint.location;
    !location.is_empty() && *location != registry.prefix
}

fn change(registry: &Registry, what: Changed, notice: Notice) -> Change {
    Change { entry: Some(registry.prefix.clone()), what, notice }
}
