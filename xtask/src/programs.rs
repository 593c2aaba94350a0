//! The real programs that tests use: Go programs are built once into a cache, missing Debian packages are installed.

use std::{
    env,
    ffi::OsString,
    fmt,
    fs::{self, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use crate::{
    cargo::{cache, workspace},
    go::Go,
    machine::{Missing, User, allow_node, find, install},
};

/// How much of a cluster is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// A tracer that can kill a program at each of its system calls, and a counter of its instructions.
    Tracer,
    /// etcd and kube-apiserver; needs Go.
    ControlPlane,
    /// Also registries to pull from; needs Debian's packages for them.
    Registry,
    /// A whole node with containerd; also needs root and more of Debian's packages.
    Node,
    /// A whole node with CRI-O, which is not available as a package everywhere.
    Crio,
}

/// The programs of a tier, all of them present.
#[derive(Debug)]
pub(crate) struct Programs {
    folders: Vec<PathBuf>,
}

impl Programs {
    /// Passes the location of the programs to a command.
    pub(crate) fn pass_to(&self, command: &mut Command) {
        command.env("PULLWRIGHT_PROGRAMS", self.path());
    }

    fn path(&self) -> OsString {
        env::join_paths(&self.folders).unwrap_or_default()
    }
}

/// Go programs of one module; `tools/<folder>/go.mod` requires the module and its version.
struct Module {
    folder: &'static str,
    path: &'static str,
    /// The name of each program, its package in the module, and the first tier that needs it.
    programs: &'static [(&'static str, &'static str, Tier)],
    tags: &'static str,
    /// The package whose variables contain the version; the module system does not tell Kubernetes its own version.
    version_package: Option<&'static str>,
}

const MODULES: [Module; 3] = [
    Module {
        folder: "etcd",
        path: "go.etcd.io/etcd/server/v3",
        programs: &[("etcd", "", Tier::ControlPlane)],
        tags: "",
        version_package: None,
    },
    Module {
        folder: "kubernetes",
        path: "k8s.io/kubernetes",
        programs: &[
            ("kube-apiserver", "/cmd/kube-apiserver", Tier::ControlPlane),
            ("kubectl", "/cmd/kubectl", Tier::ControlPlane),
            ("kube-controller-manager", "/cmd/kube-controller-manager", Tier::ControlPlane),
            ("kubelet", "/cmd/kubelet", Tier::Node),
            ("kube-scheduler", "/cmd/kube-scheduler", Tier::Node),
        ],
        tags: "",
        version_package: Some("k8s.io/component-base/version"),
    },
    Module {
        folder: "containerd",
        path: "github.com/containerd/containerd/v2",
        programs: &[
            ("containerd", "/cmd/containerd", Tier::Node),
            ("containerd-shim-runc-v2", "/cmd/containerd-shim-runc-v2", Tier::Node),
        ],
        tags: "no_btrfs,no_devmapper,no_zfs",
        version_package: None,
    },
];

/// Programs from Debian, with their packages and the first tier that needs them.
const PACKAGES: [(&str, &str, Tier); 11] = [
    ("strace", "strace", Tier::Tracer),
    ("valgrind", "valgrind", Tier::Tracer),
    ("docker-registry", "docker-registry", Tier::Registry),
    ("skopeo", "skopeo", Tier::Registry),
    ("htpasswd", "apache2-utils", Tier::Registry),
    ("runc", "runc", Tier::Node),
    ("conmon", "conmon", Tier::Node),
    ("iptables", "iptables", Tier::Node),
    ("ip", "iproute2", Tier::Node),
    ("/usr/lib/cni/bridge", "containernetworking-plugins", Tier::Node),
    ("/usr/lib/systemd/systemd", "systemd", Tier::Node),
];

/// The programs that must already be on a machine for CRI-O.
const CRIO: [&str; 3] = ["crio", "pinns", "go-crio-credential-provider"];

/// `cargo xtask programs [control-plane]`: prepares them all, and prints where the Go programs are.
pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let tier = match arguments {
        [] => Tier::Node,
        ["control-plane"] => Tier::ControlPlane,
        _ => return Err("usage: cargo xtask programs [control-plane]".to_owned()),
    };
    let programs = ensure(tier).map_err(|missing| missing.to_string())?;
    println!("export PULLWRIGHT_PROGRAMS={}", programs.path().display());
    Ok(true)
}

/// Builds and installs everything that `tier` needs and that is missing.
pub(crate) fn ensure(tier: Tier) -> Result<Programs, Missing> {
    let packages = lacking(tier, User::this(), |program| find(program).is_some())?;
    if !packages.is_empty() {
        install(&packages)?;
    }
    let mut folders = Vec::new();
    for module in &MODULES {
        let wanted: Vec<_> = module.programs.iter().filter(|(_, _, from)| tier >= *from).collect();
        if wanted.is_empty() {
            continue;
        }
        let source = Source::read(module)?;
        let folder = cache().join("programs").join(source.key());
        for (name, package, _) in wanted {
            source.build(name, package, &folder)?;
        }
        folders.push(folder);
    }
    Ok(Programs { folders })
}

/// Returns the packages that `tier` lacks on a machine that `has` certain programs, or the reason why it cannot run there at
/// all. The lack of root is reported first, because nothing else would help.
fn lacking(tier: Tier, user: Option<User>, has: impl Fn(&str) -> bool) -> Result<Vec<&'static str>, Missing> {
    if tier >= Tier::Node {
        allow_node(user)?;
    }
    let absent: Vec<_> = CRIO.into_iter().filter(|program| tier >= Tier::Crio && !has(program)).collect();
    if !absent.is_empty() {
        let absent = absent.join(", ");
        return Err(Missing::new(format!(
            "{absent} not on this machine (searched TEST_NODE_BIN and PATH): no package brings them, see docs/test-node.md"
        )));
    }
    let packages = PACKAGES.iter().filter(|(program, _, from)| tier >= *from && !has(program));
    Ok(packages.map(|(_, package, _)| *package).collect())
}

/// A module at the version that our go.mod pins.
struct Source {
    folder: PathBuf,
    module: &'static str,
    version: String,
    tags: &'static str,
    linker: String,
    sums: String,
}

impl Source {
    fn read(module: &Module) -> Result<Self, Missing> {
        let folder = workspace().join("tools").join(module.folder);
        let read = |file: &str| {
            fs::read_to_string(folder.join(file))
                .map_err(|error| Missing::new(format!("tools/{}/{file}: {error}", module.folder)))
        };
        let (requirements, sums) = (read("go.mod")?, read("go.sum")?);
        let version = pinned(&requirements, module.path).ok_or_else(|| {
            Missing::new(format!("tools/{}/go.mod does not require {}", module.folder, module.path))
        })?;
        let linker =
            module.version_package.map_or_else(String::new, |package| version_flags(package, &version));
        let linker = format!("-s -w {linker}");
        Ok(Self {
            folder,
            module: module.path,
            version,
            tags: module.tags,
            linker,
            sums: requirements + &sums,
        })
    }

    /// The name of the folder in the cache: it differs for every version, dependency and flag.
    fn key(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.sums, &self.linker, self.tags).hash(&mut hasher);
        let name = self.folder.file_name().unwrap_or_default().display();
        format!("{name}-{}-{:016x}", self.version, hasher.finish())
    }

    /// Builds one program into `folder` unless it exists.
    fn build(&self, name: &str, package: &str, folder: &Path) -> Result<(), Missing> {
        let failed =
            |why: &dyn fmt::Display| Missing::new(format!("building {name} {}: {why}", self.version));
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        // Two runs that start at the same time build it only once.
        let lock = File::create(folder.join(".lock")).map_err(|error| failed(&error))?;
        lock.lock().map_err(|error| failed(&error))?;
        let (partial, program) = (folder.join(format!(".{name}.partial")), folder.join(name));
        if program.exists() {
            return Ok(());
        }
        let go = Go::ensure()?;
        eprintln!("building {name} {} (once; takes minutes)", self.version);
        let begun = Instant::now();
        let mut command = go.command(&self.folder);
        command.args(["build", "-v", "-trimpath", "-tags", self.tags, "-ldflags", &self.linker, "-o"]);
        command.arg(&partial).arg(format!("{}{package}", self.module));
        command.env("CGO_ENABLED", "0").stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(&error))?;
        let mut lines = Vec::new();
        for line in child
            .stderr
            .take()
            .map(BufReader::new)
            .into_iter()
            .flat_map(BufReader::lines)
            .map_while(Result::ok)
        {
            lines.push(line);
            if lines.len() % 200 == 0 {
                eprintln!("  {name}: {} packages, {} s", lines.len(), begun.elapsed().as_secs());
            }
        }
        if !child.wait().is_ok_and(|status| status.success()) {
            return Err(failed(&lines[lines.len().saturating_sub(5)..].join("; ")));
        }
        fs::rename(&partial, &program).map_err(|error| failed(&error))?;
        eprintln!("  {name}: built in {} s", begun.elapsed().as_secs());
        Ok(())
    }
}

/// Returns the version of `module` that a go.mod requires.
fn pinned(requirements: &str, module: &str) -> Option<String> {
    let mut words = requirements.lines().map(|line| line.trim_start_matches("require").split_whitespace());
    words.find_map(|mut words| {
        (words.next() == Some(module)).then(|| words.next().map(str::to_owned)).flatten()
    })
}

/// Returns linker flags that tell a Kubernetes program its version.
fn version_flags(package: &str, version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    format!("-X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Tier; 5] = [Tier::Tracer, Tier::ControlPlane, Tier::Registry, Tier::Node, Tier::Crio];

    #[test]
    fn as_another_user_each_tier_that_needs_root_says_so() {
        for tier in ALL {
            for has in [true, false] {
                let lacking =
                    lacking(tier, Some(User::Other), |_| has).map_err(|missing| missing.to_string());
                match tier {
                    Tier::Node | Tier::Crio => {
                        assert!(lacking.unwrap_err().starts_with("needs root"), "{tier:?}");
                    }
                    Tier::Tracer | Tier::ControlPlane | Tier::Registry => {
                        assert_eq!(lacking.unwrap().is_empty(), has, "{tier:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_readme_names_each_package_that_is_installed() {
        let readme = fs::read_to_string(workspace().join("README.md")).unwrap();
        for package in PACKAGES.iter().map(|(_, package, _)| *package).chain([crate::go::PACKAGE]) {
            assert!(readme.contains(&format!("`{package}`")), "{package}");
        }
    }

    #[test]
    fn root_lacks_packages_only_and_crio_where_it_is_asked_for() {
        for tier in ALL {
            let lacking =
                |has: bool| lacking(tier, Some(User::Root), |_| has).map_err(|missing| missing.to_string());
            assert_eq!(lacking(true), Ok(Vec::new()));
            match tier {
                Tier::Crio => assert!(lacking(false).unwrap_err().starts_with("crio, pinns, ")),
                _ => assert!(lacking(false).unwrap().contains(&"strace")),
            }
        }
    }

    #[test]
    fn a_version_is_found_in_either_form_of_require_and_not_in_replace() {
        let requirements = "require example.com/a v1.2.3\nrequire (\n\texample.com/b v0.4.0 // indirect\n)\nreplace example.com/c => example.com/c v9.0.0\n";
        assert_eq!(pinned(requirements, "example.com/a").as_deref(), Some("v1.2.3"));
        assert_eq!(pinned(requirements, "example.com/b").as_deref(), Some("v0.4.0"));
        assert_eq!(pinned(requirements, "example.com/c"), None);
    }

    #[test]
    fn kubernetes_is_told_its_version() {
        let flags = version_flags("p", "v1.36.3");
        assert_eq!(flags, "-X p.gitVersion=v1.36.3 -X p.gitMajor=1 -X p.gitMinor=36");
    }
}
