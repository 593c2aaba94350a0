//! Where a redirect may lead, and whether the authorization may go with it.

use hyper::Uri;

/// How many redirects to follow for one request, as in Go's client.
pub(crate) const MAX_HOPS: u32 = 10;

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    /// There were too many redirects.
    #[error("more than {MAX_HOPS} redirects")]
    TooMany,
    /// The location is missing or not a URL. It is not shown, because it may hold a signature that grants access.
    #[error("a redirect without a usable location")]
    Location,
    /// It leads from TLS to plain HTTP, where anybody on the way could substitute another image.
    #[error("a redirect from https to plain http at {0}; refused")]
    Downgrade(String),
}

/// Resolves `location` in a response from `from`.
///
/// # Errors
/// If it is not an HTTP URL, or leads away from TLS where that is not allowed.
pub(crate) fn follow(from: &Uri, location: &str, plain_allowed: bool) -> Result<Uri, RedirectError> {
    let target = resolve(from, location).ok_or(RedirectError::Location)?;
    let host = target.host().ok_or(RedirectError::Location)?;
    match target.scheme_str() {
        Some("https") => Ok(target),
        Some("http") if plain_allowed => Ok(target),
        Some("http") => Err(RedirectError::Downgrade(host.to_owned())),
        _ => Err(RedirectError::Location),
    }
}

/// Whether two URLs have the same scheme, host and port. An authorization for one origin must not go to another.
pub(crate) fn same_origin(a: &Uri, b: &Uri) -> bool {
    let port = |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    a.scheme() == b.scheme() && host(a) == host(b) && port(a) == port(b)
}

fn resolve(from: &Uri, location: &str) -> Option<Uri> {
    // A fragment is for the client and not part of the request.
    let location = location.split('#').next()?.trim();
    let scheme = from.scheme_str()?;
    let authority = from.authority()?;
    let absolute = if location.contains("://") && !location.starts_with('/') {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.is_empty() {
        return None;
    } else {
        let folder = &from.path()[..=from.path().rfind('/')?];
        format!("{scheme}://{authority}{folder}{location}")
    };
    absolute.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: &str = "https://registry.example/v2/app/blobs/sha256:0";

    fn location(location: &str, plain_allowed: bool) -> Result<String, RedirectError> {
        follow(&FROM.parse().unwrap(), location, plain_allowed).map(|uri| uri.to_string())
    }

    #[test]
    fn locations_are_absolute_or_relative() {
        for (given, meant) in [
            ("https://cdn.example/x?sig=1", "https://cdn.example/x?sig=1"),
            ("https://cdn.example/x#part", "https://cdn.example/x"),
            ("//cdn.example/x", "https://cdn.example/x"),
            ("/elsewhere", "https://registry.example/elsewhere"),
            ("sha256:1", "https://registry.example/v2/app/blobs/sha256:1"),
            ("/x?next=http://y", "https://registry.example/x?next=http://y"),
        ] {
            assert_eq!(location(given, false).as_deref(), Ok(meant), "{given}");
        }
    }

    #[test]
    fn tls_is_not_left_unless_the_source_is_insecure() {
        let plain = "http://cdn.example/x";
        assert_eq!(location(plain, false), Err(RedirectError::Downgrade("cdn.example".to_owned())));
        assert_eq!(location(plain, true).as_deref(), Ok(plain));
        for nonsense in ["", "file:///etc/passwd", "ftp://x/y", "https://", "https:// /"] {
            assert_eq!(location(nonsense, true), Err(RedirectError::Location), "{nonsense}");
        }
    }

    #[test]
    fn another_port_or_scheme_is_another_origin() {
        let same = |a: &str, b: &str| same_origin(&a.parse().unwrap(), &b.parse().unwrap());
        assert!(same("https://Registry.example/a", "https://registry.example:443/b"));
        assert!(!same("https://registry.example/", "http://registry.example/"));
        assert!(!same("https://registry.example/", "https://registry.example:8443/"));
        assert!(!same("https://registry.example/", "https://sub.registry.example/"));
    }
}
