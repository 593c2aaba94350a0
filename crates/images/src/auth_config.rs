//! `AuthConfig`: the credential that containerd gets to send to registries.
//!
//! Without a server address, containerd sends the credential to every host that asks: each mirror and the source. With
//! one, a URL, it sends it only to the host that it contacts under exactly that `host[:port]`.

use std::fmt;

use pullwright_engine::credentials::Credential;
use pullwright_handover::Ticket;
use pullwright_protobuf::{Fields, append, last, text};

const USERNAME: u32 = 1;
const PASSWORD: u32 = 2;
const SERVER_ADDRESS: u32 = 4;
const IDENTITY_TOKEN: u32 = 5;

/// The user name is the one for tickets, but the password is not a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the user name {:?} is for tickets of crio-credential-provider, and the password with it is not one: if it stands in a \
     Secret, give the login another name",
    Ticket::USERNAME
)]
pub(crate) struct NotATicket;

/// The encoded message, ready to send.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AuthConfig(Vec<u8>);

impl AuthConfig {
    /// A credential for one host; `None` if containerd could not use it.
    ///
    /// containerd uses an identity token only if there is no user name. Nothing uses a password without a user name:
    /// CRI-O pulls anonymously then. The message also cannot hold text that is not UTF-8.
    pub(crate) fn bound(credential: &Credential, server_address: &str) -> Option<Self> {
        let mut message = Vec::with_capacity(256);
        match &credential.identity_token {
            Some(token) => append(&mut message, IDENTITY_TOKEN, token.expose().as_bytes()),
            None if credential.username.is_empty() => return None,
            None => {
                let (username, password) = credential.texts()?;
                append(&mut message, USERNAME, username.as_bytes());
                append(&mut message, PASSWORD, password.as_bytes());
            }
        }
        append(&mut message, SERVER_ADDRESS, server_address.as_bytes());
        Some(Self(message))
    }

    /// The kubelet's credential, bound to one host unless it names a host itself; `None` if it is empty.
    pub(crate) fn of_kubelet(auth: &[u8], server_address: Option<&str>) -> Option<Self> {
        if !Self::shows(auth) {
            return None;
        }
        let says_where = last(auth, SERVER_ADDRESS.into()).is_ok_and(|address| !address.is_empty());
        let mut message = Vec::with_capacity(auth.len() + 256);
        message.extend_from_slice(auth);
        if let Some(address) = server_address.filter(|_| !says_where) {
            append(&mut message, SERVER_ADDRESS, address.as_bytes());
        }
        Some(Self(message))
    }

    /// The ticket that the plugin gave to the kubelet, if the kubelet sent one.
    pub(crate) fn ticket(auth: &[u8]) -> Option<Result<Ticket, NotATicket>> {
        if last(auth, USERNAME.into()) != Ok(Ticket::USERNAME.as_bytes()) {
            return None;
        }
        let password = last(auth, PASSWORD.into()).and_then(text);
        Some(password.ok().and_then(Ticket::parse).ok_or(NotATicket))
    }

    /// Whether the kubelet's message holds any credential.
    pub(crate) fn shows(auth: &[u8]) -> bool {
        let mut fields = Fields::of(auth).flatten();
        fields.any(|(number, value)| number != u64::from(SERVER_ADDRESS) && !value.is_empty())
    }

    /// The encoded message, to send.
    pub(crate) fn expose(&self) -> &[u8] {
        &self.0
    }
}

/// Hides the content, which is secret.
impl fmt::Debug for AuthConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthConfig([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(config: &AuthConfig) -> Vec<(u64, String)> {
        let field = |field: Result<(u64, &[u8]), pullwright_protobuf::Malformed>| {
            let (number, value) = field.unwrap();
            (number, String::from_utf8(value.to_vec()).unwrap())
        };
        Fields::of(config.expose()).map(field).collect()
    }

    fn of_kubelet(auth: &[u8]) -> Option<Vec<(u64, String)>> {
        AuthConfig::of_kubelet(auth, Some("https://own")).as_ref().map(fields)
    }

    #[test]
    fn a_credential_is_bound_to_its_host() {
        let bound = AuthConfig::bound(&Credential::basic("u", "p"), "http://m:5000").unwrap();
        assert_eq!(fields(&bound), [(1, "u".into()), (2, "p".into()), (4, "http://m:5000".into())]);
    }

    #[test]
    fn an_identity_token_goes_without_a_user_name_or_containerd_would_not_look_at_it() {
        let credential = Credential { identity_token: Some("t".into()), ..Credential::basic("<token>", "") };
        let bound = AuthConfig::bound(&credential, "https://m").unwrap();
        assert_eq!(fields(&bound), [(5, "t".into()), (4, "https://m".into())]);
    }

    #[test]
    fn a_password_of_nobody_is_not_sent() {
        assert_eq!(AuthConfig::bound(&Credential::basic("", "p"), "https://m"), None);
        let no_text = Credential { username: b"\xff".into(), ..Credential::basic("", "p") };
        assert_eq!(AuthConfig::bound(&no_text, "https://m"), None);
    }

    #[test]
    fn what_the_kubelet_sent_is_kept_and_bound_unless_it_says_where_itself() {
        let sent = [(1, "u".into()), (2, "p".into()), (9, "new".into()), (4, "https://own".into())];
        assert_eq!(of_kubelet(b"\x0a\x01u\x12\x01p\x4a\x03new").unwrap(), sent);
        let says = [(1, "u".into()), (4, "https://x".into())];
        assert_eq!(of_kubelet(b"\x0a\x01u\x22\x09https://x").unwrap(), says);
        let as_it_was = AuthConfig::of_kubelet(b"\x0a\x01u", None).unwrap();
        assert_eq!(fields(&as_it_was), [(1, "u".into())]);
    }

    #[test]
    fn nothing_to_show_is_nothing_to_try() {
        // The form in which the plugin's answer for the kubelet's pull record arrives.
        assert_eq!(of_kubelet(b""), None);
        assert_eq!(of_kubelet(b"\x0a\0\x12\0\x22\x09https://x"), None);
        assert_eq!(of_kubelet(b"\x0a\x7fcut"), None);
    }

    #[test]
    fn debug_shows_nothing() {
        let bound = AuthConfig::bound(&Credential::basic("robot", "hunter2"), "https://m").unwrap();
        assert_eq!(format!("{bound:?}"), "AuthConfig([redacted])");
    }
}
