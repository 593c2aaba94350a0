//! Which files make up a node's configuration, and in what order. The caller reads them.
//!
//! The rules are those of containers/image from v5.40 on: the first main file found is used, drop-ins from all folders
//! are merged by file name with the more specific folder winning, and environment variables replace or add files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The loader's inputs from its caller and from the process.
#[derive(Debug, Clone, Default)]
pub struct LoaderEnv {
    /// A main file set by the caller (`--registries-conf`). Must exist.
    pub conf: Option<PathBuf>,
    /// A drop-in folder set by the caller. Replaces all others.
    pub conf_dir: Option<PathBuf>,
    /// `CONTAINERS_REGISTRIES_CONF`: a main file that must exist. Disables the drop-in folders.
    pub env_conf: Option<PathBuf>,
    /// `CONTAINERS_REGISTRIES_CONF_OVERRIDE`: an additional last file, which must exist.
    pub env_override: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, which counts even if it is empty.
    pub xdg_config_home: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, unless it is empty.
    pub xdg_cache_home: Option<PathBuf>,
    /// The user's home directory, if any.
    pub home: Option<PathBuf>,
    /// The user ID (`_CONTAINERS_ROOTLESS_UID` or that of the process). If negative, there is none and only the folders
    /// that apply to all users count.
    pub uid: i64,
}

/// The places to look, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPath {
    /// The main file.
    pub main: MainFile,
    /// The drop-in folders, most specific first.
    pub drop_in_dirs: Vec<PathBuf>,
    /// A file to read last. It must exist.
    pub extra: Option<PathBuf>,
}

/// Where to find the main file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MainFile {
    /// This file, which must exist.
    Named(PathBuf),
    /// The first of these that exists, if any.
    FirstOf(Vec<PathBuf>),
}

const NAME: &str = "registries.conf";
const SYSTEM: [&str; 2] = ["/etc/containers", "/usr/share/containers"];

impl LoaderEnv {
    /// The environment of a system service: the given variables and uid.
    #[must_use]
    pub fn from_vars(var: impl Fn(&str) -> Option<OsString>, uid: u32) -> Self {
        let path = |name: &str| var(name).map(PathBuf::from);
        let non_empty = |name: &str| path(name).filter(|path| !path.as_os_str().is_empty());
        // Go parses a value that is not a number as 0, and so treats an invalid variable as root.
        let rootless_uid = non_empty("_CONTAINERS_ROOTLESS_UID")
            .map(|uid| uid.to_str().and_then(|uid| uid.parse().ok()).unwrap_or(0));
        Self {
            conf: None,
            conf_dir: None,
            env_conf: non_empty("CONTAINERS_REGISTRIES_CONF"),
            env_override: non_empty("CONTAINERS_REGISTRIES_CONF_OVERRIDE"),
            xdg_config_home: path("XDG_CONFIG_HOME"),
            xdg_cache_home: non_empty("XDG_CACHE_HOME"),
            home: non_empty("HOME"),
            uid: rootless_uid.unwrap_or(i64::from(uid)),
        }
    }

    /// Returns where this loader looks.
    #[must_use]
    pub fn search_path(&self) -> SearchPath {
        let user = match (&self.xdg_config_home, &self.home) {
            (Some(config), _) => Some(config.join("containers")),
            (None, Some(home)) => Some(home.join(".config/containers")),
            (None, None) => None,
        };
        let main = match (&self.conf, &self.env_conf) {
            (Some(named), _) | (None, Some(named)) => MainFile::Named(named.clone()),
            (None, None) => {
                let system = SYSTEM.map(PathBuf::from);
                MainFile::FirstOf(user.iter().chain(&system).map(|dir| dir.join(NAME)).collect())
            }
        };
        let only_env = self.conf.is_none() && self.env_conf.is_some();
        let drop_in_dirs = match &self.conf_dir {
            _ if only_env => Vec::new(),
            Some(dir) => vec![dir.clone()],
            None => {
                let user = user.iter().map(|dir| dir.join("registries.conf.d"));
                user.chain(SYSTEM.iter().flat_map(|dir| self.system_drop_in_dirs(Path::new(dir)))).collect()
            }
        };
        let extra = if self.conf_dir.is_none() { self.env_override.clone() } else { None };
        SearchPath { main, drop_in_dirs, extra }
    }

    fn system_drop_in_dirs(&self, dir: &Path) -> Vec<PathBuf> {
        let mut dirs = match self.uid {
            ..0 => Vec::new(),
            0 => vec![dir.join("registries.rootful.conf.d")],
            1.. => {
                let rootless = dir.join("registries.rootless.conf.d");
                vec![rootless.join(self.uid.to_string()), rootless]
            }
        };
        dirs.push(dir.join("registries.conf.d"));
        dirs
    }
}

impl SearchPath {
    /// Returns the drop-ins to read, in order. `listings` has the folders in the order of [`Self::drop_in_dirs`], each
    /// with the names of everything in it that is not a folder.
    #[must_use]
    pub fn drop_ins<'a>(listings: impl IntoIterator<Item = (&'a Path, Vec<OsString>)>) -> Vec<PathBuf> {
        let mut by_name: BTreeMap<OsString, PathBuf> = BTreeMap::new();
        for (dir, names) in listings {
            for name in names {
                if is_drop_in(&name) {
                    // The first folder that has a name wins: a user's empty file hides the vendor's.
                    by_name.entry(name.clone()).or_insert_with(|| dir.join(name));
                }
            }
        }
        by_name.into_values().collect()
    }
}

fn is_drop_in(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".conf")
}
