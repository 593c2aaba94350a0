//! Reads the claims of a service account token. The signature is not checked: the API server does that when the token is
//! used, and nothing that is read here grants anything.

use thiserror::Error;

use crate::credentials::Sensitive;
use crate::kubelet::namespace::Namespace;
use pullwright_golang::base64;
use pullwright_golang::json::{JsonKind, RawValue};

/// An object that a token is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundObject {
    /// The name of the object.
    pub name: String,
    /// The UID of the object, empty if the token has none.
    pub uid: String,
}

/// The claims of a bound service account token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The pod's namespace; the subject has the same.
    pub namespace: Namespace,
    /// The service account; the subject has the same.
    pub service_account: BoundObject,
    /// The pod that the token was made for.
    pub pod: Option<BoundObject>,
    /// The time when it expires, in seconds since 1970.
    pub expires: Option<i64>,
}

/// The reason why a token cannot be read. It never contains a part of the token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The token does not consist of three parts in base64url with an object in the middle.
    #[error("read service account token: it is not a JSON web token")]
    NotAToken,
    /// A claim that every bound token has is missing or has the wrong type.
    #[error("read service account token: claim {0} is missing or not of its type")]
    Claim(&'static str),
    /// The namespace is not a valid name.
    #[error("read service account token: claim kubernetes.io.namespace is not a DNS label")]
    Namespace,
    /// `sub` is not `system:serviceaccount:` with the same namespace and service account.
    #[error("read service account token: claim sub does not agree with the namespace and service account")]
    Subject,
}

impl Claims {
    /// Reads the claims of a token.
    ///
    /// # Errors
    /// If the token is invalid, or its claims contradict each other.
    pub fn read(token: &Sensitive) -> Result<Self, TokenError> {
        let parts: Vec<_> = token.expose().split('.').collect();
        let [_, payload, _] = parts[..] else {
            return Err(TokenError::NotAToken);
        };
        let payload = base64::decode_raw_url(payload).map_err(|_| TokenError::NotAToken)?;
        let claims = RawValue::parse(&payload).map_err(|_| TokenError::NotAToken)?;
        if claims.kind() != JsonKind::Object {
            return Err(TokenError::NotAToken);
        }
        let bound = claim(claims, "kubernetes.io").ok_or(TokenError::Claim("kubernetes.io"))?;
        let namespace = text(bound, "namespace").ok_or(TokenError::Claim("kubernetes.io.namespace"))?;
        let namespace = namespace.parse().map_err(|_| TokenError::Namespace)?;
        let service_account = claim(bound, "serviceaccount")
            .and_then(bound_object)
            .ok_or(TokenError::Claim("kubernetes.io.serviceaccount.name"))?;
        let subject = text(claims, "sub").ok_or(TokenError::Claim("sub"))?;
        if subject != format!("system:serviceaccount:{namespace}:{}", service_account.name) {
            return Err(TokenError::Subject);
        }
        let pod = match claim(bound, "pod") {
            None => None,
            Some(pod) => Some(bound_object(pod).ok_or(TokenError::Claim("kubernetes.io.pod.name"))?),
        };
        let expires = match claim(claims, "exp") {
            None => None,
            Some(exp) => Some(seconds(exp).ok_or(TokenError::Claim("exp"))?),
        };
        Ok(Self { namespace, service_account, pod, expires })
    }

    /// Whether the token has expired at `now`, in seconds since 1970.
    #[must_use]
    pub fn is_expired(&self, now: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// Returns the last claim with that name, like the API server; null counts as absent.
fn claim<'a>(claims: RawValue<'a>, name: &str) -> Option<RawValue<'a>> {
    let named = claims.members().filter(|(member, _)| member == name);
    named.map(|(_, value)| value).filter(|value| value.kind() != JsonKind::Null).last()
}

fn text(claims: RawValue<'_>, name: &str) -> Option<String> {
    Some(claim(claims, name)?.text()?.into_owned())
}

fn bound_object(value: RawValue<'_>) -> Option<BoundObject> {
    let name = text(value, "name").filter(|name| !name.is_empty())?;
    Some(BoundObject { name, uid: text(value, "uid").unwrap_or_default() })
}

/// Returns a number of seconds, rounded down.
fn seconds(value: RawValue<'_>) -> Option<i64> {
    if value.kind() != JsonKind::Number {
        return None;
    }
    let digits = std::str::from_utf8(value.bytes()).ok()?;
    let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
    whole.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> Sensitive {
        let payload = base64::encode(claims.as_bytes()).replace('+', "-").replace('/', "_");
        Sensitive::new(format!("e30.{}.c2ln", payload.trim_end_matches('=')))
    }

    const CLAIMS: &str = r#"{"aud":["a"],"exp":1700003600,"sub":"system:serviceaccount:team-a:default",
        "kubernetes.io":{"namespace":"team-a","node":{"name":"n"},"pod":{"name":"web-1","uid":"p"},
        "serviceaccount":{"name":"default","uid":"s"}}}"#;

    #[test]
    fn the_claims_of_a_bound_token_are_read() {
        let claims = Claims::read(&token(CLAIMS)).unwrap();
        assert_eq!(claims.namespace.as_str(), "team-a");
        assert_eq!(claims.service_account, BoundObject { name: "default".into(), uid: "s".into() });
        assert_eq!(claims.pod.as_ref().unwrap().name, "web-1");
        assert!(claims.is_expired(1_700_003_600) && !claims.is_expired(1_700_003_599));
    }

    #[test]
    fn a_namespace_that_would_leave_its_folder_is_refused() {
        for namespace in ["../x", "a/b", "", ".", "A", "-a", "a-", "a.b", &"a".repeat(64)] {
            let refused = Claims::read(&token(&CLAIMS.replace("team-a", namespace)));
            assert_eq!(refused, Err(TokenError::Namespace), "{namespace}");
        }
    }

    #[test]
    fn claims_that_contradict_each_other_are_refused() {
        for (from, to, expected) in [
            ("account:team-a", "account:team-b", TokenError::Subject),
            (":default", ":other", TokenError::Subject),
            ("\"sub\"", "\"Sub\"", TokenError::Claim("sub")),
            ("1700003600", "\"soon\"", TokenError::Claim("exp")),
            ("\"web-1\"", "7", TokenError::Claim("kubernetes.io.pod.name")),
            ("serviceaccount\":{", "x\":{", TokenError::Claim("kubernetes.io.serviceaccount.name")),
            ("kubernetes.io", "other.io", TokenError::Claim("kubernetes.io")),
        ] {
            assert_eq!(Claims::read(&token(&CLAIMS.replace(from, to))), Err(expected), "{from} → {to}");
        }
    }

    #[test]
    fn what_is_no_token_is_refused_without_being_shown() {
        for text in ["", "hush", "a.hush", "a.hush!.c", "a.b.c.hush", "a.W10.c"] {
            let refusal = Claims::read(&Sensitive::from(text)).unwrap_err();
            assert_eq!(refusal, TokenError::NotAToken);
            assert!(!refusal.to_string().contains("hush"));
        }
    }
}
