//! Decides what the plugin provides for one request of the kubelet: the sources, the credential for each of them, and
//! what it passes to the runtime, or why nothing. `crio-credential-provider` carries this out, and its `check` command
//! prints it.
//!
//! The decision has two steps, because the sources determine which Secrets are worth reading: call
//! [`provision_sources`] before reading any Secret, and [`provision`] afterwards.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{AnyPull, any_pull};
use crate::credentials::{
    AuthFile, AuthFileContent, Choice, Credential, PullSecret, Selection, Shadowed, select,
};
use crate::kubelet::exec::AuthConfig;
use crate::reference::Reference;
use crate::registries::{PullBy, PullSource, RegistriesConf};

/// How credentials reach the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// In a file for CRI-O, which looks up the credential for each source.
    AuthFile,
    /// In a file for the image service, which uses it for the pull that presents the ticket.
    Ticket,
    /// In the response. The kubelet does not tie it to a host, so a runtime may send it to every host of the pull.
    Answer {
        /// Whether to respond even if a credential would be sent to a host that it was not written for.
        every_host: bool,
    },
}

/// Returns the sources that may need a credential, for every pull that the repository's name can lead to: by tag, by
/// digest, and of a short name. Returns `None` if all these pulls use only the registry in the name, for which
/// `imagePullSecrets` suffice.
#[must_use]
pub fn provision_sources(
    registries: &RegistriesConf,
    repository: &Reference,
    delivery: Delivery,
) -> Option<Vec<PullSource>> {
    let AnyPull { mut sources, elsewhere } = any_pull(registries, repository);
    // CRI-O never uses a blocked source, so its credential must not be written to disk. A runtime that takes
    // credentials from the response does not read registries.conf, so it may well use that source, with the credential
    // from the response.
    if !matches!(delivery, Delivery::Answer { .. }) {
        sources.retain(|source| source.is_asked(PullBy::Any));
    }
    elsewhere.then_some(sources)
}

/// The decision for one request.
pub struct Provision<'a> {
    sources: &'a [PullSource],
    selection: Selection<'a>,
    /// What to pass on.
    pub provided: Provided,
}

/// What the plugin passes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provided {
    /// Nothing: no Secret of the namespace fits any source.
    Nothing,
    /// An auth file, for CRI-O or the image service.
    File {
        /// What to write.
        content: AuthFileContent,
        /// The number of sources with a credential from the namespace in the file.
        entries: usize,
    },
    /// These credentials, in the response to the kubelet.
    Answer(BTreeMap<String, AuthConfig>),
    /// Nothing, although there are credentials: the response to the kubelet cannot carry them safely.
    Withheld(Withheld),
}

/// Why credentials are not put into the response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// A runtime would also send the credential to this host.
    #[error(
        "not answered: the runtime may also show the credential to {host}, for which it was not written; \
         --answer-credentials-to-every-host-of-the-pull allows that"
    )]
    OtherHost {
        /// The host.
        host: String,
    },
    /// A credential that the kubelet cannot carry.
    #[error(
        "not answered: the kubelet carries user names and passwords, and the credential for {host} is an identity token"
    )]
    IdentityToken {
        /// The host of the credential.
        host: String,
    },
    /// A credential that is not valid UTF-8.
    #[error("not answered: the kubelet carries texts, and a user name or password is not valid UTF-8")]
    NotText,
    /// There are more credentials than keys that match the image.
    #[error("not answered: more credentials than the kubelet can be given for one image")]
    TooMany,
}

/// Decides what to pass on for `image`, the name in the kubelet's request. `sources` are those returned by
/// [`provision_sources`].
///
/// `secrets` are the namespace's pull secrets in order of precedence. `global` is the node's own auth file.
#[must_use]
pub fn provision<'a>(
    image: &str,
    sources: &'a [PullSource],
    secrets: &'a [PullSecret],
    global: Option<&'a AuthFile>,
    delivery: Delivery,
) -> Provision<'a> {
    let selection = select(secrets, global, sources.iter().map(|source| source.reference.name()));
    let entries = selection.choices().filter(|choice| is_namespaces(choice)).count();
    let provided = match delivery {
        _ if entries == 0 => Provided::Nothing,
        Delivery::Answer { every_host } => match answer(image, sources, &selection, every_host) {
            Ok(auth) => Provided::Answer(auth),
            Err(why) => Provided::Withheld(why),
        },
        Delivery::AuthFile | Delivery::Ticket => match selection.auth_file() {
            Some(content) => {
                let entries = entries.saturating_sub(content.sources_left_out.len());
                Provided::File { content, entries }
            }
            None => Provided::Nothing,
        },
    };
    Provision { sources, selection, provided }
}

fn is_namespaces(choice: &Choice) -> bool {
    matches!(choice, Choice::Namespace { .. })
}

/// Returns the response with the credentials of the namespace, in the order of the sources. It never includes the
/// node's own credentials: whoever writes a Secret could have them sent to every host of the pull, and the kubelet
/// itself offers them where they belong.
fn answer(
    image: &str,
    sources: &[PullSource],
    selection: &Selection<'_>,
    every_host: bool,
) -> Result<BTreeMap<String, AuthConfig>, Withheld> {
    let mut credentials: Vec<Credential> = Vec::new();
    for (position, (source, choice)) in sources.iter().zip(selection.choices()).enumerate() {
        let host = || source.reference.domain().to_owned();
        let Some(credential) = selection.credential(position).filter(|_| is_namespaces(choice)) else {
            // This host would be sent the credentials of other hosts.
            if every_host {
                continue;
            }
            return Err(Withheld::OtherHost { host: host() });
        };
        if credential.identity_token.is_some() {
            return Err(Withheld::IdentityToken { host: host() });
        }
        if !credentials.contains(&credential) {
            if !every_host && !credentials.is_empty() {
                return Err(Withheld::OtherHost { host: host() });
            }
            credentials.push(credential);
        }
    }
    keyed(image, credentials)
}

/// Gives each credential a key that matches the image, so that the kubelet tries them in this order.
///
/// The kubelet tries keys in reverse byte order, which puts a longer text before its own prefixes, and a key matches if
/// its path is a prefix of the image's path. So each key is the previous one without its last character.
fn keyed(image: &str, credentials: Vec<Credential>) -> Result<BTreeMap<String, AuthConfig>, Withheld> {
    let host = image.find('/').unwrap_or(image.len());
    // The kubelet reads a key with nothing after the slash as the host itself.
    let ends = (host + 2..=image.len()).rev().chain([host]).filter(|end| image.is_char_boundary(*end));
    let mut auth = BTreeMap::new();
    let mut ends = ends.into_iter();
    for credential in credentials {
        let end = ends.next().ok_or(Withheld::TooMany)?;
        let (username, password) = credential.texts().ok_or(Withheld::NotText)?;
        let config = AuthConfig { username: username.to_owned(), password: password.into() };
        auth.insert(image[..end].to_owned(), config);
    }
    Ok(auth)
}

/// A provision for users and programs to read. It names places and contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvisionReport {
    /// What is passed on.
    #[serde(flatten)]
    pub provides: Provides,
    /// The sources of every pull that the name can lead to, in order.
    pub sources: Vec<ProvisionedSource>,
}

/// What is passed on, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "provides", rename_all = "kebab-case")]
pub enum Provides {
    /// Nothing.
    Nothing {
        /// Why: `no-mirrors` or `no-credential`, as in the last line that the plugin logs.
        reason: &'static str,
    },
    /// An auth file for CRI-O.
    AuthFile(WrittenFile),
    /// An auth file for the image service, for the pull that presents the ticket.
    Ticket(WrittenFile),
    /// Credentials in the response to the kubelet.
    Answer {
        /// The number of credentials.
        credentials: usize,
    },
    /// Nothing, although there are credentials.
    Withheld {
        /// The reason.
        why: String,
    },
}

/// An auth file, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WrittenFile {
    /// The number of sources with a credential from the namespace in the file.
    pub entries: usize,
    /// The hosts whose credential helper is left out of the file, because the namespace has a credential for that host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub helpers_left_out: Vec<String>,
}

/// One source, with the credential for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvisionedSource {
    /// The source and its conditions.
    #[serde(flatten)]
    pub source: PullSource,
    /// Where the credential comes from, or why there is none.
    pub credential: Choice,
    /// Whether the plugin passes on a credential from the namespace for this source.
    pub provided: bool,
    /// Credentials that were not chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shadowed: Vec<Shadowed>,
}

impl ProvisionReport {
    /// The report for an image whose pulls use only the registry in its name.
    #[must_use]
    pub fn no_mirrors() -> Self {
        Self { provides: Provides::Nothing { reason: "no-mirrors" }, sources: Vec::new() }
    }
}

impl Provision<'_> {
    /// Returns the provision with all its reasons. Computed on request, because a run of the plugin does not need it.
    #[must_use]
    pub fn report(&self, delivery: Delivery) -> ProvisionReport {
        let none_left_out = Vec::new();
        let (provides, left_out) = match &self.provided {
            Provided::Nothing => (Provides::Nothing { reason: "no-credential" }, None),
            Provided::Withheld(why) => (Provides::Withheld { why: why.to_string() }, None),
            Provided::Answer(auth) => (Provides::Answer { credentials: auth.len() }, Some(&none_left_out)),
            Provided::File { content, entries } => {
                let helpers_left_out =
                    content.helpers_left_out.iter().map(|helper| helper.host.clone()).collect();
                let file = WrittenFile { entries: *entries, helpers_left_out };
                let provides = if delivery == Delivery::Ticket {
                    Provides::Ticket(file)
                } else {
                    Provides::AuthFile(file)
                };
                (provides, Some(&content.sources_left_out))
            }
        };
        let sources = self.sources.iter().zip(self.selection.choices()).enumerate();
        let sources = sources.map(|(position, (source, choice))| ProvisionedSource {
            source: source.clone(),
            credential: choice.clone(),
            provided: is_namespaces(choice) && left_out.is_some_and(|left_out| !left_out.contains(&position)),
            shadowed: self.selection.shadowed(position),
        });
        ProvisionReport { provides, sources: sources.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet::Keyring;

    #[test]
    fn the_kubelet_tries_the_keys_in_our_order() {
        let image = "docker.io/library/nginx";
        let users: Vec<String> = (0..5).map(|number| format!("user-{number}")).collect();
        let credentials = users.iter().map(|user| Credential::basic(user, "p")).collect();
        let auth = keyed(image, credentials).unwrap();
        let mut keyring = Keyring::default();
        for (key, config) in &auth {
            keyring.add(key, config.username.clone()).unwrap();
        }
        let tried: Vec<String> = keyring.lookup(image).into_iter().map(|hit| hit.value.clone()).collect();
        assert_eq!(tried, users);
    }

    #[test]
    fn what_json_cannot_carry_is_not_answered() {
        let credential = Credential { username: b"\xff".into(), ..Credential::basic("", "p") };
        assert_eq!(keyed("docker.io/ab", vec![credential]), Err(Withheld::NotText));
    }

    #[test]
    fn more_than_fit_are_refused() {
        let credentials = |count: usize| (0..count).map(|n| Credential::basic(&n.to_string(), "p")).collect();
        assert_eq!(keyed("docker.io/ab", credentials(3)).unwrap().len(), 3);
        assert_eq!(keyed("docker.io/ab", credentials(4)), Err(Withheld::TooMany));
    }
}
