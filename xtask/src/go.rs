//! The Go toolchain that builds the real programs: the machine's own if it is new enough, otherwise the one that our go.mod
//! files require, which the installed Go downloads into the cache.

use std::{
    fmt,
    fs::{self, File},
    io::ErrorKind,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::{
    cargo::{cache, workspace},
    machine::{Missing, find, install},
};

/// The package with Debian's Go. It may be too old to build with, but it can still download.
pub(crate) const PACKAGE: &str = "golang-go";

/// A Go toolchain that is new enough.
#[derive(Debug)]
pub(crate) struct Go {
    program: PathBuf,
    brought: bool,
}

impl Go {
    /// Finds or downloads it.
    pub(crate) fn ensure() -> Result<Self, Missing> {
        let needed = needed()?;
        if find("go").is_none() {
            install(&[PACKAGE])?;
        }
        let found = find("go")
            .ok_or_else(|| Missing::new(format!("{PACKAGE} brought no go into PATH: put one there")))?;
        Self::with(found, needed, &cache().join("go"))
    }

    /// Uses `found` itself if it is new enough, otherwise the toolchain that it downloads into the folder `modules`.
    fn with(found: PathBuf, needed: Version, modules: &Path) -> Result<Self, Missing> {
        let [version, system, architecture] = ask(&found)?;
        match Version::parse(&version) {
            Some(version) if version >= needed => Ok(Self { program: found, brought: false }),
            _ => bring(&found, needed, &format!("{system}-{architecture}"), modules),
        }
    }

    /// Returns `go` in the folder of a module.
    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(folder);
        if self.brought {
            // It is already the right version, and it knows where its own files are.
            command.env("GOTOOLCHAIN", "local").env_remove("GOROOT");
        }
        command
    }
}

/// A released version of Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version([u32; 3]);

impl Version {
    /// Parses `1.26.6`, or `go1.26.6` with or without a suffix.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.trim_start_matches("go").split('.').map(|number| {
            number.split(|other: char| !other.is_ascii_digit()).next().unwrap_or_default().parse().ok()
        });
        let (major, minor) = (numbers.next()??, numbers.next()??);
        Some(Self([major, minor, numbers.next().flatten().unwrap_or(0)]))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Returns the lowest version that builds all our modules: the highest of their `go` lines.
fn needed() -> Result<Version, Missing> {
    let mut needed = Version([1, 0, 0]);
    for module in
        modules().map_err(|error| Missing::new(format!("looking for Go modules in tools: {error}")))?
    {
        let file = module.join("go.mod");
        let requirements = fs::read_to_string(&file)
            .map_err(|error| Missing::new(format!("reading {}: {error}", file.display())))?;
        let asked = asked(&requirements)
            .ok_or_else(|| Missing::new(format!("{} has no go line: add one", file.display())))?;
        needed = needed.max(asked);
    }
    Ok(needed)
}

/// Returns the folders of the modules that are built here.
fn modules() -> std::io::Result<Vec<PathBuf>> {
    let tools = fs::read_dir(workspace().join("tools"))?.map(|entry| Ok(entry?.path()));
    tools.chain([Ok(workspace().join("dev/oracle/go"))]).collect()
}

/// Returns the version in the `go` line of a go.mod.
fn asked(requirements: &str) -> Option<Version> {
    requirements.lines().find_map(|line| line.strip_prefix("go ")).and_then(Version::parse)
}

/// Returns the version of a Go, and the system and architecture that it runs on.
fn ask(go: &Path) -> Result<[String; 3], Missing> {
    // Runs outside of every module, because an old Go fails on a newer go.mod.
    let output =
        Command::new(go).args(["env", "GOVERSION", "GOHOSTOS", "GOHOSTARCH"]).current_dir("/").output();
    let said = succeeded(output).map_err(|why| {
        Missing::new(format!(
            "{} does not say its version ({why}): put a Go that works into PATH",
            go.display()
        ))
    })?;
    let mut lines = said.lines().map(str::to_owned);
    Ok([(); 3].map(|()| lines.next().unwrap_or_default()))
}

/// Lets `go` download the toolchain `version` as a module, a form in which it is also published, so that the checksum
/// database verifies it. Even a Go without support for toolchains can do that.
fn bring(go: &Path, version: Version, platform: &str, modules: &Path) -> Result<Go, Missing> {
    let failed = |why: &dyn fmt::Display| {
        Missing::new(format!(
            "bringing Go {version} here with {}: {why}: put Go {version} or newer into PATH, or set GOPROXY to a module proxy that \
             this machine reaches",
            go.display()
        ))
    };
    let module = format!("golang.org/toolchain@v0.0.1-go{version}.{platform}");
    let toolchain = modules.join(&module);
    let brought = Go { program: toolchain.join("bin/go"), brought: true };
    fs::create_dir_all(modules).map_err(|error| failed(&error))?;
    // Two runs that start at the same time download it only once.
    let lock = File::create(modules.join(".lock")).map_err(|error| failed(&error))?;
    lock.lock().map_err(|error| failed(&error))?;
    if is_complete(&toolchain) {
        return Ok(brought);
    }
    eprintln!("bringing Go {version} into {} (once)", modules.display());
    let mut download = Command::new(go);
    download.args(["mod", "download", "-modcacherw", &module]).current_dir(modules);
    succeeded(download.env("GOMODCACHE", modules).output()).map_err(|why| failed(&why))?;
    complete(&toolchain).map_err(|error| failed(&error))?;
    Ok(brought)
}

/// Returns the output of a command, or the last line of its errors if it failed.
fn succeeded(output: std::io::Result<Output>) -> Result<String, String> {
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().lines().next_back().map_or_else(|| output.status.to_string(), str::to_owned))
}

/// Whether [`complete`] has finished.
fn is_complete(toolchain: &Path) -> bool {
    let go = fs::metadata(toolchain.join("bin/go"));
    go.is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
}

/// Turns the module's files into a toolchain: a module cannot contain executable files or another go.mod.
fn complete(toolchain: &Path) -> std::io::Result<()> {
    let library = toolchain.join("src");
    // If an interrupted run left it there, it cannot be overwritten.
    match fs::remove_file(library.join("go.mod")) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => fs::copy(library.join("_go.mod"), library.join("go.mod"))?,
    };
    let mut programs = Vec::new();
    for platform in fs::read_dir(toolchain.join("pkg/tool"))? {
        for program in fs::read_dir(platform?.path())? {
            programs.push(program?.path());
        }
    }
    // Last, since it marks everything else as done.
    programs.push(toolchain.join("bin/go"));
    programs.iter().try_for_each(|program| fs::set_permissions(program, fs::Permissions::from_mode(0o755)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_go_line_is_what_is_needed() {
        assert_eq!(asked("module m\n\ngo 1.26.6\n\nrequire a v1.0.0\n"), Some(Version([1, 26, 6])));
        assert_eq!(asked("module gopher\n"), None);
        let lines = modules().unwrap().into_iter().map(|module| {
            let requirements = fs::read_to_string(module.join("go.mod")).unwrap();
            asked(&requirements).unwrap()
        });
        assert_eq!(lines.max(), Some(needed().unwrap()));
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let version = |text| Version::parse(text).unwrap();
        assert!(version("go1.26.10") > version("1.26.6"));
        assert!(version("go1.19.8") < version("1.26.0"));
        assert_eq!(version("go1.27rc1"), version("1.27.0"));
        assert_eq!(version("go1.26.6 X:nodwarf5"), version("1.26.6"));
        assert_eq!(Version::parse("devel +1234"), None);
    }

    /// A stand-in for Debian's Go: too old to build with, able to download.
    fn old_go() -> PathBuf {
        workspace().join("xtask/testdata/go1.19.sh")
    }

    #[test]
    fn a_go_that_is_new_enough_is_used_as_it_is() {
        let cache = tempfile::tempdir().unwrap();
        let go = Go::with(old_go(), Version([1, 19, 8]), cache.path()).unwrap();
        assert_eq!(go.program, old_go());
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_go_that_is_too_old_brings_the_one_that_is_needed_once() {
        let cache = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let go = Go::with(old_go(), Version([1, 26, 6]), cache.path()).unwrap();
            let ran = go.command(cache.path()).arg("build").output().unwrap();
            let said = String::from_utf8(ran.stdout).unwrap();
            assert_eq!(said, "go1.26.6.linux-amd64 compiles with GOTOOLCHAIN=local\n");
        }
        assert_eq!(fs::read_to_string(cache.path().join("downloads")).unwrap(), "1\n");
    }

    #[test]
    fn a_toolchain_that_was_left_half_made_is_made_anew() {
        let cache = tempfile::tempdir().unwrap();
        let go = Go::with(old_go(), Version([1, 26, 6]), cache.path()).unwrap();
        let toolchain = go.program.ancestors().nth(2).unwrap();
        fs::set_permissions(&go.program, fs::Permissions::from_mode(0o444)).unwrap();
        fs::set_permissions(toolchain.join("src/go.mod"), fs::Permissions::from_mode(0o444)).unwrap();
        Go::with(old_go(), Version([1, 26, 6]), cache.path()).unwrap();
        assert!(is_complete(toolchain));
    }

    #[test]
    fn where_nothing_can_be_downloaded_it_says_what_to_do() {
        let cache = tempfile::tempdir().unwrap();
        let why = Go::with(old_go(), Version([9, 9, 9]), cache.path()).unwrap_err().to_string();
        assert!(why.contains("no such version"), "{why}");
        assert!(why.contains("put Go 9.9.9 or newer into PATH"), "{why}");
    }
}
