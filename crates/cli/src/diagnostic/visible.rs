//! Which parts of a file may be shown.
//!
//! Files with credentials are shown by a list of what is harmless, not of what is secret: a name that nobody thought of, a
//! comment or a password that slipped into the wrong place must not be printed because no rule knows it.

use pullwright_engine::credentials::Scope;
use pullwright_findings::{DocPath, Step};

use super::Message;

/// The kind of a file, which decides what of it may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// `registries.conf`, in which people look for a place for credentials although it has none.
    Registries,
    /// `auth.json`, `config.json`.
    AuthFile,
    /// `.dockercfg`.
    Dockercfg,
    /// Kubernetes objects, Secrets among them.
    Manifests,
    /// A mirror set or an Image, of which nothing is secret but what somebody put into the wrong place.
    MirrorSet,
    /// A `CredentialProviderConfig`, whose arguments and environment may be secret.
    ProviderConfig,
    /// A `KubeletConfiguration`, of which only what it says about pulls counts.
    KubeletConfig,
    /// containerd's `config.toml`, of which only the names count.
    ContainerdConfig,
    /// A `hosts.toml`, whose headers may be secret.
    HostsToml,
    /// A `registries.yaml` of K3s, with its credentials.
    K3sRegistries,
}

/// A name on the way from the root; `None` for a step into a list.
pub(super) type Path<'a> = Vec<Option<&'a str>>;

/// The keys of `registries.conf` whose values are worth showing.
const REGISTRIES_KEYS: [&str; 17] = [
    "registry",
    "mirror",
    "prefix",
    "location",
    "insecure",
    "blocked",
    "mirror-by-digest-only",
    "pull-from-mirror",
    "namespace-proxy",
    "unqualified-search-registries",
    "credential-helpers",
    "short-name-mode",
    "additional-layer-store-auth-helper",
    "registries",
    "search",
    "block",
    "aliases",
];
const AUTH_SECTIONS: [&str; 3] = ["auths", "credHelpers", "credsStore"];
const ENTRY_FIELDS: [&str; 6] = ["auth", "identitytoken", "registrytoken", "username", "password", "email"];
const OBJECT_FIELDS: [&str; 8] =
    ["apiVersion", "kind", "metadata", "type", "immutable", "data", "stringData", "items"];
const METADATA_FIELDS: [&str; 4] = ["name", "namespace", "labels", "annotations"];
const PULL_KEYS: [&str; 2] = [".dockerconfigjson", ".dockercfg"];

const HOST_KEYS: [&str; 9] = [
    "server",
    "host",
    "capabilities",
    "ca",
    "client",
    "skip_verify",
    "header",
    "override_path",
    "dial_timeout",
];
const K3S_TLS: [&str; 4] = ["ca_file", "cert_file", "key_file", "insecure_skip_verify"];

/// Whether the name at the end of the path is harmless.
pub(super) fn shows_name(visibility: Visibility, path: &[Option<&str>]) -> bool {
    match visibility {
        Visibility::Registries => true,
        Visibility::AuthFile => match path {
            [Some(section)] => is_one_of(section, &AUTH_SECTIONS),
            [Some(section), rest @ ..] if is(section, "auths") => shows_name(Visibility::Dockercfg, rest),
            [Some(section), Some(host)] => is(section, "credHelpers") && is_registry(host),
            _ => false,
        },
        Visibility::Dockercfg => match path {
            [Some(key)] => is_registry(key),
            [Some(_), Some(field)] => is_one_of(field, &ENTRY_FIELDS),
            _ => false,
        },
        Visibility::Manifests => match in_object(path) {
            [Some(field)] => is_one_of(field, &OBJECT_FIELDS),
            [Some("metadata"), Some(field)] => is_one_of(field, &METADATA_FIELDS),
            [Some("data" | "stringData"), Some(key)] => is_one_of(key, &PULL_KEYS),
            _ => false,
        },
        Visibility::MirrorSet => !matches!(path, [Some("metadata"), Some("labels" | "annotations"), _, ..]),
        Visibility::ProviderConfig => match path {
            [Some("providers"), None, Some("env"), None, Some(field)] => is_one_of(field, &["name", "value"]),
            [Some(_)] => true,
            [Some("providers"), None, in_provider @ ..] => {
                matches!(in_provider, [Some(_)] | [Some("tokenAttributes"), Some(_)])
            }
            _ => false,
        },
        Visibility::KubeletConfig => matches!(path, [Some(_)]),
        Visibility::ContainerdConfig => matches!(path, [Some("plugins"), ..]),
        // The name of a host is a URL, in which a password may be.
        Visibility::HostsToml => match path {
            [Some(key)] | [Some("host"), Some(key)] | [Some("host"), Some(_), Some(key)] => {
                !key.contains('@')
            }
            _ => false,
        },
        Visibility::K3sRegistries => match path {
            [Some(section)] => ["mirrors", "configs", "auths"].contains(section),
            [Some("mirrors"), ..] => path.iter().flatten().all(|name| !name.contains('@')),
            [Some("configs"), Some(host)] => is_registry(host),
            [Some("configs"), Some(_), Some(section)] => ["auth", "tls"].contains(section),
            [Some("configs"), Some(_), Some("tls"), Some(field)] => K3S_TLS.contains(field),
            _ => false,
        },
    }
}

/// Whether the leaf at the end of the path is harmless.
pub(super) fn shows_value(visibility: Visibility, path: &[Option<&str>]) -> bool {
    match (visibility, path) {
        (Visibility::Registries, [Some("aliases"), _]) => true,
        (Visibility::Registries, path) => path.iter().flatten().all(|name| is_one_of(name, &REGISTRIES_KEYS)),
        (Visibility::AuthFile, [Some(section), Some(_)]) => is(section, "credHelpers"),
        (Visibility::AuthFile, [Some(field)]) => is(field, "credsStore"),
        (Visibility::Manifests, path) => matches!(
            in_object(path),
            [Some("apiVersion" | "kind" | "type" | "immutable")]
                | [Some("metadata"), Some("name" | "namespace")]
        ),
        (Visibility::MirrorSet, path) => {
            matches!(path, [Some("apiVersion" | "kind" | "spec"), ..] | [Some("metadata"), Some("name")])
        }
        (Visibility::ProviderConfig, [Some("providers"), None, in_provider @ ..]) => matches!(
            in_provider,
            [Some("name" | "apiVersion" | "defaultCacheDuration" | "matchImages")]
                | [Some("matchImages"), None]
                | [Some("env"), None, Some("name")]
                | [Some("tokenAttributes"), ..]
        ),
        (Visibility::ProviderConfig, path) => matches!(path, [Some("apiVersion" | "kind")]),
        (Visibility::HostsToml, [Some("host"), Some(_), Some(key), ..] | [Some(key), ..]) => {
            is_one_of(key, &HOST_KEYS) && !["host", "header"].iter().any(|hidden| is(key, hidden))
        }
        (Visibility::K3sRegistries, [Some("configs"), Some(_), Some("tls"), Some(field)]) => {
            K3S_TLS.contains(field)
        }
        (Visibility::K3sRegistries, path) => matches!(path, [Some("mirrors"), ..]),
        (Visibility::KubeletConfig, path) => {
            matches!(path, [Some("apiVersion" | "kind" | "serializeImagePulls" | "maxParallelImagePulls")])
        }
        (Visibility::ContainerdConfig, path) => path.last() == Some(&Some("config_path")),
        (Visibility::AuthFile | Visibility::Dockercfg | Visibility::HostsToml, _) => false,
    }
}

/// The path within an object, which may be an item of a List.
fn in_object<'p, 'a>(path: &'p [Option<&'a str>]) -> &'p [Option<&'a str>] {
    match path {
        [Some("items"), None, rest @ ..] => rest,
        path => path,
    }
}

/// Whether a line of a broken `registries.conf` is a header or a key that we know.
pub(super) fn is_harmless_toml(line: &str) -> bool {
    let name = line.split('=').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    let known = name.starts_with('[') || (line.contains('=') && is_one_of(name, &REGISTRIES_KEYS));
    known && !line.contains(['#', '@'])
}

fn is(name: &str, field: &str) -> bool {
    name.eq_ignore_ascii_case(field)
}

fn is_one_of(name: &str, fields: &[&str]) -> bool {
    fields.iter().any(|field| is(name, field))
}

/// Whether a key is a registry or a part of one, perhaps with wildcards; and not a word, or `user:password@host`.
fn is_registry(key: &str) -> bool {
    let host = key.contains(['.', ':']) || key.starts_with("localhost");
    host && Scope::parse(&key.replace('*', "x")).is_ok()
}

/// A text in which nothing stands before an `@` within its quotes, unless a digest follows.
pub(crate) fn without_userinfo(text: &str) -> String {
    let hidden = |quoted: &str| match quoted.rsplit_once('@') {
        Some((before, rest)) if !before.is_empty() && !before.ends_with('…') && !rest.starts_with("sha") => {
            format!("…@{rest}")
        }
        _ => quoted.to_owned(),
    };
    text.split_inclusive(['"', '\'', '`']).map(hidden).collect()
}

/// Refuses to show names from a node's files if one has an `@`: no runtime can pull from such a name, and the part before
/// the `@` may be a password.
pub(crate) fn without_credentials(names: &str) -> Result<(), Message> {
    if !names.contains('@') {
        return Ok(());
    }
    Err(Message::error(
        "the node's files name a registry with `@`, which may follow a password, so nothing is shown",
    )
    .with_help("find it with `pullwright lint` and remove it; no runtime can pull from such a name"))
}

/// A path without the names that may not be shown. Its first steps are those of the file, the rest those of an auth document
/// inside of one of its texts.
pub(super) fn harmless_path(visibility: Visibility, path: &DocPath, outside: usize) -> DocPath {
    let names: Path<'_> = path.steps().iter().map(name_of).collect();
    let harmless = |index: usize, name: &str| {
        if name.contains('@') {
            false
        } else if index < outside {
            shows_name(visibility, &names[..=index])
        } else {
            is_registry(name) || is_one_of(name, &ENTRY_FIELDS) || is_one_of(name, &AUTH_SECTIONS)
        }
    };
    path.steps().iter().enumerate().fold(DocPath::root(), |shown, (index, step)| match step {
        Step::Index(item) => shown.index(*item),
        Step::Key(name) => shown.key(if harmless(index, name) { name } else { "…" }),
    })
}

fn name_of(step: &Step) -> Option<&str> {
    if let Step::Key(name) = step { Some(name) } else { None }
}
