//! Renders `registries.conf` the way the Go encoder does, which is the form found on nodes today.

use std::fmt::Write;

use super::{RegistriesConf, Registry, RegistryEndpoint};
use crate::toml_text::{list, string};

/// Renders entries and search registries. Like the Go encoder, omits fields that have their default value.
pub(super) fn render(registries: &[Registry], search: Option<&[String]>) -> String {
    let mut out = String::new();
    if let Some(hosts) = search {
        line(&mut out, "", "unqualified-search-registries", &list(hosts));
    }
    tables(&mut out, registries.iter());
    out
}

impl RegistriesConf {
    /// Renders the merged configuration as a single file that loads to the same configuration.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::new();
        if let Some(hosts) = self.unqualified_search_registries() {
            line(&mut out, "", "unqualified-search-registries", &list(hosts));
        }
        line(&mut out, "", "credential-helpers", &list(self.credential_helpers()));
        line(&mut out, "", "short-name-mode", &string(self.short_name_mode().as_str()));
        line(
            &mut out,
            "",
            "additional-layer-store-auth-helper",
            &string(self.additional_layer_store_auth_helper()),
        );
        tables(&mut out, self.registries());
        if !self.aliases().is_empty() {
            out.push_str("\n[aliases]\n");
            for (name, alias) in self.aliases() {
                let target = alias.target.as_ref().map(ToString::to_string).unwrap_or_default();
                line(&mut out, "  ", &string(name), &string(&target));
            }
        }
        out
    }
}

fn tables<'r>(out: &mut String, registries: impl IntoIterator<Item = &'r Registry>) {
    for registry in registries {
        out.push_str("\n[[registry]]\n");
        line(out, "  ", "prefix", &string(&registry.prefix));
        endpoint(out, "  ", &registry.endpoint);
        if registry.blocked {
            line(out, "  ", "blocked", "true");
        }
        if registry.mirror_by_digest_only {
            line(out, "  ", "mirror-by-digest-only", "true");
        }
        for mirror in &registry.mirrors {
            out.push_str("\n  [[registry.mirror]]\n");
            endpoint(out, "    ", &mirror.endpoint);
            if let Some(value) = mirror.pull_from_mirror {
                line(out, "    ", "pull-from-mirror", &string(value.as_str()));
            }
        }
    }
}

fn endpoint(out: &mut String, indent: &str, endpoint: &RegistryEndpoint) {
    if !endpoint.location.is_empty() {
        line(out, indent, "location", &string(&endpoint.location));
    }
    if endpoint.insecure {
        line(out, indent, "insecure", "true");
    }
    if !endpoint.namespace_proxy.is_empty() {
        line(out, indent, "namespace-proxy", &string(&endpoint.namespace_proxy));
    }
}

fn line(out: &mut String, indent: &str, key: &str, value: &str) {
    // Writing into a String cannot fail.
    let _ = writeln!(out, "{indent}{key} = {value}");
}
