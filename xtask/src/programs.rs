//! The real programs that tests use: Go programs are built once into a cache, Debian packages are installed when missing.

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

use crate::cargo::{cache, workspace};

/// How much of a cluster is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    /// A tracer that can kill a program at each of its system calls, and a counter of its instructions.
    Tracer,
    /// etcd and kube-apiserver; needs Go.
    ControlPlane,
    /// The same and registries to pull from; needs Debian's packages for them.
    Registry,
    /// A whole node with containerd; needs root and Debian's packages besides.
    Node,
    /// A whole node with CRI-O, which no package brings to every machine.
    Crio,
}

/// Why a tier cannot run here, in one line.
#[derive(Debug)]
pub(crate) struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The programs of a tier, all there.
#[derive(Debug)]
pub(crate) struct Programs {
    folders: Vec<PathBuf>,
}

impl Programs {
    /// Tells a command where the programs are.
    pub(crate) fn pass_to(&self, command: &mut Command) {
        command.env("PULLWRIGHT_PROGRAMS", self.path());
    }

    fn path(&self) -> OsString {
        env::join_paths(&self.folders).unwrap_or_default()
    }
}

/// Go programs of one module, required with its version by `tools/<folder>/go.mod`.
struct Module {
    folder: &'static str,
    path: &'static str,
    /// Each program's name, its package in the module, and the first tier that needs it.
    programs: &'static [(&'static str, &'static str, Tier)],
    tags: &'static str,
    /// The package whose variables hold the version; the module system does not tell Kubernetes its own.
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

/// Programs that Debian has, with the packages they come in and the first tier that needs them.
const PACKAGES: [(&str, &str, Tier); 10] = [
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
];

/// What a machine brings along where CRI-O is at home.
const CRIO: [&str; 3] = ["crio", "pinns", "go-crio-credential-provider"];

/// `cargo xtask programs [control-plane]`: makes them all, and says where the Go programs are.
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

/// Builds and installs what `tier` needs and is not there yet.
pub(crate) fn ensure(tier: Tier) -> Result<Programs, Missing> {
    if tier >= Tier::Crio {
        require_crio()?;
    }
    if tier >= Tier::Node {
        require_root()?;
    }
    install_packages(tier)?;
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

fn require_crio() -> Result<(), Missing> {
    let absent: Vec<_> = CRIO.into_iter().filter(|program| find(program).is_none()).collect();
    if absent.is_empty() {
        return Ok(());
    }
    let absent = absent.join(", ");
    Err(Missing(format!("{absent} not on this machine (searched TEST_NODE_BIN and PATH)")))
}

fn require_root() -> Result<(), Missing> {
    // The owner of /proc/self is the effective user.
    let owner = fs::metadata("/proc/self").map(|folder| std::os::unix::fs::MetadataExt::uid(&folder));
    match owner {
        Ok(0) => Ok(()),
        Ok(_) => Err(Missing("not root: namespaces, mounts and cgroups need it".to_owned())),
        Err(_) => Err(Missing("no /proc: a node needs Linux".to_owned())),
    }
}

fn install_packages(tier: Tier) -> Result<(), Missing> {
    let wanted = PACKAGES.iter().filter(|(program, _, from)| tier >= *from && find(program).is_none());
    let absent: Vec<_> = wanted.map(|(_, package, _)| *package).collect();
    if absent.is_empty() {
        return Ok(());
    }
    let names = absent.join(" ");
    if find("apt-get").is_none() {
        return Err(Missing(format!(
            "no apt-get to install {names} with: install what holds them here by hand"
        )));
    }
    eprintln!("installing {names}");
    let apt = |args: &[&str]| {
        let output = Command::new("apt-get").args(args).env("DEBIAN_FRONTEND", "noninteractive").output();
        output.is_ok_and(|output| output.status.success())
    };
    let install = [&["install", "--yes", "--no-install-recommends"], absent.as_slice()].concat();
    if apt(&install) || (apt(&["update"]) && apt(&install)) {
        return Ok(());
    }
    Err(Missing(format!("`apt-get install {names}` failed; run it by hand to see why")))
}

/// A module at the version our go.mod pins.
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
                .map_err(|error| Missing(format!("tools/{}/{file}: {error}", module.folder)))
        };
        let (requirements, sums) = (read("go.mod")?, read("go.sum")?);
        let version = pinned(&requirements, module.path).ok_or_else(|| {
            Missing(format!("tools/{}/go.mod does not require {}", module.folder, module.path))
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

    /// The folder's name in the cache: another for every version, dependency or flag.
    fn key(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.sums, &self.linker, self.tags).hash(&mut hasher);
        let name = self.folder.file_name().unwrap_or_default().display();
        format!("{name}-{}-{:016x}", self.version, hasher.finish())
    }

    /// Builds one program into `folder` unless it is there.
    fn build(&self, name: &str, package: &str, folder: &Path) -> Result<(), Missing> {
        let failed = |why: &dyn fmt::Display| Missing(format!("building {name} {}: {why}", self.version));
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        // Two runs that start together build once.
        let lock = File::create(folder.join(".lock")).map_err(|error| failed(&error))?;
        lock.lock().map_err(|error| failed(&error))?;
        let (partial, program) = (folder.join(format!(".{name}.partial")), folder.join(name));
        if program.exists() {
            return Ok(());
        }
        if find("go").is_none() {
            return Err(Missing(format!("no go to build {name} with")));
        }
        eprintln!("building {name} {} (once; takes minutes)", self.version);
        let begun = Instant::now();
        let mut command = Command::new("go");
        command.args(["build", "-v", "-trimpath", "-tags", self.tags, "-ldflags", &self.linker, "-o"]);
        command.arg(&partial).arg(format!("{}{package}", self.module));
        command.current_dir(&self.folder).env("CGO_ENABLED", "0").stderr(Stdio::piped());
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

/// The version of `module` that a go.mod requires.
fn pinned(requirements: &str, module: &str) -> Option<String> {
    let mut words = requirements.lines().map(|line| line.trim_start_matches("require").split_whitespace());
    words.find_map(|mut words| {
        (words.next() == Some(module)).then(|| words.next().map(str::to_owned)).flatten()
    })
}

/// Linker flags that tell a Kubernetes program its version.
fn version_flags(package: &str, version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    format!("-X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}")
}

/// A program on this machine; the same search as the testkit's.
fn find(program: &str) -> Option<PathBuf> {
    let folders = ["TEST_NODE_BIN", "PATH"].iter().filter_map(env::var_os);
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders: Vec<_> =
        folders.flat_map(|paths| env::split_paths(&paths).collect::<Vec<_>>()).chain(system).collect();
    // An absolute name stays as it is.
    folders.iter().map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::{pinned, version_flags};

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
