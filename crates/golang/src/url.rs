//! Go's `net/url.Parse` for `https://` and `http://` URLs. The kubelet parses `matchImages` entries, images, and
//! credential keys with it. Errors have Go's messages (go1.26).
//!
//! Only host and path matter for matching. Both are bytes, because `%ff` is unescaped to a byte that is not UTF-8, and
//! such a key is parsed a second time.

use std::borrow::Cow;

use thiserror::Error;

use super::netip::{AddrError, Family, parse_addr};
use super::quote::quote_bytes;

/// The unescaped host (with its port, if any) and path of a URL. User, query, and fragment are dropped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url<'a> {
    host: Cow<'a, [u8]>,
    path: Cow<'a, [u8]>,
}

/// An error, with the URL as Go saw it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("parse {}: {fault}", quote_bytes(.url))]
pub struct UrlError {
    url: Vec<u8>,
    fault: UrlFault,
}

/// What is wrong with a URL, with Go's messages.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlFault {
    /// A byte below space, or DEL.
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    /// `%` without two hexadecimal digits, or an escape that is not allowed in hosts.
    #[error("invalid URL escape {}", quote_bytes(.0))]
    Escape(Vec<u8>),
    /// A character that is not allowed in a host name.
    #[error("invalid character {} in host name", quote_bytes(&[*.0]))]
    HostCharacter(u8),
    /// Something after the host's colon that is not a number.
    #[error("invalid port {} after host", quote_bytes(.0))]
    Port(Vec<u8>),
    /// `[` inside a host, or an IPv4 address between brackets.
    #[error("invalid IP-literal")]
    IpLiteral,
    /// `[` without `]`.
    #[error("missing ']' in host")]
    MissingBracket,
    /// The text between brackets is not an address.
    #[error("invalid host: {0}")]
    Host(#[from] AddrError),
    /// A character before `@` that is not allowed in a user name.
    #[error("net/url: invalid userinfo")]
    UserInfo,
}

impl<'a> Url<'a> {
    /// Parses `host[:port][/path]` as if it started with `https://`.
    ///
    /// # Errors
    /// Go's error, which shows the URL with the scheme.
    pub fn parse_schemeless<T: AsRef<[u8]> + ?Sized>(text: &'a T) -> Result<Self, UrlError> {
        Self::parse_behind("https://", text.as_ref())
    }

    /// Parses the key of a credential, with `http://`, `https://`, or no scheme.
    ///
    /// # Errors
    /// Go's error, which shows the URL with a scheme.
    pub fn parse(text: &'a str) -> Result<Self, UrlError> {
        match text.strip_prefix("http://") {
            Some(rest) => Self::parse_behind("http://", rest.as_bytes()),
            None => Self::parse_schemeless(text.strip_prefix("https://").unwrap_or(text)),
        }
    }

    fn parse_behind(scheme: &'static str, text: &'a [u8]) -> Result<Self, UrlError> {
        let (before_fragment, fragment) = cut(text, b'#');
        let refuse = |shown: &[u8], fault| UrlError { url: [scheme.as_bytes(), shown].concat(), fault };
        let url = parse_without_fragment(before_fragment).map_err(|fault| refuse(before_fragment, fault))?;
        unescape(fragment, Part::Other).map_err(|fault| refuse(text, fault))?;
        Ok(url)
    }

    /// Returns the unescaped host with its port. Keeps the brackets around an IPv6 address.
    #[must_use]
    pub fn host(&self) -> &[u8] {
        &self.host
    }

    /// Returns the unescaped path, which is empty or has a leading slash.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Returns host and port as split by `net.SplitHostPort`, or the whole host and no port if that fails.
    #[must_use]
    pub fn split_host(&self) -> (&[u8], &[u8]) {
        split_host_port(&self.host).unwrap_or((&self.host, &[]))
    }

    /// Returns the same URL without borrowing from the text.
    #[must_use]
    pub fn into_owned(self) -> Url<'static> {
        Url { host: Cow::Owned(self.host.into_owned()), path: Cow::Owned(self.path.into_owned()) }
    }
}

/// Returns the text before and after the first `separator`, or all of it and nothing if there is none.
fn cut(text: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|byte| *byte == separator) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

fn parse_without_fragment(text: &[u8]) -> Result<Url<'_>, UrlFault> {
    if text.iter().any(u8::is_ascii_control) {
        return Err(UrlFault::ControlCharacter);
    }
    let (before_query, _) = cut(text, b'?');
    let slash = before_query.iter().position(|byte| *byte == b'/').unwrap_or(before_query.len());
    let (authority, path) = before_query.split_at(slash);
    let host = match authority.iter().rposition(|byte| *byte == b'@') {
        None => parse_host(authority)?,
        Some(at) => {
            let host = parse_host(&authority[at + 1..])?;
            check_user(&authority[..at])?;
            host
        }
    };
    Ok(Url { host, path: unescape(path, Part::Other)? })
}

fn check_user(user: &[u8]) -> Result<(), UrlFault> {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
    if !user.iter().all(allowed) {
        return Err(UrlFault::UserInfo);
    }
    let (name, password) = cut(user, b':');
    unescape(name, Part::Other)?;
    unescape(password, Part::Other)?;
    Ok(())
}

fn parse_host(host: &[u8]) -> Result<Cow<'_, [u8]>, UrlFault> {
    match host.iter().rposition(|byte| *byte == b'[') {
        Some(0) => return parse_ip_literal(host),
        Some(_) => return Err(UrlFault::IpLiteral),
        None => {}
    }
    if let Some(colon) = host.iter().position(|byte| *byte == b':') {
        check_port(&host[colon..])?;
    }
    unescape(host, Part::Host)
}

fn parse_ip_literal(host: &[u8]) -> Result<Cow<'_, [u8]>, UrlFault> {
    let close = host.iter().rposition(|byte| *byte == b']').ok_or(UrlFault::MissingBracket)?;
    let (address, port) = (&host[1..close], &host[close + 1..]);
    check_port(port)?;
    let unescaped = match address.windows(3).position(|escape| escape == b"%25") {
        Some(zone) => {
            let (address, zone) = address.split_at(zone);
            let mut whole = unescape(address, Part::Host)?.into_owned();
            whole.extend_from_slice(&unescape(zone, Part::Zone)?);
            Cow::Owned(whole)
        }
        None => unescape(address, Part::Host)?,
    };
    if parse_addr(&unescaped)? == Family::V4 {
        return Err(UrlFault::IpLiteral);
    }
    Ok(match unescaped {
        Cow::Borrowed(_) => Cow::Borrowed(host),
        Cow::Owned(address) => Cow::Owned([b"[", address.as_slice(), b"]", port].concat()),
    })
}

/// Checks that `text` is empty, or a colon followed by zero or more digits.
fn check_port(text: &[u8]) -> Result<(), UrlFault> {
    match text {
        [] => Ok(()),
        [b':', port @ ..] if port.iter().all(u8::is_ascii_digit) => Ok(()),
        _ => Err(UrlFault::Port(text.to_vec())),
    }
}

/// The parts of a URL in which Go treats escapes differently.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Other,
}

/// `PathUnescape`: `%41` is `A`, and `+` is itself.
///
/// # Errors
/// Go's error, which shows the escape and nothing else of the text.
pub fn unescape_path(text: &[u8]) -> Result<Cow<'_, [u8]>, UrlFault> {
    unescape(text, Part::Other)
}

fn unescape(text: &[u8], part: Part) -> Result<Cow<'_, [u8]>, UrlFault> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'%' => {
                let shown = &text[at..text.len().min(at + 3)];
                let value = escaped_byte(shown).filter(|value| escape_allowed(*value, part));
                let value = value.ok_or_else(|| UrlFault::Escape(shown.to_vec()))?;
                out.extend_from_slice(&text[copied..at]);
                out.push(value);
                at += 3;
                copied = at;
            }
            byte if part != Part::Other && byte.is_ascii() && !host_byte(byte) => {
                return Err(UrlFault::HostCharacter(byte));
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(text));
    }
    out.extend_from_slice(&text[copied..]);
    Ok(Cow::Owned(out))
}

fn escaped_byte(escape: &[u8]) -> Option<u8> {
    let [b'%', high, low] = escape else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(*high)? << 4 | digit(*low)?)
}

/// In a host, only `%` and bytes beyond ASCII may be escaped; in a zone, only `%`, space, and bytes that need no escape.
fn escape_allowed(value: u8, part: Part) -> bool {
    match part {
        Part::Host => !value.is_ascii() || value == b'%',
        Part::Zone => value == b'%' || value == b' ' || host_byte(value),
        Part::Other => true,
    }
}

fn host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!\"$&'()*+,-.:;<=>[]_~".contains(&byte)
}

/// `net.SplitHostPort`, without its error messages.
fn split_host_port(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = text.iter().rposition(|byte| *byte == b':')?;
    let (before, port) = (&text[..colon], &text[colon + 1..]);
    let host = match before {
        [b'[', inside @ .., b']'] if !inside.contains(&b']') => inside,
        [b'[', ..] => return None,
        _ if before.contains(&b':') || before.contains(&b']') => return None,
        _ => before,
    };
    // `parse_host` ensures that ports contain no brackets. Hosts must not contain them either.
    (!host.contains(&b'[')).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quote::quote;

    #[test]
    fn user_query_and_fragment_are_dropped_and_escapes_resolved() {
        for (text, host, path) in [
            ("quay.io", "quay.io", ""),
            ("quay.io:443/a/b", "quay.io:443", "/a/b"),
            ("user:p@ss@quay.io/a?b/c#d", "quay.io", "/a"),
            ("quay.io?", "quay.io", ""),
            ("quay.io/a%2fb%20c", "quay.io", "/a/b c"),
            ("https://quay.io", "https:", "//quay.io"),
            ("[::1]:5000/x", "[::1]:5000", "/x"),
            ("[fe80::1%25eth%20]/x", "[fe80::1%eth ]", "/x"),
            ("", "", ""),
            ("m%c3%bcnchen.de", "münchen.de", ""),
        ] {
            let url = Url::parse_schemeless(text).unwrap();
            assert_eq!((url.host(), url.path()), (host.as_bytes(), path.as_bytes()), "{text}");
        }
    }

    #[test]
    fn refuses_in_the_words_of_go() {
        for (text, fault) in [
            ("%invalid%", r#"invalid URL escape "%in""#),
            ("quay.io/%", r#"invalid URL escape "%""#),
            ("a%41", r#"invalid URL escape "%41""#),
            ("%aé", r#"invalid URL escape "%a\xc3""#),
            ("registry.io:*", r#"invalid port ":*" after host"#),
            ("a:1:2", r#"invalid port ":1:2" after host"#),
            ("a b", r#"invalid character " " in host name"#),
            ("a\\b", r#"invalid character "\\" in host name"#),
            ("[a-z].io", r#"invalid port ".io" after host"#),
            ("[a-z]", r#"invalid host: ParseAddr("a-z"): unable to parse IP"#),
            ("[1.2.3.4]", "invalid IP-literal"),
            ("x[a-z].io", "invalid IP-literal"),
            ("[::1", "missing ']' in host"),
            ("é@a", "net/url: invalid userinfo"),
            ("a\tb", "net/url: invalid control character in URL"),
        ] {
            let expected = format!("parse {}: {fault}", quote(&format!("https://{text}")));
            assert_eq!(Url::parse_schemeless(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn the_fragment_is_shown_only_when_it_is_at_fault() {
        let shown = |text| Url::parse_schemeless(text).unwrap_err().to_string();
        assert_eq!(shown("a b#c"), r#"parse "https://a b": invalid character " " in host name"#);
        assert_eq!(shown("a#%"), r#"parse "https://a#%": invalid URL escape "%""#);
    }

    #[test]
    fn hosts_split_as_net_does() {
        for (text, host, port) in [
            ("a:1", "a", "1"),
            ("a:", "a", ""),
            ("a", "a", ""),
            ("[::1]:5000", "::1", "5000"),
            ("[::1]", "[::1]", ""),
            ("a]:1", "a]:1", ""),
        ] {
            let url = Url::parse_schemeless(text).unwrap();
            assert_eq!(url.split_host(), (host.as_bytes(), port.as_bytes()), "{text}");
        }
    }
}
