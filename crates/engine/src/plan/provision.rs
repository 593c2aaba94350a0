//! What the plugin provides for one request of the kubelet: the sources, the credential for each of them, and what it hands
//! to the runtime, or why nothing. `crio-credential-provider` carries this out; its `check` prints it.
//!
//! The decision has two steps, because the sources say which Secrets are worth reading: [`provision_sources`] before any
//! Secret is read, [`provision`] after.

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
    /// In a file for CRI-O, which looks each credential up for its own source.
    AuthFile,
    /// In a file for the image service, which takes it for the pull that brings the ticket.
    Ticket,
    /// In the answer. The kubelet names no host with it, so a runtime may offer it to every host of the pull.
    Answer {
        /// Whether to answer even if a host would be shown a credential that was not written for it.
        every_host: bool,
    },
}

/// The sources that may need a credential, for every pull that the repository's name may stand for: by tag, by digest, and of
/// a short name. `None` if all of these pulls ask only the registry that is in the name, which `imagePullSecrets` serve.
#[must_use]
pub fn provision_sources(
    registries: &RegistriesConf,
    repository: &Reference,
    delivery: Delivery,
) -> Option<Vec<PullSource>> {
    let AnyPull { mut sources, elsewhere } = any_pull(registries, repository);
    // CRI-O never asks a blocked source, so no credential for it belongs on the disk. A runtime that takes answers does not read
    // registries.conf: it may well ask there, with the credential that was answered.
    if !matches!(delivery, Delivery::Answer { .. }) {
        sources.retain(|source| source.is_asked(PullBy::Any));
    }
    elsewhere.then_some(sources)
}

/// The decision for one request.
pub struct Provision<'a> {
    sources: &'a [PullSource],
    selection: Selection<'a>,
    /// What to hand over.
    pub provided: Provided,
}

/// What the plugin hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provided {
    /// Nothing: no Secret of the namespace fits any source.
    Nothing,
    /// An auth file, to CRI-O or to the image service.
    File {
        /// What to write.
        content: AuthFileContent,
        /// How many sources have a credential of the namespace in it.
        entries: usize,
    },
    /// These credentials, in the answer to the kubelet.
    Answer(BTreeMap<String, AuthConfig>),
    /// Nothing, although there are credentials: the kubelet's answer cannot carry them safely.
    Withheld(Withheld),
}

/// Why credentials are not put into the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// A runtime would offer the credential to this host as well.
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
        /// Its host.
        host: String,
    },
    /// A credential that is not text.
    #[error("not answered: the kubelet carries texts, and a user name or password is not valid UTF-8")]
    NotText,
    /// More credentials than keys that match the image.
    #[error("not answered: more credentials than the kubelet can be given for one image")]
    TooMany,
}

/// Decides what to hand over for `image`, the name in the kubelet's request, whose `sources` are those of
/// [`provision_sources`].
///
/// `secrets` are the namespace's pull secrets, first one first. `global` is the node's own auth file.
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

/// The answer with credentials of the namespace, in the order of the sources. The node's own are never answered: whoever
/// writes a Secret could have them shown to every host of the pull, and the kubelet offers them by itself where they belong.
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
            // This host would be shown the others' credentials.
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

/// Gives each credential a key that matches the image, such that the kubelet tries them in this order.
///
/// It tries keys in reverse order of their bytes, which puts a longer text before its own beginning, and a key
/// matches when its path is the beginning of the image's. So each next key is the one before without its last character.
fn keyed(image: &str, credentials: Vec<Credential>) -> Result<BTreeMap<String, AuthConfig>, Withheld> {
    let host = image.find('/').unwrap_or(image.len());
    // A key with nothing behind the slash is the host itself to the kubelet.
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

/// A provision as people and programs read it. It names places and holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvisionReport {
    /// What is handed over.
    #[serde(flatten)]
    pub provides: Provides,
    /// The sources of every pull that the name may stand for, in order.
    pub sources: Vec<ProvisionedSource>,
}

/// What is handed over, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "provides", rename_all = "kebab-case")]
pub enum Provides {
    /// Nothing, and why.
    Nothing {
        /// `no-mirrors` or `no-credential`, as in the journal's last line.
        reason: &'static str,
    },
    /// An auth file for CRI-O.
    AuthFile(WrittenFile),
    /// An auth file for the image service, for the pull that brings the ticket.
    Ticket(WrittenFile),
    /// Credentials in the answer to the kubelet.
    Answer {
        /// How many.
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
    /// How many sources have a credential of the namespace in it.
    pub entries: usize,
    /// The hosts whose credential helper the file leaves out, since the namespace has a credential for that host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub helpers_left_out: Vec<String>,
}

/// One source, with the credential for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProvisionedSource {
    /// Where, and under which conditions.
    #[serde(flatten)]
    pub source: PullSource,
    /// Where the credential comes from, or why there is none.
    pub credential: Choice,
    /// Whether the plugin hands a credential of the namespace over for this source.
    pub provided: bool,
    /// What was passed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shadowed: Vec<Shadowed>,
}

impl ProvisionReport {
    /// The report for an image whose pulls ask only the registry in its name.
    #[must_use]
    pub fn no_mirrors() -> Self {
        Self { provides: Provides::Nothing { reason: "no-mirrors" }, sources: Vec::new() }
    }
}

impl Provision<'_> {
    /// The provision with all its reasons. Worked out when asked for: a run of the plugin does not need it.
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
