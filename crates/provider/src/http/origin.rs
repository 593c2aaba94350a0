//! The server that a URL names.

use std::fmt;
use std::net::IpAddr;

use rustls::pki_types::ServerName;

use super::HttpError;

/// A server, from a URL: `https://host[:port][/prefix]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    /// A name, or an address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// The start of every path; servers behind a gateway have one.
    pub(super) prefix: String,
}

impl Origin {
    pub(super) fn parse(url: &str) -> Option<Self> {
        let (authority, prefix) = Self::split(url.strip_prefix("https://")?);
        let (host, port) = host_and_port(authority, 443)?;
        Some(Self { host, port, prefix: prefix.trim_end_matches('/').to_owned() })
    }

    fn split(rest: &str) -> (&str, &str) {
        rest.split_at(rest.find('/').unwrap_or(rest.len()))
    }

    pub(super) fn server_name(&self) -> Result<ServerName<'static>, HttpError> {
        ServerName::try_from(self.host.clone()).map_err(|_| HttpError::Url(self.to_string()))
    }

    /// The host as an address, if it is one.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

/// The form for the `Host` header and for `CONNECT`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Some(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            _ => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Parses `host`, `host:port`, `[address]` or `[address]:port`.
pub(super) fn host_and_port(authority: &str, default: u16) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(port) => port.parse().ok()?,
        None if port.is_empty() => default,
        None => return None,
    };
    // Nobody logs in to an API server in its URL, and nothing in it may end a header line.
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    (!host.is_empty() && host.bytes().all(allowed)).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_host_a_port_and_what_paths_begin_with() {
        for (url, shown, prefix) in [
            ("https://api.example", "api.example:443", ""),
            ("https://10.0.0.1:6443/", "10.0.0.1:6443", ""),
            ("https://[fd00::1]:6443", "[fd00::1]:6443", ""),
            ("https://[fd00::1]", "[fd00::1]:443", ""),
            ("https://gateway.example/clusters/a/", "gateway.example:443", "/clusters/a"),
        ] {
            let origin = Origin::parse(url).unwrap();
            assert_eq!((origin.to_string().as_str(), origin.prefix.as_str()), (shown, prefix), "{url}");
        }
        for url in [
            "http://a",
            "https://",
            "https://:443",
            "https://a:port",
            "https://user@a",
            "https://[fd00::1",
            "https://a\r\nb",
        ] {
            assert_eq!(Origin::parse(url), None, "{url:?}");
        }
    }
}
