//! The part of containerd's own `config.toml` that decides whether containerd reads any `hosts.toml`.

use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::quote::quote;

/// The names of the tables in versions 3 and 2 of the file.
const PLUGINS: [&str; 2] = ["io.containerd.cri.v1.images", "io.containerd.grpc.v1.cri"];
/// The folder of `hosts.toml` files that containerd reads if its configuration does not set one.
pub const CERTS_D: &str = "/etc/containerd/certs.d";

/// The settings for mirrors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// The folder of `hosts.toml` files; the first if there are several.
    pub certs_d: PathBuf,
    /// The reasons why containerd may not read any `hosts.toml`.
    pub findings: Vec<Finding>,
}

impl Default for Daemon {
    /// The settings without a file.
    fn default() -> Self {
        Self { certs_d: PathBuf::from(CERTS_D), findings: Vec::new() }
    }
}

impl Daemon {
    /// Reads the text. Invalid TOML gives the default: containerd does not start with it.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let Ok(document) = DeTable::parse(text) else { return Self::default() };
        let Some(plugins) = table(document.get_ref(), "plugins") else { return Self::default() };
        let found = PLUGINS.iter().find_map(|name| Some((*name, table(plugins, name)?)));
        let Some((name, plugin)) = found else { return Self::default() };
        let at = DocPath::root().key("plugins").key(name);
        let path =
            table(plugin, "registry").and_then(|registry| registry.get("config_path")?.get_ref().as_str());
        let has_imports = document.get_ref().get("imports").is_some_and(|files| {
            files.get_ref().as_array().is_some_and(|files| files.iter().next().is_some())
        });
        // The older way to pull supports a list of folders.
        let is_local =
            plugin.get("use_local_image_pull").is_some_and(|value| value.get_ref().as_bool() == Some(true));
        let finding = match path {
            None | Some("") if has_imports => None,
            None | Some("") => Some(Finding::new(
                &rules::containerd::CONFIG_PATH,
                at.clone(),
                "without config_path no hosts.toml is read: containerd 1 has no default, and containerd 2 takes the two \
                 folders of its default for one",
            )),
            Some(path) if path.contains(':') && !is_local => Some(Finding::new(
                &rules::containerd::CONFIG_PATH,
                at.key("registry").key("config_path"),
                format!(
                    "no hosts.toml is read: containerd 2 takes {} for the name of one folder",
                    quote(path)
                ),
            )),
            Some(_) => None,
        };
        let help = format!("set config_path = {} in [plugins.'{name}'.registry]", quote(CERTS_D));
        let first = path.and_then(|path| path.split(':').next()).filter(|path| !path.is_empty());
        Self {
            certs_d: PathBuf::from(first.unwrap_or(CERTS_D)),
            findings: finding.into_iter().map(|finding| finding.with_help(help.clone())).collect(),
        }
    }
}

fn table<'v, 't>(table: &'v DeTable<'t>, key: &str) -> Option<&'v DeTable<'t>> {
    match table.get(key)?.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, certs_d: &str, at: &[&str]) {
        let daemon = Daemon::read(text);
        assert_eq!(daemon.certs_d, PathBuf::from(certs_d));
        let places: Vec<_> = daemon.findings.iter().map(|finding| finding.at.to_string()).collect();
        assert_eq!(places, at);
    }

    #[test]
    fn one_folder_is_read() {
        check("version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '/a'", "/a", &[]);
        check("version = 2\n[plugins.'io.containerd.grpc.v1.cri'.registry]\nconfig_path = '/b'", "/b", &[]);
    }

    #[test]
    fn two_folders_are_none_unless_pulls_are_local() {
        let two = "[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '/a:/b'\n";
        check(two, "/a", &["plugins.io.containerd.cri.v1.images.registry.config_path"]);
        let local = "[plugins.'io.containerd.cri.v1.images']\nuse_local_image_pull = true\n";
        check(&format!("{local}{two}"), "/a", &[]);
    }

    #[test]
    fn no_folder_is_told_unless_another_file_may_name_it() {
        let none = "[plugins.'io.containerd.cri.v1.images']\nsnapshotter = 'overlayfs'\n";
        check(none, CERTS_D, &["plugins.io.containerd.cri.v1.images"]);
        check(&format!("imports = ['/etc/containerd/conf.d/*.toml']\n{none}"), CERTS_D, &[]);
        check("version = 3", CERTS_D, &[]);
    }
}
