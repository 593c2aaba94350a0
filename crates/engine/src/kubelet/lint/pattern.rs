//! Checks one `matchImages` entry against the names that the kubelet compares it with. These always consist of a host and a
//! path, without tag and digest; `index.docker.io` and short names become `docker.io`.

use crate::kubelet::ImagePattern;
use crate::reference::DOCKER_HUB_INDEX;
use pullwright_findings::{DocPath, Finding, Rule, rules};

/// Returns the most serious warning about a pattern.
pub(super) fn warning(at: &DocPath, pattern: &ImagePattern) -> Option<Finding> {
    let parts = Parts::of(pattern);
    let said = parts.dropped().or_else(|| parts.host_warning()).or_else(|| parts.path_warning())?;
    let message = format!("`{pattern}` {}", said.message);
    Some(Finding::new(said.rule, at.clone(), message).with_help(said.help))
}

struct Said {
    rule: &'static Rule,
    message: String,
    help: String,
}

fn said(rule: &'static Rule, message: impl Into<String>, help: impl Into<String>) -> Said {
    Said { rule, message: message.into(), help: help.into() }
}

/// A pattern as the kubelet sees it. No image name contains invalid UTF-8, so it may be replaced.
struct Parts<'a> {
    text: &'a str,
    host: String,
    port: String,
    path: String,
}

impl<'a> Parts<'a> {
    fn of(pattern: &'a ImagePattern) -> Self {
        let (host, port) = pattern.url().split_host();
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let path = lossy(pattern.url().path());
        Self { text: pattern.as_str(), host: lossy(host), port: lossy(port), path }
    }

    /// The pattern that the kubelet derives from the text.
    fn effective(&self) -> String {
        format!("{}{}", self.authority(), self.path)
    }

    fn authority(&self) -> String {
        let separator = if self.port.is_empty() { "" } else { ":" };
        format!("{}{separator}{}", self.host, self.port)
    }

    fn dropped(&self) -> Option<Said> {
        if let Some((scheme @ ("http" | "https"), rest)) = self.text.split_once("://") {
            let message = format!("never matches: the kubelet takes `{scheme}` for the host");
            return Some(said(
                &rules::kubelet::SCHEME,
                message,
                format!("write `{}`", rest.trim_end_matches('/')),
            ));
        }
        let authority = self.text.split('/').next().unwrap_or_default();
        if self.text.contains(['?', '#']) || authority.contains('@') {
            let effective = self.effective();
            let message = format!(
                "is read as `{effective}`: a user, and what follows `?` or `#`, is dropped; `?` is no glob"
            );
            return Some(said(
                &rules::kubelet::DROPPED_PART,
                message,
                format!("write `{effective}`, or use `*`"),
            ));
        }
        None
    }

    fn host_warning(&self) -> Option<Said> {
        let host = self.host.as_str();
        if host.is_empty() {
            return Some(said(
                &rules::kubelet::NO_HOST,
                "never matches: it has no host",
                "begin with the registry's host",
            ));
        }
        if host == DOCKER_HUB_INDEX && self.port.is_empty() {
            let message = "never matches: images of Docker Hub are always called `docker.io/…`";
            return Some(said(
                &rules::kubelet::DOCKER_IO,
                message,
                format!("write `docker.io{}`", self.path),
            ));
        }
        if host.starts_with('[') {
            let message = "never matches: without a port an IPv6 address is read as a glob";
            return Some(said(&rules::kubelet::IPV6_WITHOUT_PORT, message, "add the port: `[::1]:5000`"));
        }
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '*' | ':');
        if let Some(odd) = host.chars().find(|c| !known(*c)) {
            let message = format!("never matches: no image's host has `{odd}`");
            return Some(said(
                &rules::kubelet::IMPOSSIBLE_HOST,
                message,
                "globs in hosts are `*`, within one label",
            ));
        }
        if host.contains(|c: char| c.is_ascii_uppercase()) {
            let message = "matches only images whose host is written in the same capitals";
            return Some(said(
                &rules::kubelet::UPPER_CASE,
                message,
                format!("write `{}`", self.text.to_lowercase()),
            ));
        }
        if !host.contains(['.', ':']) && self.port.is_empty() && host != "localhost" {
            let message = if host.contains('*') {
                "matches at most `localhost`: `*` stands within one label, and every other host without a port has a dot"
            } else {
                "never matches: a first part without dot and port is not a host but a namespace of Docker Hub"
            };
            let help = "write as many labels as the host has (`*.*`, `*.example.com`), or add the port";
            return Some(said(&rules::kubelet::SINGLE_LABEL_HOST, message, help));
        }
        match self.port.as_str() {
            "" => None,
            port @ ("443" | "80") => {
                let message = format!("matches only images written with `:{port}`");
                Some(said(&rules::kubelet::PORT, message, format!("write `{host}{}`, or both", self.path)))
            }
            port if port.starts_with('0') || port.parse::<u16>().is_err() => Some(said(
                &rules::kubelet::PORT,
                format!("never matches: `{port}` is no port"),
                "write the port of the registry",
            )),
            _ => None,
        }
    }

    fn path_warning(&self) -> Option<Said> {
        let path = self.path.as_str();
        if path.contains('*') {
            let before: String = path.split_inclusive('/').take_while(|part| !part.contains('*')).collect();
            let better = format!("{}{}", self.authority(), if before == "/" { "" } else { &before });
            let message = "never matches: globs work in hosts, `*` in a path is only a character";
            return Some(said(
                &rules::kubelet::GLOB_IN_PATH,
                message,
                format!("write `{better}`: a path is a prefix anyway"),
            ));
        }
        if let Some(at) = path.find([':', '@']) {
            let message = "never matches: the kubelet asks by names without tag and digest";
            let better = format!("{}{}", self.authority(), &path[..at]);
            return Some(said(&rules::kubelet::TAG_IN_PATTERN, message, format!("write `{better}`")));
        }
        if path.contains(|c: char| c.is_ascii_uppercase()) {
            let message = "never matches: paths of images are in lower case";
            return Some(said(
                &rules::kubelet::UPPER_CASE,
                message,
                format!("write `{}`", self.text.to_lowercase()),
            ));
        }
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/');
        if path.contains(|c| !known(c)) || path.contains("//") {
            let message = "never matches: no image has such a path";
            return Some(said(
                &rules::kubelet::IMPOSSIBLE_PATH,
                message,
                "write a path as in the image's name",
            ));
        }
        self.boundary_warning()
    }

    fn boundary_warning(&self) -> Option<Said> {
        let names: Vec<_> = self.path.split('/').filter(|name| !name.is_empty()).collect();
        let effective = self.effective();
        match (names[..].len(), self.path.ends_with('/')) {
            (1, false) => {
                let message =
                    format!("also matches `{effective}x/…`: a path is a prefix that may end within a name");
                let hub = if self.host == "docker.io" {
                    "; Docker Hub's own images are below `docker.io/library/`"
                } else {
                    ""
                };
                Some(said(
                    &rules::kubelet::PATH_BOUNDARY,
                    message,
                    format!("end with a slash: `{effective}/`{hub}"),
                ))
            }
            (2.., true) => {
                let better = effective.trim_end_matches('/');
                let message = format!("does not match `{better}` itself, only what is below it");
                Some(said(
                    &rules::kubelet::TRAILING_SLASH,
                    message,
                    format!("write `{better}`, unless that is meant"),
                ))
            }
            _ => None,
        }
    }
}
