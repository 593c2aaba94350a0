//! The pull secrets of one namespace, gathered from files of manifests.

use std::collections::BTreeMap;

use pullwright_engine::credentials::{PullSecret, SecretName};
use pullwright_findings::{Finding, Severity};

use super::manifests::{ManifestFile, NotUsed, namespace_of, read_secret, secrets_of};
use crate::diagnostic::Message;
use pullwright_documents::DocumentNode;

/// The Secrets that can be used, and warnings about the others.
pub(crate) struct PullSecrets<'a> {
    namespace: &'a str,
    /// By name, which is the order in which the API server lists them.
    pub(crate) secrets: BTreeMap<SecretName, PullSecret>,
    /// About invalid files and Secrets, which are skipped.
    pub(crate) warnings: Vec<Message>,
}

impl<'a> PullSecrets<'a> {
    pub(crate) fn of(namespace: &'a str) -> Self {
        Self { namespace, secrets: BTreeMap::new(), warnings: Vec::new() }
    }

    pub(crate) fn add(&mut self, file: &ManifestFile) {
        let namespace = self.namespace;
        let secrets = file.documents.iter().flat_map(secrets_of);
        for secret in secrets.filter(|secret| namespace_of(secret) == namespace) {
            self.add_secret(file, secret);
        }
        let what = if file.documents.is_empty() { "file" } else { "document" };
        for message in &file.unreadable {
            let text = format!("this {what} is skipped: {}", message.text);
            self.warn(Message { text, rule: None, ..message.clone() });
        }
    }

    fn add_secret(&mut self, file: &ManifestFile, secret: &DocumentNode) {
        let findings: Vec<Finding> = match read_secret(secret) {
            Err(NotUsed::NoPullSecret) => return,
            Err(NotUsed::Broken(finding)) => vec![finding],
            Ok(pull_secret) => {
                let findings = pull_secret.findings().to_vec();
                let name = pull_secret.name().clone();
                let twice = format!("Secret {name} is defined twice; this one is used");
                if self.secrets.insert(name, pull_secret).is_some() {
                    self.warn(file.file().written(secret).error(secret.span.clone(), &twice));
                }
                findings
            }
        };
        for message in file.secret_findings(secret, &findings) {
            self.warn(message);
        }
    }

    fn warn(&mut self, message: Message) {
        self.warnings.push(Message { severity: Severity::Warning, ..message });
    }
}
