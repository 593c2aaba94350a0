//! Checks a node's auth file for what the runtime refuses, ignores, or reads differently from what its author most
//! likely meant.

use std::collections::BTreeMap;

use super::credential::Credential;
use super::document::DocumentError;
use super::entry::AuthEntry;
use super::lookup::{AuthFile, host_of_key};
use super::scope::{Scope, shown};
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::base64;

impl DocumentError {
    /// Returns the error as a finding.
    #[must_use]
    pub fn finding(&self) -> Finding {
        let at = match self {
            Self::Syntax(_) => DocPath::root(),
            Self::Mismatch(mismatch) => mismatch.at.clone(),
        };
        Finding::new(&rules::auth_file::UNREADABLE, at, self.to_string())
    }
}

impl AuthFile {
    /// Returns all findings about the file.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let auths = DocPath::root().key("auths");
        let mut findings = Vec::new();
        for (key, entry) in self.document().entries() {
            let at = auths.key(shown(key));
            findings.extend(about_key(key, &at));
            findings.extend(about_entry(entry, &at));
        }
        findings.extend(self.ambiguous_hosts(&auths));
        if self.document().has_other("credsStore") {
            let at = DocPath::root().key("credsStore");
            findings.push(Finding::new(
                &rules::auth_file::CREDS_STORE,
                at,
                "the runtime does not support credsStore",
            ));
        }
        findings
    }

    /// Finds hosts that several keys stand for. Which of these keys the runtime uses can change from pull to pull.
    fn ambiguous_hosts(&self, auths: &DocPath) -> Vec<Finding> {
        let mut by_host: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for key in self.document().keys() {
            by_host.entry(host_of_key(key, false)).or_default().push(key);
        }
        let ambiguous = by_host.into_iter().filter(|(_, keys)| keys.len() > 1);
        // A plain key for the host settles it. Docker Hub images are looked up as docker.io.
        let unsettled = ambiguous.filter(|(host, keys)| !keys.contains(host) && !keys.contains(&"docker.io"));
        unsettled
            .map(|(_, keys)| {
                let names: Vec<_> = keys.iter().map(|key| shown(key)).collect();
                let message =
                    format!("{} stand for one host, and the runtime takes any of them", names.join(", "));
                Finding::new(&rules::auth_file::AMBIGUOUS_HOST, auths.clone(), message)
            })
            .collect()
    }
}

fn about_key(key: &str, at: &DocPath) -> Option<Finding> {
    let warning = |message: String, help: &str| {
        Some(Finding::new(&rules::auth_file::KEY, at.clone(), message).with_help(help))
    };
    let is_url = key.starts_with("https://") || key.starts_with("http://");
    match Scope::parse(key) {
        Err(error) => warning(
            format!("{error}; the runtime never finds it"),
            "write host[:port] or host[:port]/namespace",
        ),
        Ok(_) if !is_url && key.ends_with('/') => {
            warning("the runtime never finds a key that ends in a slash".to_owned(), "remove the slash")
        }
        Ok(scope) if is_url && scope.as_str().contains('/') => {
            let message = "the runtime ignores the path of a URL and uses the entry for the whole host";
            warning(message.to_owned(), &format!("write {scope}"))
        }
        Ok(_) => None,
    }
}

fn about_entry(entry: &AuthEntry, at: &DocPath) -> Option<Finding> {
    let auth = entry.auth.text();
    match Credential::for_runtime(entry) {
        Err(error) => {
            let message = format!("every pull that finds this entry fails: {error}");
            let finding = Finding::new(&rules::auth_file::ENTRY, at.key("auth"), message);
            let unpadded = base64::decode_raw(auth).is_ok();
            Some(if unpadded {
                finding.with_help("the runtime needs the padding, `=` at the end")
            } else {
                finding
            })
        }
        Ok(Some(_)) => None,
        Ok(None) if !auth.is_empty() => {
            let message = "the auth field is not base64(username:password), so the entry counts as empty";
            Some(Finding::new(&rules::auth_file::ENTRY, at.key("auth"), message).as_warning())
        }
        Ok(None) => {
            let unread = [&entry.username, &entry.password, &entry.identity_token];
            unread.iter().any(|field| !field.text().is_empty()).then(|| {
                let message = "the runtime ignores an entry without auth";
                let finding = Finding::new(&rules::auth_file::ENTRY, at.clone(), message).as_warning();
                finding.with_help("add auth, the base64 of username:password")
            })
        }
    }
}
