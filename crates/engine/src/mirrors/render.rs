//! Renders the file exactly as the Go encoder does for the Machine Config Operator.

use std::path::PathBuf;

use crate::registries::{ConfError, ConfFile, RegistriesConf, Registry, RegistryEndpoint, wildcard_suffix};
use crate::toml_text::{list, push_string};

/// Renders the merged entries.
pub(super) fn render(registries: &[Registry], search: Option<&[String]>) -> String {
    let mirrors: usize = registries.iter().map(|registry| registry.mirrors.len()).sum();
    let mut out = String::with_capacity(128 + 96 * registries.len() + 112 * mirrors);
    if let Some(hosts) = search {
        push(&mut out, &["unqualified-search-registries = ", &list(hosts), "\n"]);
    }
    out.push_str("short-name-mode = \"\"\nadditional-layer-store-auth-helper = \"\"\n");
    for registry in registries {
        // The operator writes a wildcard as the prefix, and everything else as the location only.
        let prefix = if wildcard_suffix(&registry.prefix).is_some() { registry.prefix.as_str() } else { "" };
        out.push_str("\n[[registry]]\n  prefix = ");
        push_string(&mut out, prefix);
        out.push('\n');
        push_endpoint(&mut out, "  ", &registry.endpoint);
        if registry.blocked {
            out.push_str("  blocked = true\n");
        }
        for mirror in &registry.mirrors {
            out.push_str("\n  [[registry.mirror]]\n");
            push_endpoint(&mut out, "    ", &mirror.endpoint);
            if let Some(serves) = mirror.pull_from_mirror {
                push(&mut out, &["    pull-from-mirror = \"", serves.as_str(), "\"\n"]);
            }
        }
    }
    out
}

/// Returns the entries as a node reads them from a file at `path`.
pub(super) fn read_back(
    registries: &[Registry],
    search: Option<&[String]>,
    path: PathBuf,
) -> Result<RegistriesConf, ConfError> {
    Ok(RegistriesConf::merge([(path, ConfFile::parse(&render(registries, search))?)]))
}

fn push_endpoint(out: &mut String, indent: &str, endpoint: &RegistryEndpoint) {
    if !endpoint.location.is_empty() {
        push(out, &[indent, "location = "]);
        push_string(out, &endpoint.location);
        out.push('\n');
    }
    if endpoint.insecure {
        push(out, &[indent, "insecure = true\n"]);
    }
}

fn push(out: &mut String, parts: &[&str]) {
    for part in parts {
        out.push_str(part);
    }
}
