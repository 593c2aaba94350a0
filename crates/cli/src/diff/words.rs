//! A change in words, and what it affects.

use pullwright_engine::registries::{Change, Changed, MirrorUse, Notice, Registry};
use pullwright_nodeconfig::{AskedEndpoint, EndpointsChange, Runtime};

use crate::style::{BAD, FAINT, GOOD, WARNING, paint, plain};

/// The change in words, one line for each part.
pub(super) fn lines(change: &Change) -> Vec<String> {
    let note = match change.notice {
        Notice::Nobody => String::new(),
        Notice::Pulls => paint(FAINT, "  (may affect pulls)"),
        Notice::Drain => paint(FAINT, "  (drain)"),
        Notice::Reboot => paint(FAINT, "  (reboot)"),
    };
    let mut lines = what(&change.what);
    if let Some(first) = lines.first_mut() {
        first.push_str(&note);
    }
    lines
}

fn what(changed: &Changed) -> Vec<String> {
    let one = match changed {
        Changed::EntryAdded { registry } => return entry(registry, Sign::Added),
        Changed::EntryRemoved { registry } => return entry(registry, Sign::Removed),
        Changed::Location { old, new } => Sign::Other.line(&format!("pulled from {new} instead of {old}")),
        Changed::Blocked { now: true } => Sign::Other.line("blocked: only mirrors are asked"),
        Changed::Blocked { now: false } => Sign::Other.line("no longer blocked"),
        Changed::Insecure { mirror, now } => {
            let place = mirror.as_ref().map(|mirror| format!("mirror {mirror} is ")).unwrap_or_default();
            Sign::Other.line(&format!("{place}{}", if *now { INSECURE } else { "no longer insecure" }))
        }
        Changed::MirrorAdded { mirror, serves } => Sign::Added.line(&line_of_mirror(mirror, *serves)),
        Changed::MirrorRemoved { mirror, serves } => Sign::Removed.line(&line_of_mirror(mirror, *serves)),
        Changed::MirrorServes { mirror, old, new } => {
            Sign::Other.line(&format!("mirror {mirror} serves {} instead of {}", pulls(*new), pulls(*old)))
        }
        Changed::MirrorsReordered { order } => {
            Sign::Other.line(&format!("mirrors in a new order: {}", order.join(", ")))
        }
        Changed::Misread => {
            Sign::Other.line("a mirror is listed twice, which the Machine Config Operator misreads")
        }
        Changed::NamespaceProxy { place, old, new } => {
            Sign::Other.line(&format!("{place} is asked as a proxy for {new:?} instead of {old:?}"))
        }
        Changed::SearchRegistries { old, new } => Sign::Other.line(&format!(
            "search registries: {} instead of {}",
            list(new.as_deref()),
            list(old.as_deref())
        )),
        Changed::Alias { name, old, new } => {
            let said = |target: &Option<String>| target.clone().unwrap_or_else(|| "nothing".to_owned());
            Sign::Other.line(&format!("short name {name} means {} instead of {}", said(new), said(old)))
        }
        Changed::Setting { key, old, new } => {
            let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "its default".to_owned());
            Sign::Other.line(&format!("{key}: {} instead of {}", said(new), said(old)))
        }
    };
    vec![one]
}

const INSECURE: &str = "insecure: plain HTTP and any certificate accepted";

#[derive(Clone, Copy)]
enum Sign {
    Added,
    Removed,
    Other,
}

impl Sign {
    fn line(self, text: &str) -> String {
        let text = plain(text);
        match self {
            Self::Added => paint(GOOD, format!("+ {text}")),
            Self::Removed => paint(BAD, format!("- {text}")),
            Self::Other => paint(WARNING, format!("~ {text}")),
        }
    }
}

/// A whole entry: its properties, then its mirrors.
fn entry(registry: &Registry, sign: Sign) -> Vec<String> {
    let mut notes = vec!["entry".to_owned()];
    let location = &registry.endpoint.location;
    if !location.is_empty() && *location != registry.prefix {
        notes.push(format!("pulled from {location}"));
    }
    if registry.blocked {
        notes.push("blocked: only mirrors are asked".to_owned());
    }
    if registry.endpoint.insecure {
        notes.push(INSECURE.to_owned());
    }
    let mirrors = registry
        .mirrors
        .iter()
        .map(|mirror| sign.line(&line_of_mirror(&mirror.endpoint.location, registry.use_of(mirror))));
    std::iter::once(sign.line(&notes.join(", "))).chain(mirrors).collect()
}

fn line_of_mirror(mirror: &str, serves: MirrorUse) -> String {
    format!("mirror {mirror} for {}", pulls(serves))
}

fn pulls(serves: MirrorUse) -> &'static str {
    match serves {
        MirrorUse::All => "all pulls",
        MirrorUse::DigestOnly => "pulls by digest",
        MirrorUse::TagOnly => "pulls by tag",
    }
}

fn list(hosts: Option<&[String]>) -> String {
    match hosts {
        None => "those of other files".to_owned(),
        Some([]) => "none".to_owned(),
        Some(hosts) => hosts.join(", "),
    }
}

/// Which endpoints containerd asks from now on, and which it no longer asks.
pub(super) fn endpoints(change: &EndpointsChange) -> Vec<String> {
    let line = |endpoint: &AskedEndpoint| {
        let insecure = if endpoint.insecure { ", insecure" } else { "" };
        format!("{} for {}{insecure}", endpoint.url, pulls(endpoint.serves))
    };
    let without = |one: &[AskedEndpoint], other: &[AskedEndpoint], sign: Sign| -> Vec<_> {
        let endpoints = one.iter().filter(|endpoint| !other.contains(endpoint));
        endpoints.map(|endpoint| sign.line(&line(endpoint))).collect()
    };
    let mut lines = without(&change.old, &change.new, Sign::Removed);
    lines.extend(without(&change.new, &change.old, Sign::Added));
    if lines.is_empty() {
        let order: Vec<_> = change.new.iter().map(|endpoint| endpoint.url.as_str()).collect();
        lines.push(Sign::Other.line(&format!("asked in a new order: {}", order.join(", "))));
    }
    if change.notice >= Notice::Pulls
        && let Some(first) = lines.first_mut()
    {
        first.push_str(&paint(FAINT, "  (may affect pulls)"));
    }
    lines
}

/// What all changes together affect, and what to do on the node.
pub(super) fn verdict(runtime: &Runtime, notice: Option<Notice>) -> String {
    let Some(notice) = notice else { return paint(GOOD, "✓ nothing changes") };
    let who = match notice {
        Notice::Nobody => "no pull is affected: all sources stay, and new mirrors serve only pulls by digest",
        Notice::Pulls => "the next pulls may be affected; running pulls and Pods are not",
        Notice::Drain | Notice::Reboot => {
            "Pods that start during the change may be affected; running pulls are not"
        }
    };
    let takes_effect = runtime.takes_effect;
    let operator = match notice {
        _ if !runtime.machine_config => "",
        Notice::Nobody | Notice::Pulls => "\n  the Machine Config Operator does not drain the node for it",
        Notice::Drain => "\n  the Machine Config Operator drains the node first",
        Notice::Reboot => {
            "\n  the Machine Config Operator drains and reboots the node, because it has no rule for 01-image-searchRegistries.conf"
        }
    };
    let (style, mark) = if notice == Notice::Nobody { (GOOD, "✓") } else { (WARNING, "!") };
    format!("{}\n  {takes_effect}{operator}", paint(style, format!("{mark} {who}")))
}
