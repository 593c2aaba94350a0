//! Decodes TOML into [`HostsToml`]: the fields that containerd knows, checked in the same order.

use std::collections::{BTreeMap, HashSet};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{HostsError, HostsProblem};
use super::{Capabilities, Capability, Host, HostsToml, Scheme, lint, order, path};
use crate::credentials::Sensitive;
use pullwright_findings::{DocPath, Finding};
use pullwright_golang::duration::Duration;
use pullwright_golang::url::Url;

/// The keys of a host, which the file itself has as well.
pub(super) const HOST_KEYS: &[&str] =
    &["capabilities", "ca", "client", "skip_verify", "header", "override_path", "dial_timeout"];
/// The keys that only the top level of the file has.
pub(super) const FILE_KEYS: &[&str] = &["server", "host"];

pub(super) fn decode(text: &str) -> Result<HostsToml, HostsError> {
    let document = DeTable::parse(text).map_err(|error| HostsError {
        at: DocPath::root(),
        span: error.span(),
        problem: HostsProblem::Syntax(error.message().to_owned()),
    })?;
    let root = DocPath::root();
    let mut findings = Vec::new();
    let file = Fields::read(document.get_ref(), &root, true, &mut findings)?;
    let mut tables = BTreeMap::new();
    for (name, table) in &file.hosts {
        let at = root.key("host").key(*name);
        tables.insert(*name, (Fields::read(table, &at, false, &mut findings)?, at));
    }
    let order = order::hosts(text);
    let mut hosts = Vec::with_capacity(order.len());
    let mut seen = HashSet::new();
    for name in &order {
        // Every table header has a table.
        if let Some((fields, at)) = tables.get(name.as_str()) {
            let host = fields.host(name, at)?;
            let again = !seen.insert(name.as_str());
            lint::host(name, &host, again, fields.override_path, &mut findings);
            hosts.push(host);
        }
    }
    let server = file.host(file.server, &root)?;
    lint::file(&seen, tables.keys().copied(), &mut findings);
    lint::server(file.server, &server, !file.capabilities.is_empty(), &mut findings);
    Ok(HostsToml { hosts, server, findings })
}

/// The values of a table, with the types that containerd's decoder gives them, not yet checked.
#[derive(Default)]
struct Fields<'t, 'v> {
    capabilities: Vec<&'v str>,
    ca: Option<&'v DeValue<'t>>,
    client: Option<&'v DeValue<'t>>,
    skip_verify: Option<bool>,
    header: Option<&'v DeTable<'t>>,
    override_path: bool,
    dial_timeout: &'v str,
    server: &'v str,
    hosts: Vec<(&'v str, &'v DeTable<'t>)>,
}

impl<'t, 'v> Fields<'t, 'v> {
    /// Keys match in any case; of two that differ only in case, the later one applies.
    fn read(
        table: &'v DeTable<'t>,
        at: &DocPath,
        is_file: bool,
        findings: &mut Vec<Finding>,
    ) -> Result<Self, HostsError> {
        let mut fields = Self::default();
        for (key, value) in in_order(table) {
            let (at, value) = (at.key(key), value.get_ref());
            match key.to_lowercase().as_str() {
                "capabilities" => fields.capabilities = strings(value, &at)?,
                "ca" => fields.ca = Some(value),
                "client" => fields.client = Some(value),
                "skip_verify" => fields.skip_verify = Some(boolean(value, &at)?),
                "header" => fields.header = Some(self::table(value, &at)?),
                "override_path" => fields.override_path = boolean(value, &at)?,
                "dial_timeout" => fields.dial_timeout = string(value, &at)?,
                "server" if is_file => fields.server = string(value, &at)?,
                "host" if is_file => {
                    for (name, host) in self::table(value, &at)? {
                        let name = name.get_ref().as_ref();
                        fields.hosts.push((name, self::table(host.get_ref(), &at.key(name))?));
                    }
                }
                _ => findings.push(lint::unknown_key(key, is_file, at)),
            }
        }
        Ok(fields)
    }

    /// Checks the values in containerd's order.
    fn host(&self, server: &str, at: &DocPath) -> Result<Host, HostsError> {
        let (scheme, host, path) = address(server, self.override_path).map_err(|problem| {
            let at = if at.steps().is_empty() { at.key("server") } else { at.clone() };
            HostsError::at(at, problem)
        })?;
        Ok(Host {
            at: at.clone(),
            scheme,
            host,
            path,
            capabilities: self.capabilities(at)?,
            ca: self.ca.map(|value| ca(value, &at.key("ca"))).transpose()?,
            client: self
                .client
                .map(|value| client(value, &at.key("client")))
                .transpose()?
                .unwrap_or_default(),
            skip_verify: self.skip_verify,
            header: self.headers(at)?,
            dial_timeout: match self.dial_timeout {
                "" => None,
                text => Some(
                    Duration::parse(text).map_err(|error| HostsError::at(at.key("dial_timeout"), error))?,
                ),
            },
        })
    }

    fn capabilities(&self, at: &DocPath) -> Result<Capabilities, HostsError> {
        if self.capabilities.is_empty() {
            return Ok(Capabilities::ALL);
        }
        let each = self.capabilities.iter().enumerate().map(|(index, text)| {
            Capability::parse(text).ok_or_else(|| {
                let at = at.key("capabilities").index(index);
                HostsError::at(at, HostsProblem::Capability((*text).to_owned()))
            })
        });
        each.collect()
    }

    fn headers(&self, at: &DocPath) -> Result<BTreeMap<String, Sensitive<Vec<String>>>, HostsError> {
        let mut headers = BTreeMap::new();
        for (name, value) in self.header.into_iter().flatten() {
            let name = name.get_ref().to_string();
            let at = at.key("header").key(&name);
            let values = match value.get_ref() {
                DeValue::String(text) => vec![text.to_string()],
                DeValue::Array(items) => texts(items, &at)?,
                other => {
                    let found = other.type_str();
                    return Err(HostsError::at(at, HostsProblem::Header { header: name, found }));
                }
            };
            headers.insert(name, Sensitive::new(values));
        }
        Ok(headers)
    }
}

/// Returns the entries of a table in the order of the text.
fn in_order<'t, 'v>(table: &'v DeTable<'t>) -> Vec<(&'v str, &'v Spanned<DeValue<'t>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries.into_iter().map(|(key, value)| (key.get_ref().as_ref(), value)).collect()
}

/// Interprets a host as containerd does. containerd treats every text that begins with `http` as a URL, even if that is just
/// the beginning of a name; the URL then has a path but no host.
fn address(server: &str, override_path: bool) -> Result<(Scheme, String, String), HostsProblem> {
    let (scheme, rest) = match server.split_once("://") {
        _ if server.is_empty() => return Ok((Scheme::Other(String::new()), String::new(), String::new())),
        Some(("https", _)) => (Scheme::Https, server),
        Some(("http", _)) => (Scheme::Http, server),
        _ if !server.starts_with("http") => (Scheme::Https, server),
        Some((scheme, rest)) => (Scheme::Other(scheme.to_owned()), rest),
        None => return Ok((Scheme::Other(String::new()), String::new(), api_root(server, override_path))),
    };
    let url = Url::parse(rest).map_err(|source| {
        let scheme = if server.starts_with("http") { "" } else { "https://" };
        let server = format!("{scheme}{}", without_user(server));
        // The host is checked before the user, so the message is the same without the user.
        let source = Url::parse(&without_user(rest)).err().unwrap_or(source);
        HostsProblem::Server { server, source: Box::new(source) }
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((scheme, text(url.host()), api_root(&text(url.path()), override_path)))
}

/// Returns the host without user and password, so that it can be shown: containerd ignores them, but people write them.
pub(super) fn without_user(server: &str) -> String {
    let start = server.find("://").map_or(0, |colon| colon + "://".len());
    let end = server[start..].find('/').map_or(server.len(), |slash| start + slash);
    match server[start..end].rfind('@') {
        Some(at) => format!("{}…{}", &server[..start], &server[start + at..]),
        None => server.to_owned(),
    }
}

/// Returns the path before the repository, for a host with this path.
fn api_root(path: &str, override_path: bool) -> String {
    match path {
        "" if override_path => String::new(),
        "" => "/v2".to_owned(),
        path => {
            let path = path::clean(path);
            if path.ends_with("/v2") || override_path { path } else { format!("{path}/v2") }
        }
    }
}

fn ca(value: &DeValue<'_>, at: &DocPath) -> Result<Vec<String>, HostsError> {
    match value {
        DeValue::String(file) => Ok(vec![file.to_string()]),
        DeValue::Array(files) => texts(files, at),
        other => {
            let found = other.type_str();
            Err(HostsError::at(at.clone(), HostsProblem::Files { field: "ca", found }))
        }
    }
}

fn client(value: &DeValue<'_>, at: &DocPath) -> Result<Vec<(String, Option<String>)>, HostsError> {
    let refuse = |at: DocPath, value: &DeValue<'_>| {
        HostsError::at(at, HostsProblem::Files { field: "client", found: value.type_str() })
    };
    match value {
        DeValue::String(file) => Ok(vec![(file.to_string(), None)]),
        DeValue::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| match item.get_ref() {
                DeValue::String(file) => Ok((file.to_string(), None)),
                DeValue::Array(pair) => match <[String; 2]>::try_from(texts(pair, &at.index(index))?) {
                    Ok([file, key]) => Ok((file, Some(key))),
                    Err(files) => Err(HostsError::at(at.index(index), HostsProblem::Pair(files.len()))),
                },
                other => Err(refuse(at.index(index), other)),
            })
            .collect(),
        other => Err(refuse(at.clone(), other)),
    }
}

fn texts(items: &[Spanned<DeValue<'_>>], at: &DocPath) -> Result<Vec<String>, HostsError> {
    let each = items.iter().enumerate().map(|(index, item)| match item.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(HostsError::at(at.index(index), HostsProblem::NotText(other.type_str()))),
    });
    each.collect()
}

fn wrong_type(expected: &'static str, value: &DeValue<'_>, at: &DocPath) -> HostsError {
    HostsError::at(at.clone(), HostsProblem::Type { expected, found: value.type_str() })
}

fn string<'v>(value: &'v DeValue<'_>, at: &DocPath) -> Result<&'v str, HostsError> {
    value.as_str().ok_or_else(|| wrong_type("a string", value, at))
}

fn boolean(value: &DeValue<'_>, at: &DocPath) -> Result<bool, HostsError> {
    value.as_bool().ok_or_else(|| wrong_type("true or false", value, at))
}

fn table<'v, 't>(value: &'v DeValue<'t>, at: &DocPath) -> Result<&'v DeTable<'t>, HostsError> {
    value.as_table().ok_or_else(|| wrong_type("a table", value, at))
}

fn strings<'v>(value: &'v DeValue<'_>, at: &DocPath) -> Result<Vec<&'v str>, HostsError> {
    let items = value.as_array().ok_or_else(|| wrong_type("a list", value, at))?;
    items.iter().enumerate().map(|(index, item)| string(item.get_ref(), &at.index(index))).collect()
}
