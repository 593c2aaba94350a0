//! Finds likely mistakes that the loader accepts: entries that never match and rewrites that always fail.

use super::index::wildcard_suffix;
use super::{Registry, RegistryEndpoint};
use crate::reference::Reference;
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::quote::quote;

/// Checks the entry at `at`.
pub(super) fn registry(at: &DocPath, registry: &Registry, findings: &mut Vec<Finding>) {
    findings.extend(never_matches(&registry.prefix, || at.key("prefix")));
    findings.extend(blocked_elsewhere(registry, || at.key("blocked")));
    let mirrors = registry.mirrors.iter().enumerate();
    for (mirror, entry) in mirrors {
        findings.extend(never_rewrites(&entry.endpoint, || at.key("mirror").index(mirror).key("location")));
    }
    findings.extend(never_rewrites(&registry.endpoint, || at.key("location")));
}

fn never_matches(prefix: &str, at: impl Fn() -> DocPath) -> Option<Finding> {
    let warn = |message: &str, help: &str| {
        Some(
            Finding::new(&rules::registries::NEVER_MATCHES, at(), format!("{} {message}", quote(prefix)))
                .with_help(help),
        )
    };
    if prefix.is_empty() {
        return warn("matches nothing", "name a registry");
    }
    if wildcard_suffix(prefix).map_or(prefix, |suffix| suffix).contains('*') {
        return warn("matches nothing", "the only wildcard is \"*.\" at the beginning, for subdomains");
    }
    if prefix.contains("://") {
        return warn("matches nothing", "leave out the scheme");
    }
    let path = prefix.find('/').map_or("", |slash| &prefix[slash..]);
    if prefix.contains('@') || path.contains(':') {
        return warn(
            "matches no pull: names are looked up without tag and digest",
            "end the prefix with the repository",
        );
    }
    if prefix.contains(|c: char| c.is_whitespace()) {
        return warn("matches nothing", "remove the white space");
    }
    None
}

/// The runtime checks `blocked` on the entry that governs the rewritten name, so it has no effect on an entry that
/// sends its names elsewhere.
fn blocked_elsewhere(registry: &Registry, at: impl Fn() -> DocPath) -> Option<Finding> {
    let location = &registry.endpoint.location;
    let moves = !location.is_empty() && *location != registry.prefix;
    (registry.blocked && moves).then(|| {
        Finding::new(
            &rules::registries::BLOCKED_ELSEWHERE,
            at(),
            format!(
                "this does not block pulls of {}, which go to {}",
                quote(&registry.prefix),
                quote(location)
            ),
        )
        .with_help(format!("add an entry with location = {} and blocked = true", quote(location)))
    })
}

/// A location that no name can be appended to fails every pull through its entry.
fn never_rewrites(endpoint: &RegistryEndpoint, at: impl Fn() -> DocPath) -> Option<Finding> {
    if endpoint.location.is_empty() {
        return None;
    }
    let error = Reference::parse_canonical(&format!("{}/repository/image", endpoint.location)).err()?;
    Some(Finding::new(
        &rules::registries::UNUSABLE_LOCATION,
        at(),
        format!(
            "every pull of this entry fails: {} cannot be the start of an image name: {error}",
            quote(&endpoint.location)
        ),
    ))
}

/// Reports a second entry for a prefix, which the loader drops.
pub(super) fn duplicate(at: DocPath, registry: &Registry) -> Finding {
    let message = format!("a second entry for {} is ignored", quote(&registry.prefix));
    Finding::new(&rules::registries::DUPLICATE_PREFIX, at, message)
}
