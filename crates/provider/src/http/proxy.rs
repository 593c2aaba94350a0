//! The proxy that the environment names, if the options ask for it, and a tunnel through it.

use std::io::{Read as _, Write as _};
use std::net::IpAddr;
use std::time::Instant;

use pullwright_engine::credentials::Sensitive;
use pullwright_golang::base64;

use super::dial::Socket;
use super::origin::{Origin, host_and_port};
use super::{HttpError, answer};

/// The variables that name a proxy for https URLs, in order of precedence.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// The variables that list the servers to contact without a proxy.
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// A proxy, which sees only the server's name and encrypted bytes.
#[derive(Debug)]
pub(super) struct Proxy {
    /// The proxy's address, or why it cannot be used. The error is reported on use: a direct connection instead would
    /// bypass what somebody asked for.
    place: Result<Origin, &'static str>,
    /// The proxy's name in messages: its address if it has one, else the variable. A URL that cannot be parsed may hold
    /// a password anywhere.
    shown: String,
    /// The value for `Proxy-Authorization`.
    basic: Option<Sensitive>,
}

impl Proxy {
    /// The proxy for `origin`, if the environment names one.
    pub(super) fn choose(var: impl Fn(&str) -> Option<String>, origin: &Origin) -> Option<Self> {
        let first = |names: &[&'static str]| {
            names.iter().find_map(|name| Some((*name, var(name).filter(|value| !value.is_empty())?)))
        };
        let (variable, url) = first(&VARIABLES)?;
        let exceptions = first(&EXCEPTIONS).map(|(_, value)| value).unwrap_or_default();
        if exceptions.split(',').any(|exception| covers(exception.trim(), origin)) {
            return None;
        }
        Some(Self::parse(variable, &url))
    }

    fn parse(variable: &str, url: &str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, authority) = authority.rsplit_once('@').unwrap_or(("", authority));
        let basic = (!login.is_empty()).then(|| Sensitive::new(base64::encode(&unescaped(login))));
        let place = match (scheme, host_and_port(authority, 80)) {
            // The password has a slash: what looks like the address is the user.
            _ if path.contains('@') => Err("this is no address; write a '/' in a password as %2F"),
            ("http", Some((host, port))) => Ok(Origin { host, port, prefix: String::new() }),
            ("http", None) => Err("this is no address"),
            _ => Err("only a proxy with an http:// URL can be used"),
        };
        let shown =
            place.as_ref().map_or_else(|_| format!("in {variable}"), |place| format!("http://{place}"));
        Self { place, shown, basic }
    }

    /// Opens a connection to `origin` through the proxy.
    pub(super) fn tunnel(&self, origin: &Origin, deadline: Instant) -> Result<Socket, HttpError> {
        let refused = |why: String| HttpError::Proxy { proxy: self.shown.clone(), why };
        let place = self.place.as_ref().map_err(|why| refused((*why).to_owned()))?;
        let mut socket = Socket::connect(place, deadline)?;
        let mut request = format!("CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\n");
        if let Some(basic) = &self.basic {
            request += &format!("Proxy-Authorization: Basic {}\r\n", basic.expose());
        }
        request += "\r\n";
        socket.write_all(request.as_bytes())?;
        // Read not a byte more than the head: what follows is TLS, which is not for us to read.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && head.len() < 8192 {
            let mut byte = [0];
            socket.read_exact(&mut byte)?;
            head.extend(byte);
        }
        match answer::read_head(&mut head.as_slice())? {
            200..300 => Ok(socket),
            status => Err(refused(format!("it answered {status}"))),
        }
    }
}

/// Whether an exception in `NO_PROXY` covers this server: `*`, a host with everything below it, an address, or a range
/// of addresses, each with or without a port.
fn covers(exception: &str, origin: &Origin) -> bool {
    if exception == "*" {
        return true;
    }
    if let (Some((network, bits)), Some(address)) = (exception.split_once('/'), origin.address()) {
        return in_network(network, bits, address).unwrap_or(false);
    }
    let (host, port) = match exception.parse::<IpAddr>() {
        Ok(_) => (exception.to_owned(), None),
        Err(_) => match host_and_port(exception.trim_start_matches('*'), 0) {
            Some((host, port)) => (host, Some(port).filter(|&port| port != 0)),
            None => return false,
        },
    };
    if port.is_some_and(|port| port != origin.port) {
        return false;
    }
    let (host, name) = (host.trim_start_matches('.').to_ascii_lowercase(), origin.host.to_ascii_lowercase());
    name == host || name.strip_suffix(&host).is_some_and(|above| above.ends_with('.'))
}

fn in_network(network: &str, bits: &str, address: IpAddr) -> Option<bool> {
    let (bits, network): (u32, IpAddr) = (bits.parse().ok()?, network.parse().ok()?);
    let (network, address, width) = match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) => {
            (u128::from(network.to_bits()), u128::from(address.to_bits()), 32)
        }
        (IpAddr::V6(network), IpAddr::V6(address)) => (network.to_bits(), address.to_bits(), 128),
        _ => return Some(false),
    };
    let differing = u32::checked_sub(width, bits)?;
    Some((network ^ address).checked_shr(differing).unwrap_or(0) == 0)
}

/// Decodes percent-encoding: `%41` is `A`.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = &behind[if code.is_some() { 2 } else { 0 }..];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)], server: &str) -> Option<Proxy> {
        let var = |name: &str| Some(variables.iter().find(|(key, _)| *key == name)?.1.to_owned());
        Proxy::choose(var, &Origin::parse(server).unwrap())
    }

    #[test]
    fn the_variable_for_https_comes_first_and_an_empty_one_names_nobody() {
        let place = |variables: &[(&str, &str)]| {
            chosen(variables, "https://a").map(|proxy| proxy.place.map(|place| place.to_string()))
        };
        assert_eq!(place(&[]), None);
        assert_eq!(place(&[("HTTP_PROXY", "http://p")]), None, "that is for http");
        assert_eq!(place(&[("ALL_PROXY", "q:1"), ("HTTPS_PROXY", "http://p")]), Some(Ok("p:80".to_owned())));
        assert_eq!(place(&[("HTTPS_PROXY", ""), ("all_proxy", "q:1")]), Some(Ok("q:1".to_owned())));
        assert!(place(&[("HTTPS_PROXY", "socks5://p")]).unwrap().is_err(), "and not around it");
    }

    #[test]
    fn a_login_is_decoded_and_never_shown() {
        let proxy = chosen(&[("HTTPS_PROXY", "http://u:p%40ss@proxy:3128/")], "https://a").unwrap();
        assert_eq!(proxy.basic.as_ref().unwrap().expose(), &base64::encode(b"u:p@ss"));
        assert_eq!(proxy.shown, "http://proxy:3128");
        assert!(!format!("{proxy:?}").contains("p@ss") && !format!("{proxy:?}").contains("p%40ss"));
    }

    /// Wherever somebody puts the password by mistake.
    #[test]
    fn what_cannot_be_taken_apart_is_not_shown_at_all() {
        for url in [
            "http://u:s3cret",
            "http://u:s3cret/x@proxy:3128",
            "http://u:12/s3cret@proxy",
            "http:/u:s3cret@proxy:port",
            "u:s3cret:x",
            "socks5://u:s3cret",
            "s3cret://proxy",
            "http://proxy:s3cret",
        ] {
            let proxy = chosen(&[("HTTPS_PROXY", url)], "https://a").unwrap();
            assert_eq!((proxy.place.is_err(), proxy.shown.as_str()), (true, "in HTTPS_PROXY"), "{url}");
            let error = proxy.tunnel(&Origin::parse("https://a").unwrap(), Instant::now()).err().unwrap();
            assert!(!format!("{error} {error:?} {proxy:?}").contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn exceptions_are_hosts_all_below_them_addresses_and_ranges() {
        for (server, exceptions, direct) in [
            ("https://api.example:6443", "example", true),
            ("https://api.example:6443", ".example", true),
            ("https://api.example:6443", "*.example", true),
            ("https://api.example:6443", "other, API.example", true),
            ("https://api.example:6443", "api.example:6443", true),
            ("https://api.example:6443", "api.example:443", false),
            ("https://api.example:6443", "pi.example", false),
            ("https://api.example:6443", "", false),
            ("https://api.example:6443", "*", true),
            ("https://10.0.3.1", "10.0.0.0/16", true),
            ("https://10.1.3.1", "10.0.0.0/16", false),
            ("https://10.1.3.1", "0.0.0.0/0", true),
            ("https://10.1.3.1", "10.1.3.1", true),
            ("https://10.1.3.1", "10.1.3.1/99", false),
            ("https://[fd00::1]", "fd00::/8", true),
            ("https://[fd00::1]", "fd00::1", true),
            ("https://[fd00::1]", "10.0.0.0/8", false),
        ] {
            let variables = [("https_proxy", "http://p"), ("no_proxy", exceptions)];
            assert_eq!(chosen(&variables, server).is_none(), direct, "{server} {exceptions:?}");
        }
    }
}
