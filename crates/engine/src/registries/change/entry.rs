//! What is different in one entry.

use super::super::{Endpoint, Mirror, MirrorUse, PullFromMirror, Registry};
use super::{Change, Changed, Notice};

/// An entry that was not there. The Machine Config Operator takes it for harmless if it can only concern pulls by digest; it
/// does not ask whether the entry also blocks or moves its names.
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

/// Two entries of the same prefix.
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
    mirrors(&used(old), &used(new), &mut push);
    // The rule has the last word, also where it does not see what a pull would.
    if !drains(old, new) {
        for change in &mut found {
            change.notice = change.notice.min(Notice::Pulls);
        }
    } else if Notice::of(&found) < Some(Notice::Drain) {
        found.push(change(new, Changed::Misread, Notice::Drain));
    }
    changes.append(&mut found);
}

/// Whether the Machine Config Operator drains a node for this change of an entry.
fn drains(old: &Registry, new: &Registry) -> bool {
    let first = |mirrors: &[Mirror], location: &str| {
        let mut mirrors = mirrors.iter().filter(|mirror| mirror.endpoint.location == location);
        mirrors.next().map(|mirror| mirror.pull_from_mirror)
    };
    let gone = |mirror: &Mirror| first(&new.mirrors, &mirror.endpoint.location).is_none();
    let unsafe_now = |mirror: &Mirror| match first(&old.mirrors, &mirror.endpoint.location) {
        Some(before) => before != mirror.pull_from_mirror && !is_digest_only(mirror),
        None => !is_digest_only(mirror) && !new.mirror_by_digest_only,
    };
    old.endpoint.location != new.endpoint.location
        || old.blocked != new.blocked
        || old.endpoint.insecure != new.endpoint.insecure
        || old.mirrors.iter().any(gone)
        || new.mirrors.iter().any(unsafe_now)
}

fn is_digest_only(mirror: &Mirror) -> bool {
    mirror.pull_from_mirror == Some(PullFromMirror::DigestOnly)
}

/// A mirror with the pulls that it serves. A place that serves digests and tags by two lines is two of these.
type Used<'a> = (MirrorUse, &'a Mirror);

fn used(registry: &Registry) -> Vec<Used<'_>> {
    registry.mirrors.iter().map(|mirror| (registry.use_of(mirror), mirror)).collect()
}

fn same(one: &Used<'_>, other: &Used<'_>) -> bool {
    one.0 == other.0 && location(one) == location(other)
}

fn has(list: &[Used<'_>], mirror: &Used<'_>) -> bool {
    list.iter().any(|other| same(other, mirror))
}

fn location<'a>((_, mirror): &Used<'a>) -> &'a str {
    &mirror.endpoint.location
}

fn mirrors(old: &[Used<'_>], new: &[Used<'_>], push: &mut impl FnMut(Changed, Notice)) {
    come_and_go(old, new, push);
    order(old, new, push);
    for mirror in new {
        let Some((_, before)) = old.iter().find(|other| same(other, mirror)) else { continue };
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

fn come_and_go(old: &[Used<'_>], new: &[Used<'_>], push: &mut impl FnMut(Changed, Notice)) {
    let mut gone: Vec<_> = old.iter().filter(|mirror| !has(new, mirror)).collect();
    for added in new.iter().filter(|mirror| !has(old, mirror)) {
        let (mirror, serves) = (location(added).to_owned(), added.0);
        let (what, notice) = match gone.iter().position(|other| location(other) == mirror) {
            Some(position) => {
                let old = gone.remove(position).0;
                (Changed::MirrorServes { mirror, old, new: serves }, Notice::Drain)
            }
            None if serves == MirrorUse::DigestOnly => {
                (Changed::MirrorAdded { mirror, serves }, Notice::Nobody)
            }
            None => (Changed::MirrorAdded { mirror, serves }, Notice::Drain),
        };
        push(what, notice);
    }
    for removed in gone {
        let what = Changed::MirrorRemoved { mirror: location(removed).to_owned(), serves: removed.0 };
        push(what, Notice::Drain);
    }
}

fn order(old: &[Used<'_>], new: &[Used<'_>], push: &mut impl FnMut(Changed, Notice)) {
    let kept = |list: &[Used<'_>], other: &[Used<'_>]| -> Vec<_> {
        let kept = list.iter().filter(|mirror| has(other, mirror));
        kept.map(|mirror| (mirror.0, location(mirror).to_owned())).collect()
    };
    let (before, after) = (kept(old, new), kept(new, old));
    if before == after {
        return;
    }
    // In another order a tag may stand for another image.
    let tags = |order: &[(MirrorUse, String)]| -> Vec<_> {
        order.iter().filter(|(serves, _)| *serves != MirrorUse::DigestOnly).cloned().collect()
    };
    let notice = if tags(&before) == tags(&after) { Notice::Nobody } else { Notice::Pulls };
    push(
        Changed::MirrorsReordered { order: new.iter().map(|mirror| location(mirror).to_owned()).collect() },
        notice,
    );
}

fn proxy_change(old: &Endpoint, new: &Endpoint) -> Option<Changed> {
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
