//! A `hosts.toml`, and messages that point into it.

use std::path::Path;

use pullwright_documents::toml_document;
use pullwright_engine::containerd::HostsToml;
use pullwright_engine::finding::Finding;

use crate::diagnostic::{File, Message, Visibility};

/// A file whose text messages point into.
pub(crate) fn file<'a>(path: &'a Path, text: &'a str) -> File<'a> {
    File { path, text, visibility: Visibility::HostsToml }
}

/// What containerd says about the file, and what a person should know.
pub(crate) fn check(file: &File<'_>) -> Vec<Message> {
    match HostsToml::parse(file.text) {
        Ok(hosts) => hosts.findings().iter().map(|finding| message(file, finding)).collect(),
        Err(error) => vec![message(file, &error.finding())],
    }
}

/// A finding in the file. What is no TOML has no places but the one where reading stopped.
pub(crate) fn message(file: &File<'_>, finding: &Finding) -> Message {
    match toml_document(file.text) {
        Ok(document) => file.finding(&document, finding),
        Err(error) => Message {
            severity: finding.severity,
            rule: Some(finding.rule),
            help: finding.help.clone(),
            ..file.unreadable(&error)
        },
    }
}
