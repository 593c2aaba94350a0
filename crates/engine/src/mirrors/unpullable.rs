//! Finds images that a mirror makes impossible to pull, even from their source.
//!
//! The library puts every mirror into the name of an image before it asks the first, and gives up at the first result that
//! is not a valid name.

use super::check::GoodRule;
use super::entries::takes_a_port;
use super::notes::Notes;
use super::reach::{mirror_at, placed};
use pullwright_findings::{Finding, rules};
use pullwright_golang::quote::quote;

/// Domains of public registries, which answer at one port; nobody names their images by another port.
const ONE_PORT: &[&str] = &[
    "amazonaws.com",
    "azurecr.io",
    "docker.io",
    "gcr.io",
    "ghcr.io",
    "mcr.microsoft.com",
    "nvcr.io",
    "pkg.dev",
    "public.ecr.aws",
    "quay.io",
    "redhat.com",
    "redhat.io",
    "registry.k8s.io",
];

/// Reports the images that this rule makes unpullable, at the first mirror that causes it.
pub(super) fn about_rule(rule: &GoodRule<'_>, notes: &mut Notes<'_>) {
    let finding = match rule.source.split_once('/') {
        None => other_ports(rule, notes),
        Some((_, path)) => no_repository(rule, path, notes),
    };
    if let Some(finding) = finding {
        notes.tell(rule.set, finding);
    }
}

/// The entry of a host governs all ports of the host, and the library appends everything after the host to the mirror.
fn other_ports(rule: &GoodRule<'_>, notes: &Notes<'_>) -> Option<Finding> {
    if rule.source.contains(':') || is_public(rule.source) {
        return None;
    }
    let (index, mirror) = placed(rule, notes).find(|(_, mirror)| !takes_a_port(mirror))?;
    let other = format!("{}:5000", rule.source.replacen('*', "registry", 1));
    let message = format!(
        "pulls from another port of {}, such as {}, fail: nodes apply this rule to them, and no name can be made of {}",
        quote(rule.source),
        quote(&format!("{other}/app")),
        quote(&format!("{mirror}:5000/app"))
    );
    let help = format!(
        "if images are named by another port, name it as a source with mirrors of its own: {}",
        quote(&other)
    );
    let at = mirror_at(rule, index, notes);
    Some(Finding::new(&rules::mirrors::OTHER_PORTS, at, message).with_help(help))
}

fn is_public(source: &str) -> bool {
    let host = source.trim_start_matches("*.");
    let is_within =
        |domain: &&str| host.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    ONE_PORT.iter().any(is_within)
}

/// The mirror replaces the whole name, and a host alone is not a name. The API has registries, namespaces in them and
/// repositories in those, so a path of one part is a namespace.
fn no_repository(rule: &GoodRule<'_>, path: &str, notes: &Notes<'_>) -> Option<Finding> {
    if !path.contains('/') {
        return None;
    }
    let (index, mirror) = placed(rule, notes).find(|(_, mirror)| !mirror.contains('/'))?;
    let message = format!(
        "if {} is a repository, every pull of it fails: with the mirror {} in its place, no name of a repository is left",
        quote(rule.source),
        quote(mirror)
    );
    let help =
        format!("write the mirror as a repository, too, such as {}", quote(&format!("{mirror}/{path}")));
    let at = mirror_at(rule, index, notes);
    Some(Finding::new(&rules::mirrors::NO_REPOSITORY, at, message).with_help(help))
}
