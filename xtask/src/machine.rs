//! What this machine has and allows: programs, Debian's packages, root.

use std::{env, fmt, fs, os::unix::fs::MetadataExt as _, path::PathBuf, process::Command};

use crate::tier::Outcome;

/// The reason why a tier cannot run here and what to do about it, in one line.
#[derive(Debug)]
pub(crate) struct Missing(String);

impl Missing {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Missing> for Outcome {
    fn from(missing: Missing) -> Self {
        Self::NotRun { why: missing.0 }
    }
}

/// The user that runs this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    Root,
    Other,
}

impl User {
    /// Returns the effective user; `None` if this is not Linux.
    pub(crate) fn this() -> Option<Self> {
        // The owner of /proc/self is the effective user.
        let owner = fs::metadata("/proc/self").ok()?.uid();
        Some(if owner == 0 { Self::Root } else { Self::Other })
    }
}

/// Whether `user` can create a whole node.
pub(crate) fn allow_node(user: Option<User>) -> Result<(), Missing> {
    match user {
        Some(User::Root) => Ok(()),
        Some(User::Other) => {
            Err(Missing::new("needs root, for namespaces, mounts and cgroups: run it as root"))
        }
        None => Err(Missing::new("no /proc: a node needs Linux")),
    }
}

/// Whether `user` can install packages.
fn allow_packages(packages: &str, user: Option<User>, apt: bool) -> Result<(), Missing> {
    match user {
        _ if !apt => Err(Missing::new(format!(
            "no apt-get to install {packages} with: install what holds them here by hand"
        ))),
        Some(User::Root) => Ok(()),
        _ => Err(Missing::new(format!("needs packages; run as root: apt-get install {packages}"))),
    }
}

/// Installs Debian packages that are not installed yet.
pub(crate) fn install(packages: &[&str]) -> Result<(), Missing> {
    let names = packages.join(" ");
    allow_packages(&names, User::this(), find("apt-get").is_some())?;
    eprintln!("installing {names}");
    let apt = |args: &[&str]| {
        let output = Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive").output();
        output.is_ok_and(|output| output.status.success())
    };
    let install = [&["install", "--yes", "--no-install-recommends"], packages].concat();
    if apt(&install) || (apt(&["update"]) && apt(&install)) {
        return Ok(());
    }
    Err(Missing::new(format!("`apt-get install {names}` failed; run it by hand to see why")))
}

/// Finds a program on this machine, in the same places as the testkit.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let folders = ["TEST_NODE_BIN", "PATH"].iter().filter_map(env::var_os);
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders: Vec<_> =
        folders.flat_map(|paths| env::split_paths(&paths).collect::<Vec<_>>()).chain(system).collect();
    // An absolute name stays as it is.
    folders.iter().map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::{User, allow_packages};

    #[test]
    fn another_user_is_told_what_root_has_to_install() {
        let why =
            |user, apt| allow_packages("strace valgrind", user, apt).map_err(|missing| missing.to_string());
        assert_eq!(why(Some(User::Root), true), Ok(()));
        let told = Err("needs packages; run as root: apt-get install strace valgrind".to_owned());
        assert_eq!(why(Some(User::Other), true), told);
        assert!(why(Some(User::Root), false).unwrap_err().contains("by hand"));
    }
}
