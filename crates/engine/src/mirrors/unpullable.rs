//! Images that a mirror keeps from being pulled at all, even from their source.
//!
//! The library puts every mirror into the name of an image before it asks the first, and gives up at the first
//! result that is no name.

use super::check::GoodRule;
use super::entries::takes_a_port;
use super::notes::Notes;
use super::reach::{mirror_at, placed};
use crate::finding::Finding;
use crate::go::quote::quote;

/// Domains of public registries, which answer at one port, and whose images nobody names by another.
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

/// Tells of the images that this rule makes unpullable: one finding of each kind, at the first mirror that does it.
pub(super) fn about_rule(rule: &GoodRule<'_>, notes: &mut Notes<'_>) {
    let first = |wrong: fn(&str) -> bool| placed(rule, notes).find(|(_, mirror)| wrong(mirror));
    let found = match rule.source.split_once('/') {
        None if !rule.source.contains(':') && !is_public(rule.source) => {
            first(|mirror| !takes_a_port(mirror)).map(|found| (found, other_ports as About))
        }
        // The API has a registry, namespaces in it and repositories in those. Of one part it is a namespace.
        Some((_, path)) if path.contains('/') => {
            first(|mirror| !mirror.contains('/')).map(|found| (found, no_repository as About))
        }
        _ => None,
    };
    if let Some(((index, mirror), about)) = found {
        let at = mirror_at(rule, index, notes);
        let (name, message, help) = about(rule.source, mirror);
        notes.tell(rule.set, Finding::warning(name, at, message).with_help(help));
    }
}

type About = fn(&str, &str) -> (&'static str, String, String);

fn is_public(source: &str) -> bool {
    let host = source.trim_start_matches("*.");
    let within =
        |domain: &&str| host.strip_suffix(*domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    ONE_PORT.iter().any(|domain| within(&domain))
}

/// An entry of a host governs all ports of the host, and what stands behind the host goes behind the mirror.
fn other_ports(source: &str, mirror: &str) -> (&'static str, String, String) {
    let other = format!("{}:5000", source.replacen('*', "registry", 1));
    let message = format!(
        "pulls from another port of {}, such as {}, fail: nodes apply this rule to them, and no name can be made of {}",
        quote(source),
        quote(&format!("{other}/app")),
        quote(&format!("{mirror}:5000/app"))
    );
    let help = format!(
        "if images are named by another port, name it as a source with mirrors of its own: {}",
        quote(&other)
    );
    ("mirrors/other-ports", message, help)
}

/// The whole name is replaced, and a host alone is none.
fn no_repository(source: &str, mirror: &str) -> (&'static str, String, String) {
    let message = format!(
        "if {} is a repository, every pull of it fails: with the mirror {} in its place, no name of a repository is left",
        quote(source),
        quote(mirror)
    );
    let path = source.split_once('/').map_or("", |(_, path)| path);
    let help =
        format!("write the mirror as a repository, too, such as {}", quote(&format!("{mirror}/{path}")));
    ("mirrors/no-repository", message, help)
}
