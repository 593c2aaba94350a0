//! Answers a challenge: with the credential itself, or with a token that it is exchanged for.

use hyper::Uri;
use pullwright_engine::credentials::{Credential, Sensitive};
use pullwright_golang::base64;
use serde::Deserialize;

use crate::address::escape;
use crate::challenge::Challenge;

/// The client name that token services log.
const CLIENT_ID: &str = "pullwright";

/// How the registry wants a client to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WantedAuth {
    /// User name and password with each request.
    Basic,
    /// A token from this service.
    Token { realm: String, service: Option<String> },
}

/// A request for a token.
#[derive(Debug)]
pub(crate) struct TokenRequest {
    pub(crate) uri: Uri,
    /// The value of `Authorization`.
    pub(crate) authorization: Option<Sensitive>,
    /// A form to post; without one, the request is a GET.
    pub(crate) form: Option<Sensitive>,
}

/// Why a token could not be obtained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The registry gives no usable URL for the token service.
    #[error("the registry names no usable token service")]
    Realm,
    /// The credential would go over the network in clear text.
    #[error("the token service at {0} is reached by plain http; the credential was not sent there")]
    Plain(String),
    /// The answer holds no token.
    #[error("the token service's answer holds no token")]
    NoToken,
}

/// The first challenge that we can answer.
pub(crate) fn wanted(challenges: &[Challenge]) -> Option<WantedAuth> {
    challenges.iter().find_map(|challenge| match challenge.scheme.as_str() {
        "basic" => Some(WantedAuth::Basic),
        "bearer" => Some(WantedAuth::Token {
            realm: challenge.parameter("realm").unwrap_or_default().to_owned(),
            service: challenge.parameter("service").map(str::to_owned),
        }),
        _ => None,
    })
}

/// The value of `Authorization` for a user name and password; `None` if the credential has neither.
pub(crate) fn basic(credential: &Credential) -> Option<Sensitive> {
    if credential.username.is_empty() && credential.password.expose().is_empty() {
        return None;
    }
    Some(Sensitive::new(format!("Basic {}", base64::encode(&credential.pair()))))
}

/// The request for a token with this scope: with a password, with an identity token, or anonymous.
///
/// # Errors
/// If the service's URL is not an HTTP URL, or if a credential would go over plain HTTP and that is not allowed.
pub(crate) fn request(
    realm: &str,
    service: Option<&str>,
    scope: &str,
    credential: Option<&Credential>,
    plain_allowed: bool,
) -> Result<TokenRequest, TokenError> {
    let uri: Uri = realm.parse().map_err(|_| TokenError::Realm)?;
    let host = uri.host().ok_or(TokenError::Realm)?;
    match uri.scheme_str() {
        Some("https") => {}
        Some("http") if plain_allowed || credential.is_none() => {}
        Some("http") => return Err(TokenError::Plain(host.to_owned())),
        _ => return Err(TokenError::Realm),
    }
    let mut fields = Vec::new();
    fields.extend(service.map(|service| ("service", service.as_bytes())));
    fields.push(("scope", scope.as_bytes()));
    if let Some(token) = credential.and_then(|credential| credential.identity_token.as_ref()) {
        fields.extend([
            ("grant_type", &b"refresh_token"[..]),
            ("client_id", CLIENT_ID.as_bytes()),
            ("refresh_token", token.expose().as_bytes()),
        ]);
        let form = Some(Sensitive::new(encode(&fields)));
        return Ok(TokenRequest { uri, authorization: None, form });
    }
    if let Some(credential) = credential.filter(|credential| !credential.username.is_empty()) {
        fields.push(("account", &credential.username));
    }
    let separator = if realm.contains('?') { '&' } else { '?' };
    let uri = format!("{realm}{separator}{}", encode(&fields));
    Ok(TokenRequest {
        uri: uri.parse().map_err(|_| TokenError::Realm)?,
        authorization: credential.and_then(basic),
        form: None,
    })
}

/// The value of `Authorization` for the token in a service's response.
pub(crate) fn answered(body: &[u8]) -> Result<Sensitive, TokenError> {
    #[derive(Deserialize)]
    struct Answer {
        token: Option<String>,
        access_token: Option<String>,
    }
    let answer: Answer = serde_json::from_slice(body).map_err(|_| TokenError::NoToken)?;
    let token = answer.token.filter(|token| !token.is_empty()).or(answer.access_token);
    let token = token.filter(|token| !token.is_empty()).ok_or(TokenError::NoToken)?;
    Ok(Sensitive::new(format!("Bearer {token}")))
}

fn encode(fields: &[(&str, &[u8])]) -> String {
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::challenge;

    const REALM: &str = "https://auth.example/token";
    const SCOPE: &str = "repository:team/app:pull";

    fn identity() -> Credential {
        Credential { identity_token: Some("refresh&me".into()), ..Credential::basic("ignored", "also") }
    }

    #[test]
    fn the_first_challenge_that_can_be_answered_counts() {
        let of = |header: &str| wanted(&challenge::parse([header]));
        assert_eq!(of(r#"Negotiate, Basic realm="x""#), Some(WantedAuth::Basic));
        let bearer = of(r#"Bearer realm="https://a/t",service="s", Basic realm="x""#);
        let (realm, service) = ("https://a/t".to_owned(), Some("s".to_owned()));
        assert_eq!(bearer, Some(WantedAuth::Token { realm, service }));
        assert_eq!(of("Negotiate"), None);
    }

    #[test]
    fn a_password_is_shown_by_basic_authentication() {
        let user = Credential::basic("user name", "pass");
        let request = request(REALM, Some("the service"), SCOPE, Some(&user), false).unwrap();
        assert_eq!(
            request.uri,
            "https://auth.example/token?service=the%20service&scope=repository%3Ateam%2Fapp%3Apull&account=user%20name"
        );
        assert_eq!(request.authorization.unwrap().expose(), "Basic dXNlciBuYW1lOnBhc3M=");
        assert!(request.form.is_none());
    }

    #[test]
    fn an_identity_token_is_posted_and_the_password_is_not() {
        let request = request(REALM, None, SCOPE, Some(&identity()), false).unwrap();
        assert_eq!(request.uri, REALM);
        assert!(request.authorization.is_none());
        assert_eq!(
            request.form.unwrap().expose(),
            "scope=repository%3Ateam%2Fapp%3Apull&grant_type=refresh_token&client_id=pullwright&refresh_token=refresh%26me"
        );
    }

    #[test]
    fn nothing_secret_goes_over_plain_http() {
        let plain = "http://auth.example/token";
        let user = Credential::basic("u", "p");
        for credential in [&user, &identity()] {
            let refused = request(plain, None, SCOPE, Some(credential), false).unwrap_err();
            assert_eq!(refused, TokenError::Plain("auth.example".to_owned()));
            assert!(request(plain, None, SCOPE, Some(credential), true).is_ok());
        }
        assert!(request(plain, None, SCOPE, None, false).is_ok());
        for nonsense in ["", "/token", "ftp://x/", "not a url"] {
            assert_eq!(request(nonsense, None, SCOPE, None, true).unwrap_err(), TokenError::Realm);
        }
    }

    #[test]
    fn a_realm_may_have_a_query_of_its_own() {
        let request = request("https://a/t?x=1", None, "s", None, false).unwrap();
        assert_eq!(request.uri, "https://a/t?x=1&scope=s");
    }

    #[test]
    fn tokens_come_under_two_names() {
        let of = |body: &str| answered(body.as_bytes()).map(Sensitive::into_exposed);
        assert_eq!(of(r#"{"token": "a", "access_token": "b"}"#).as_deref(), Ok("Bearer a"));
        assert_eq!(of(r#"{"token": "", "access_token": "b"}"#).as_deref(), Ok("Bearer b"));
        for none in ["{}", "", r#"{"token": ""}"#, r#"{"token": 5}"#] {
            assert_eq!(of(none), Err(TokenError::NoToken), "{none}");
        }
    }
}
