//! What the kubelet is answered: usually that there is nothing to cache, and for whom the pull is.

use std::collections::BTreeMap;

use pullwright_engine::credentials::{Choice, Credential, Selection, Sensitive};
use pullwright_engine::kubelet::exec::AuthConfig;
use pullwright_engine::kubelet::{ApiVersion, Response};
use pullwright_engine::registries::PullSource;
use pullwright_handover::Ticket;

/// How credentials reach the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deliver {
    /// In a file for CRI-O; each credential is looked up for its own source.
    File,
    /// In a file for the image service, which takes it for the pull that brings the ticket.
    Ticket,
    /// In the answer. The kubelet names no host with it, so a runtime may offer it to every host of the pull.
    Answer {
        /// Whether to do so even if a host would be shown a credential that was not written for it.
        every_host: bool,
    },
}

/// Why credentials are not put into the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
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
    /// A credential that is no text.
    #[error("not answered: the kubelet carries texts, and a user name or password is not valid UTF-8")]
    NoText,
    /// More credentials than keys that match the image.
    #[error("not answered: more credentials than the kubelet can be given for one image")]
    TooMany,
}

/// The answer where a file is or was handed over.
///
/// An entry for the image with empty user and password: CRI-O passes it over, and the kubelet records the pull as this
/// service account's. Without it the kubelet would take the image for public, and let every Pod on the node use it.
pub(crate) fn for_this_account(version: ApiVersion, image: &str, pull_record: bool) -> Response {
    let mut response = Response::empty(version);
    if pull_record {
        let nobody = AuthConfig { username: String::new(), password: Sensitive::new(String::new()) };
        response.auth.insert(image.to_owned(), nobody);
    }
    response
}

/// The answer with a ticket, which the kubelet passes on with the pull, for this service account.
pub(crate) fn with_ticket(version: ApiVersion, image: &str, ticket: &Ticket) -> Response {
    let mut response = Response::empty(version);
    let password = Sensitive::new(ticket.expose().to_owned());
    response.auth.insert(image.to_owned(), AuthConfig { username: Ticket::USERNAME.to_owned(), password });
    response
}

/// The answer with credentials of the namespace, in the order of the sources. The node's own are never answered: whoever
/// writes a Secret could have them shown to every host of the pull, and the kubelet offers them by itself where they belong.
pub(crate) fn with_credentials(
    version: ApiVersion,
    image: &str,
    sources: &[PullSource],
    selection: &Selection<'_>,
    every_host: bool,
) -> Result<Response, AnswerError> {
    let mut credentials: Vec<Credential> = Vec::new();
    for (position, (source, choice)) in sources.iter().zip(selection.choices()).enumerate() {
        let host = || source.reference.domain().to_owned();
        let of_namespace = matches!(choice, Choice::Namespace { .. });
        let Some(credential) = selection.credential(position).filter(|_| of_namespace) else {
            // This host would be shown the others' credentials.
            if every_host {
                continue;
            }
            return Err(AnswerError::OtherHost { host: host() });
        };
        if credential.identity_token.is_some() {
            return Err(AnswerError::IdentityToken { host: host() });
        }
        if !credentials.contains(&credential) {
            if !every_host && !credentials.is_empty() {
                return Err(AnswerError::OtherHost { host: host() });
            }
            credentials.push(credential);
        }
    }
    let mut response = Response::empty(version);
    response.auth = keyed(image, credentials)?;
    Ok(response)
}

/// Gives each credential a key that matches the image, such that the kubelet tries them in this order.
///
/// It tries keys in reverse order of their bytes, which puts a longer text before its own beginning, and a key
/// matches when its path is the beginning of the image's. So each next key is the one before without its last character.
fn keyed(image: &str, credentials: Vec<Credential>) -> Result<BTreeMap<String, AuthConfig>, AnswerError> {
    let host = image.find('/').unwrap_or(image.len());
    // A key with nothing behind the slash is the host itself to the kubelet.
    let ends = (host + 2..=image.len()).rev().chain([host]).filter(|end| image.is_char_boundary(*end));
    let mut auth = BTreeMap::new();
    let mut ends = ends.into_iter();
    for credential in credentials {
        let end = ends.next().ok_or(AnswerError::TooMany)?;
        let (username, password) = credential.texts().ok_or(AnswerError::NoText)?;
        let config = AuthConfig { username: username.to_owned(), password: password.into() };
        auth.insert(image[..end].to_owned(), config);
    }
    Ok(auth)
}

#[cfg(test)]
mod tests {
    use pullwright_engine::kubelet::Keyring;

    use super::*;

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
        assert_eq!(keyed("docker.io/ab", vec![credential]), Err(AnswerError::NoText));
    }

    #[test]
    fn more_than_fit_are_refused() {
        let credentials = |count: usize| (0..count).map(|n| Credential::basic(&n.to_string(), "p")).collect();
        assert_eq!(keyed("docker.io/ab", credentials(3)).unwrap().len(), 3);
        assert_eq!(keyed("docker.io/ab", credentials(4)), Err(AnswerError::TooMany));
    }
}
