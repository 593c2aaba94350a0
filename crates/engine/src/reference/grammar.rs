//! Matches the grammar of references by hand. The libraries compile regular expressions for it at every start, which
//! would be most of the work of a one-shot program.

use super::Dialect;

/// The parts of a text that matches the grammar.
pub(super) struct Parts<'a> {
    pub(super) name: &'a str,
    /// The length of the domain within `name`, or 0 if there is none.
    pub(super) domain: usize,
    pub(super) tag: Option<&'a str>,
    pub(super) digest: Option<&'a str>,
}

/// Splits `text` into `[domain/]path[:tag][@digest]`. Returns `None` if it does not have that form.
///
/// No part can contain the separator that ends it, so splitting at separators finds the same parts as matching.
pub(super) fn parts(dialect: Dialect, text: &str) -> Option<Parts<'_>> {
    let (head, digest) = match text.split_once('@') {
        Some((head, digest)) => (head, Some(digest)),
        None => (text, None),
    };
    let last = head.rfind('/').map_or(0, |slash| slash + 1);
    let (name, tag) = match head[last..].split_once(':') {
        Some((component, tag)) => (&head[..last + component.len()], Some(tag)),
        None => (head, None),
    };
    if !digest.is_none_or(is_digest) || !tag.is_none_or(is_tag) {
        return None;
    }
    let domain = match name.split_once('/') {
        Some((host, path)) if is_domain(dialect, host) && is_path(path) => host.len(),
        // By this grammar, a host with an underscore is not a host, but it is a path.
        _ if is_path(name) => 0,
        _ => return None,
    };
    Some(Parts { name, domain, tag, digest })
}

/// `host[:port]`.
pub(crate) fn is_domain(dialect: Dialect, text: &str) -> bool {
    let (host, rest) = match (dialect, text.strip_prefix('[')) {
        (Dialect::Kubelet, Some(inner)) => match inner.split_once(']') {
            Some((address, rest)) => return is_ipv6_like(address) && is_optional_port(rest),
            None => return false,
        },
        _ => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    host.split('.').all(is_domain_component) && is_optional_port(rest)
}

fn is_optional_port(text: &str) -> bool {
    text.is_empty()
        || text
            .strip_prefix(':')
            .is_some_and(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
}

/// The grammar only requires hexadecimal digits and colons of an IPv6 address.
fn is_ipv6_like(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b == b':' || b.is_ascii_hexdigit())
}

fn is_domain_component(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends_well = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends_well(bytes.first())
        && ends_well(bytes.last())
        && bytes.iter().all(|b| *b == b'-' || b.is_ascii_alphanumeric())
}

/// `component[/component…]`.
pub(crate) fn is_path(text: &str) -> bool {
    text.split('/').all(is_path_component)
}

/// Lower-case words joined by one `.`, one or two `_`, or any number of `-`.
fn is_path_component(text: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let mut rest = text.as_bytes();
    loop {
        let word = rest.iter().take_while(|b| is_word(**b)).count();
        if word == 0 {
            return false;
        }
        rest = &rest[word..];
        if rest.is_empty() {
            return true;
        }
        let separator = rest.iter().take_while(|b| !is_word(**b)).count();
        match &rest[..separator] {
            b"." | b"_" | b"__" => {}
            dashes if dashes.iter().all(|b| *b == b'-') => {}
            _ => return false,
        }
        rest = &rest[separator..];
    }
}

fn is_tag(text: &str) -> bool {
    let is_word = |b: u8| b == b'_' || b.is_ascii_alphanumeric();
    text.len() <= 128
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|b| is_word(b) || b == b'.' || b == b'-')
}

/// `algorithm:hex`, where the algorithm is words joined by one of `-_+.`. Lengths are checked elsewhere.
fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else {
        return false;
    };
    let is_word = |word: &str| {
        word.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
            && word.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    algorithm.split(['-', '_', '+', '.']).all(is_word)
        && hex.len() >= 32
        && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

pub(super) fn has_upper_case(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_uppercase() || (!c.is_ascii() && c.to_lowercase().ne([c])))
}

/// Go's `strings.ToLower`, which maps each character to exactly one: `İ` to a plain `i`.
pub(super) fn lower_case(text: &str) -> String {
    text.chars().filter_map(|c| c.to_lowercase().next()).collect()
}
