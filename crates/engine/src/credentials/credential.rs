//! A credential, and how to read one from an entry of an auth document: as the runtime does, and as is done for
//! Secrets.

use std::fmt;

use thiserror::Error;

use super::entry::{AuthEntry, Field};
use super::sensitive::Sensitive;
use pullwright_golang::base64::{self, CorruptInput};

/// The user name that means "the secret is an identity token", introduced by Docker's credential helpers.
const TOKEN_USER: &str = "<token>";

/// What is sent to a registry: a user name with a password, or an identity token to obtain access tokens with.
///
/// User name and password are bytes. The runtime sends whatever `auth` decodes to, even if it is not UTF-8.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Credential {
    /// The user name. It can be a token, so `Debug` does not show it either.
    pub username: Vec<u8>,
    /// The password, possibly empty.
    pub password: Sensitive<Vec<u8>>,
    /// A refresh token. If present, it is used instead of the password.
    pub identity_token: Option<Sensitive>,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential([redacted])")
    }
}

/// Why the runtime cannot use an entry that it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum AuthFieldError {
    /// `auth` is not padded base64. The runtime fails the pull with this message.
    #[error(transparent)]
    Corrupt(#[from] CorruptInput),
}

/// Why an entry of a Secret yields no credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum EntryError {
    /// The entry, or one of its fields that is read, has the wrong type.
    #[error("{what} is {found} instead of {expected}")]
    WrongType {
        /// The entry or the field.
        what: &'static str,
        /// The type found.
        found: &'static str,
        /// The type required.
        expected: &'static str,
    },
    /// `auth` is neither padded nor unpadded base64.
    #[error("the auth field is no base64: {0}")]
    Corrupt(CorruptInput),
    /// `auth` decodes to bytes without a colon.
    #[error("unable to parse auth field, must be formatted as base64(username:password)")]
    NoColon,
    /// `username` contains a colon, which neither `auth` nor HTTP basic authentication can express.
    #[error("the user name contains a ':', which no auth file can express")]
    ColonInUsername,
    /// No user name, no password and no identity token.
    #[error("the entry has neither user name, password nor identity token")]
    Empty,
}

impl Credential {
    /// Creates a credential from a user name and a password.
    #[must_use]
    pub fn basic(username: &str, password: &str) -> Self {
        Self { username: username.into(), password: Sensitive::new(password.into()), identity_token: None }
    }

    /// Returns user name and password as text, for JSON and the container runtime interface, which carry only text.
    #[must_use]
    pub fn texts(&self) -> Option<(&str, &str)> {
        Some((str::from_utf8(&self.username).ok()?, str::from_utf8(self.password.expose()).ok()?))
    }

    /// Returns whether there is nothing to send to a registry. The runtime then continues as if it had found nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.username.is_empty() && self.password.expose().is_empty() && self.identity_token.is_none()
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let token = self.identity_token.as_ref().map_or(0, |token| token.expose().len());
        self.username.len() + self.password.expose().len() + token
    }

    /// Returns the `auth` field of an auth file: padded base64 of `username:password`.
    pub(super) fn auth_field(&self) -> Sensitive {
        Sensitive::new(base64::encode(&self.pair()))
    }

    /// Returns `username:password`, for the one place that has to send or write it.
    #[must_use]
    pub fn pair(&self) -> Vec<u8> {
        [&self.username, &b":"[..], self.password.expose()].concat()
    }

    /// Reads an entry as containers/image does: only `auth` and `identitytoken` count, padding is required, and a text
    /// without a colon is not a credential (Docker leaves `{}` behind for a credential helper).
    pub(super) fn for_runtime(entry: &AuthEntry) -> Result<Option<Self>, AuthFieldError> {
        let decoded = base64::decode(entry.auth.text())?;
        let Some((username, password)) = cut(&decoded) else {
            return Ok(None);
        };
        let credential = Self::from_parts(username, password, entry);
        Ok((!credential.is_empty()).then_some(credential))
    }

    /// Reads an entry of a Secret in every form that a consumer of Secrets accepts.
    ///
    /// As in the kubelet, a non-empty `auth` overrides `username` and `password` and may lack its padding. As in Docker
    /// and podman, `identitytoken` counts. On its own, it gets the user name `<token>`, because the runtime reads it
    /// only next to an `auth` with a colon. NUL bytes around the password are dropped because the runtime would drop
    /// them too.
    pub(super) fn for_secret(entry: &AuthEntry) -> Result<Self, EntryError> {
        if let Some(kind) = entry.mismatch {
            return Err(EntryError::WrongType {
                what: "the entry",
                found: kind.noun(),
                expected: "an object",
            });
        }
        expect_texts(&[("auth", &entry.auth)])?;
        let auth = entry.auth.text();
        let credential = if auth.is_empty() {
            expect_texts(&[("username", &entry.username), ("password", &entry.password)])?;
            let username = entry.username.text();
            let password = entry.password.text();
            if username.contains(':') {
                return Err(EntryError::ColonInUsername);
            }
            let token_alone =
                username.is_empty() && password.is_empty() && !entry.identity_token.text().is_empty();
            let username = if token_alone { TOKEN_USER } else { username };
            Self::from_parts(username.as_bytes(), password.as_bytes(), entry)
        } else {
            let padded = auth.trim().ends_with('=');
            let decoded = if padded { base64::decode(auth) } else { base64::decode_raw(auth) };
            let decoded = decoded.map_err(EntryError::Corrupt)?;
            let (username, password) = cut(&decoded).ok_or(EntryError::NoColon)?;
            Self::from_parts(username, password, entry)
        };
        if credential.is_empty() { Err(EntryError::Empty) } else { Ok(credential) }
    }

    fn from_parts(username: &[u8], password: &[u8], entry: &AuthEntry) -> Self {
        let token = entry.identity_token.text();
        Self {
            username: username.to_vec(),
            password: Sensitive::new(without_nul_around(password).to_vec()),
            identity_token: (!token.is_empty()).then(|| token.into()),
        }
    }
}

/// Refuses a field that is about to be read and has the wrong type. A field that is not read does no harm.
fn expect_texts(fields: &[(&'static str, &Field)]) -> Result<(), EntryError> {
    for &(what, field) in fields {
        if let Field::Mismatch(kind) = field {
            return Err(EntryError::WrongType { what, found: kind.noun(), expected: "a string" });
        }
    }
    Ok(())
}

fn without_nul_around(bytes: &[u8]) -> &[u8] {
    let is_content = |byte: &u8| *byte != 0;
    match (bytes.iter().position(is_content), bytes.iter().rposition(is_content)) {
        (Some(first), Some(last)) => &bytes[first..=last],
        _ => &[],
    }
}

/// Splits `username:password` at the first colon.
fn cut(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = pair.iter().position(|&byte| byte == b':')?;
    Some((&pair[..colon], &pair[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::super::document::{Document, Format};
    use super::*;
    use pullwright_golang::base64::encode;

    fn entry(json: &str) -> AuthEntry {
        let text = format!("{{\"k\": {json}}}");
        let document = Document::parse(text.as_bytes(), Format::Legacy).unwrap();
        document.entry_with_key("k").unwrap().1.clone()
    }

    fn secret(json: &str) -> Result<Credential, EntryError> {
        Credential::for_secret(&entry(json))
    }

    fn runtime(json: &str) -> Result<Option<Credential>, AuthFieldError> {
        Credential::for_runtime(&entry(json))
    }

    fn auth(pair: impl AsRef<[u8]>) -> String {
        format!(r#"{{"auth": "{}"}}"#, encode(pair.as_ref()))
    }

    #[test]
    fn the_runtime_reads_only_padded_auth_with_a_colon() {
        assert_eq!(runtime(&auth("u:p:q")), Ok(Some(Credential::basic("u", "p:q"))));
        assert_eq!(runtime(&auth("u:\0p\0\0")), Ok(Some(Credential::basic("u", "p"))));
        assert_eq!(runtime(&auth("\0u\0:p")), Ok(Some(Credential::basic("\0u\0", "p"))));
        assert_eq!(runtime(&auth(":p")), Ok(Some(Credential::basic("", "p"))));
        assert_eq!(runtime(r#"{"auth": "dTpw\nOnE="}"#), Ok(Some(Credential::basic("u", "p:q"))));
        for nothing in [
            "{}",
            "null",
            r#"{"username":"u","password":"p"}"#,
            r#"{"identitytoken":"t"}"#,
            &auth("pants"),
            &auth(":"),
        ] {
            assert_eq!(runtime(nothing), Ok(None), "{nothing}");
        }
        let unpadded = runtime(r#"{"auth": "dTpwOnE"}"#).unwrap_err();
        assert_eq!(unpadded.to_string(), "illegal base64 data at input byte 4");
        assert_eq!(runtime(&auth(b"\xff\xff")), Ok(None), "no colon comes first");
    }

    #[test]
    fn what_is_not_utf_8_is_shown_to_the_registry_as_it_is() {
        let pair = b"\xffu:\0p\xff\0";
        let expected = Credential {
            username: b"\xffu".into(),
            password: Sensitive::new(b"p\xff".into()),
            identity_token: None,
        };
        assert_eq!(runtime(&auth(pair)), Ok(Some(expected.clone())));
        assert_eq!(secret(&auth(pair)), Ok(expected.clone()));
        assert_eq!(expected.auth_field().expose(), &encode(b"\xffu:p\xff"));
        assert_eq!(expected.texts(), None, "what carries texts only cannot have it");
    }

    #[test]
    fn the_runtime_takes_the_identity_token_beside_auth() {
        let found = runtime(r#"{"auth": "Og==", "identitytoken": "t"}"#).unwrap().unwrap();
        assert_eq!((&found.username[..], found.identity_token), (&b""[..], Some("t".into())));
    }

    // Vectors of the kubelet's own tests.
    #[test]
    fn a_secret_is_read_as_the_kubelet_reads_it() {
        let foobar = Ok(Credential::basic("foo", "bar"));
        for good in [
            r#"{"auth": "Zm9vOmJhcg=="}"#,
            r#"{"auth": "Zm9vOmJhcg"}"#,
            r#"{"auth": "Zm9vOm\nJhcg==\n"}"#,
            r#"{"username": "foo", "password": "bar"}"#,
            r#"{"username": "foo", "password": "bar", "auth": ""}"#,
            r#"{"username": "foo", "password": "bar", "email": "foo@example.com"}"#,
        ] {
            assert_eq!(secret(good), foobar, "{good}");
        }
        let overridden = r#"{"username":"foo","password":"bar","auth":"cGluZzpwb25n"}"#;
        assert_eq!(secret(overridden), Ok(Credential::basic("ping", "pong")));
        assert_eq!(secret(r#"{"auth": "cGFudHM="}"#), Err(EntryError::NoColon));
        assert!(matches!(secret(r#"{"auth": "Zm9vOmJhcg== "}"#), Err(EntryError::Corrupt(_))));
        assert!(matches!(secret(r#"{"auth": "pants"}"#), Err(EntryError::Corrupt(_))));
    }

    #[test]
    fn a_secret_may_hold_an_identity_token() {
        let alone = secret(r#"{"identitytoken": "t"}"#).unwrap();
        assert_eq!((&alone.username[..], &alone.identity_token), (&b"<token>"[..], &Some("t".into())));
        let beside = secret(r#"{"auth": "dTo=", "identitytoken": "t"}"#).unwrap();
        assert_eq!((&beside.username[..], &beside.identity_token), (&b"u"[..], &Some("t".into())));
    }

    #[test]
    fn an_entry_without_a_usable_credential_says_why() {
        for empty in ["{}", "null", &auth(":"), &auth(":\0"), r#"{"username": "", "password": ""}"#] {
            assert_eq!(secret(empty), Err(EntryError::Empty), "{empty}");
        }
        assert_eq!(secret(r#"{"username": "a:b", "password": "p"}"#), Err(EntryError::ColonInUsername));
        assert_eq!(secret(r#"{"auth": 5}"#).unwrap_err().to_string(), "auth is a number instead of a string");
        assert!(matches!(secret("[]"), Err(EntryError::WrongType { what: "the entry", .. })));
    }

    #[test]
    fn debug_shows_nothing() {
        let credential = secret(r#"{"username": "robot", "password": "hunter2"}"#).unwrap();
        let shown = format!("{credential:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("robot"), "{shown}");
    }
}
