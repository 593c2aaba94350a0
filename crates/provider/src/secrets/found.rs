//! The pull secrets that were found for a request, limited whatever the namespace holds.
//!
//! Somebody who may write Secrets in a namespace must not be able to use up a node's memory or time with them. So there
//! are limits on what is kept and on what is reported, and what was left out is counted and reported in one line.

use std::fmt;

use pullwright_engine::credentials::{PullSecret, Secret, SecretError, SecretName, WantedRepositories};

use crate::shown::shown;

/// How much to keep of all Secrets together, in parts of keys: `host/path` has two. A pull from a thousand mirrors,
/// with a thousand Secrets of ten entries for them, needs a third of it.
const MOST_PARTS: usize = 50_000;
/// The same in bytes of keys and credentials. An entry usually has about two hundred.
const MOST_BYTES: usize = 8 << 20;
/// How many lines to log about what could not be used: enough to act on.
const MOST_LINES: usize = 30;
/// The longest line. It may quote what somebody wrote into a Secret.
const LONGEST_LINE: usize = 300;

/// The pull secrets that were found, in order, and what could not be used.
#[derive(Debug, Default)]
pub struct FoundSecrets {
    /// The Secrets that hold credentials for the pull.
    pub secrets: Vec<PullSecret>,
    /// How many other Secrets there are, without credentials for the pull.
    elsewhere: usize,
    /// What could not be used, and why. The rest still is.
    told: Vec<String>,
    left_out: LeftOut,
    parts: usize,
    bytes: usize,
}

/// What was left out because of a limit.
#[derive(Debug, Default, PartialEq, Eq)]
struct LeftOut {
    /// The point from which on the list was not read.
    rest: Option<String>,
    /// Secrets that are too large, or for which there was no room.
    secrets: usize,
    /// Entries of Secrets that have very many.
    entries: usize,
    /// Lines that were not logged.
    lines: usize,
}

impl FoundSecrets {
    /// How many Secrets could be read.
    pub(crate) fn count(&self) -> usize {
        self.secrets.len() + self.elsewhere
    }

    /// What could not be used, one line each, and at the end what was left out.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let left_out = (self.left_out != LeftOut::default()).then(|| self.left_out.to_string());
        self.told.iter().cloned().chain(left_out)
    }

    /// Adds a Secret, or the reason why it cannot be used.
    pub(super) fn add(
        &mut self,
        secret: Result<Secret, (SecretName, SecretError)>,
        wanted: &WantedRepositories<'_>,
    ) {
        self.add_read(secret.and_then(|secret| {
            let value = |key: &str| secret.data.get(key).map(|bytes| bytes.expose().as_slice());
            let name = || secret.name.clone();
            PullSecret::about(wanted, name, &secret.kind, value).map_err(|error| (name(), error))
        }));
    }

    /// Adds a Secret that was read, counts one that has nothing for the pull, or reports why it cannot be used.
    pub(super) fn add_read(&mut self, read: Result<Option<PullSecret>, (SecretName, SecretError)>) {
        let secret = match read {
            Ok(Some(secret)) => secret,
            Ok(None) => return self.elsewhere += 1,
            Err((name, error)) => return self.tell(format_args!("Secret {name}: {error}")),
        };
        for finding in secret.findings() {
            self.tell(format_args!("Secret {}: {}", secret.name(), finding.message));
        }
        if secret.more_findings() > 0 {
            self.tell(format_args!("Secret {}: {} more like these", secret.name(), secret.more_findings()));
        }
        self.left_out.entries += secret.unread();
        let entries = secret.entries();
        if entries.is_empty() {
            return self.elsewhere += 1;
        }
        let parts: usize = entries.iter().map(|entry| entry.scope.as_str().split('/').count()).sum();
        let bytes: usize = entries.iter().map(|entry| entry.key.len() + entry.credential.size()).sum();
        if self.parts + parts > MOST_PARTS || self.bytes + bytes > MOST_BYTES {
            return self.left_out.secrets += 1;
        }
        self.parts += parts;
        self.bytes += bytes;
        self.secrets.push(secret);
    }

    /// Reports something that cannot be used.
    pub(super) fn tell(&mut self, line: impl fmt::Display) {
        if self.told.len() < MOST_LINES {
            self.told.push(shown(&line.to_string(), LONGEST_LINE).into_owned());
        } else {
            self.left_out.lines += 1;
        }
    }

    /// Counts a Secret that is too large to read.
    pub(super) fn leave_out(&mut self) {
        self.left_out.secrets += 1;
    }

    /// Notes that the rest of a list was not read, and from where on.
    pub(super) fn leave_out_rest(&mut self, from: String) {
        self.left_out.rest = Some(from);
    }

    /// The report as lines for an error.
    pub(super) fn into_told(self) -> Vec<String> {
        self.lines().collect()
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(rest) = &self.rest {
            parts.push(rest.clone());
        }
        if self.secrets > 0 {
            parts.push(format!("{} Secret(s), for which there is no room", self.secrets));
        }
        if self.entries > 0 {
            parts.push(format!("{} entries of Secrets that have more than 10000", self.entries));
        }
        if self.lines > 0 {
            parts.push(format!("{} more lines like those above", self.lines));
        }
        write!(f, "left out: {}; use --secrets named, or smaller Secrets", parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str, document: &str) -> Secret {
        let manifest = serde_json::json!({
            "kind": "Secret", "metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson",
            "stringData": {".dockerconfigjson": document},
        });
        Secret::from_manifest(&manifest, "n").unwrap()
    }

    #[test]
    fn what_is_told_does_not_grow_with_the_namespace() {
        let (mut found, wanted) = (FoundSecrets::default(), WantedRepositories::of(["q.io/a"]));
        for number in 0..1000 {
            let document =
                format!(r#"{{"auths":{{"q.io/{}":0,"q.io":0,"b":0,"c":0,"d":0}}}}"#, "x".repeat(2000));
            found.add(Ok(secret(&number.to_string(), &document)), &wanted);
        }
        let lines: Vec<String> = found.lines().collect();
        assert_eq!(lines.len(), 31);
        assert_eq!(lines[3], "Secret n/0: 2 more like these");
        assert!(lines.iter().all(|line| line.chars().count() <= LONGEST_LINE));
        assert_eq!(
            lines[30],
            "left out: 3970 more lines like those above; use --secrets named, or smaller Secrets"
        );
        assert_eq!((found.secrets.len(), found.count()), (0, 1000));
    }

    #[test]
    fn what_is_kept_does_not_grow_with_the_namespace_and_the_first_ones_are() {
        let (mut found, wanted) = (FoundSecrets::default(), WantedRepositories::of(["q.io/a"]));
        let password = "p".repeat(900_000);
        for number in 0..20 {
            let document = format!(r#"{{"auths":{{"q.io":{{"username":"u","password":"{password}"}}}}}}"#);
            found.add(Ok(secret(&format!("{number:03}"), &document)), &wanted);
        }
        let names: Vec<String> = found.secrets.iter().map(|secret| secret.name().name.clone()).collect();
        assert_eq!(names.len(), 9);
        assert_eq!((names[0].as_str(), names[8].as_str()), ("000", "008"));
        assert_eq!(
            found.lines().collect::<Vec<_>>(),
            ["left out: 11 Secret(s), for which there is no room; use --secrets named, or smaller Secrets"]
        );
    }

    /// A thousand mirrors with a Secret for each, which also holds credentials for other hosts.
    #[test]
    fn a_large_namespace_of_honest_secrets_is_kept() {
        let mirrors: Vec<String> =
            (0..1000).map(|number| format!("mirror-{number}.example:5000/hub/nginx")).collect();
        let wanted = WantedRepositories::of(mirrors.iter().map(String::as_str));
        let mut found = FoundSecrets::default();
        for number in 0..1000 {
            let of = |host: String| format!(r#""{host}":{{"auth":"dTpw"}}"#);
            let mut entries: Vec<String> =
                (0..50).map(|other| of(format!("other-{other}.example"))).collect();
            entries.extend(
                (0..10).map(|more| of(format!("mirror-{}.example:5000/hub", (number + more) % 1000))),
            );
            let document = format!(r#"{{"auths":{{{}}}}}"#, entries.join(","));
            found.add(Ok(secret(&number.to_string(), &document)), &wanted);
        }
        assert_eq!((found.secrets.len(), found.lines().count()), (1000, 0));
    }
}
