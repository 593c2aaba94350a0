//! A `hosts.toml`, and messages that point into it.

use std::path::Path;

use pullwright_documents::{Text, toml_document};
use pullwright_engine::containerd::HostsToml;
use pullwright_findings::Finding;

use crate::diagnostic::{File, Message, Visibility};

/// A file whose text messages point into.
pub(crate) fn file<'a>(path: &'a Path, text: &'a Text) -> File<'a> {
    File { path, text, visibility: Visibility::HostsToml }
}

/// Checks the file as containerd does, and for likely mistakes.
pub(crate) fn check(file: &File<'_>) -> Vec<Message> {
    match HostsToml::parse(file.text) {
        Ok(hosts) => messages(file, hosts.findings()),
        Err(error) => messages(file, [&error.finding()]),
    }
}

/// Findings in the file. A text that is not TOML has only one place, where reading stopped.
pub(crate) fn messages<'f>(file: &File<'_>, findings: impl IntoIterator<Item = &'f Finding>) -> Vec<Message> {
    let findings = findings.into_iter();
    match toml_document(file.text) {
        Ok(document) => {
            let written = file.written(&document);
            findings.map(|finding| written.finding(finding)).collect()
        }
        Err(error) => {
            let unreadable = |finding: &Finding| Message {
                severity: finding.severity,
                rule: Some(finding.rule),
                help: Some(finding.remedy().to_owned()),
                ..file.unreadable(&error)
            };
            findings.map(unreadable).collect()
        }
    }
}
