//! The arguments, which are also the help, the completions and the man page.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use pullwright_engine::registries::{ShortNameMode, ShortNameRule};
use pullwright_registry::Platform;

use crate::lint::FileKind;

const EXIT_CODES: &str = "\
Exit codes:
  0  all is well
  1  findings: lint found something, the pull cannot work, an object is not applied whole, or diff found a difference
  2  wrong usage, or an input that cannot be read";

/// Says how a Kubernetes node pulls an image: where from, with whose credential, and why.
///
/// Everything is read from files: a node's file system (this machine's, or one below --root) and manifests of the
/// cluster. Only `pull` asks anything over the network, and no password is ever printed.
#[derive(Debug, Parser)]
#[command(name = "pullwright", version, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the whole plan of a pull: sources in order, the credential for each, and the reasons
    Explain(Explain),
    /// Show only where an image is pulled from, one reference a line
    Resolve(Resolve),
    /// Pull an image as the node would, into a folder (an OCI layout)
    Pull(Box<Pull>),
    /// Make a node's files from mirror sets: registries.conf, or what containerd and k3s read
    Render(Box<crate::render::Arguments>),
    /// Show what mirror sets would change on a node, and who could notice
    Diff(Box<crate::diff::Arguments>),
    /// Check registries.conf, credential provider configurations, auth files, Secrets and mirror sets
    Lint(Lint),
    /// Replace objects of kinds that go by those of the kinds that come
    Migrate(crate::migrate::Arguments),
    /// Make mirror sets of containerd's hosts.toml or K3s's registries.yaml
    Import(crate::import::Arguments),
    /// Print a completion script
    Completions {
        /// The shell to complete in
        shell: Shell,
    },
    /// Print the manual page, for `man -l -`
    Man,
}

/// `pullwright explain`
#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A pull by a Pod, and what decides it.
#[derive(Debug, Args)]
pub(crate) struct Wanted {
    /// The image as a Pod names it
    pub(crate) image: String,
    /// The Pod's namespace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) node: Node,
    #[command(flatten)]
    pub(crate) cluster: Cluster,
}

/// `pullwright resolve`
#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The image as a Pod names it
    pub(crate) image: String,
    /// Manifests, of which mirror sets and Image cluster count: they take the place of registries.conf
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) manifests: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) node: Node,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `pullwright pull`
#[derive(Debug, Args)]
pub(crate) struct Pull {
    #[command(flatten)]
    pub(crate) wanted: Wanted,
    /// The folder to pull into: an OCI layout, or a new or empty folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,
    /// Which image of an index, as OS/ARCHITECTURE[/VARIANT] [default: Linux on this machine's processor]
    #[arg(long, conflicts_with = "all_platforms")]
    pub(crate) platform: Option<Platform>,
    /// All images of an index
    #[arg(long)]
    pub(crate) all_platforms: bool,
    /// A PEM file of certificate authorities to trust besides the system's; may be given several times
    #[arg(long = "ca", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) authorities: Vec<PathBuf>,
    /// How many blobs to fetch at the same time
    #[arg(long, value_name = "NUMBER", default_value = "6")]
    pub(crate) parallel: NonZeroUsize,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `pullwright lint`
#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// The files to check, `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present_any = ["root", "manifests", "rules"])]
    pub(crate) files: Vec<PathBuf>,
    /// What the files are, instead of telling by name and content
    #[arg(long = "as", value_name = "KIND", requires = "files")]
    pub(crate) kind: Option<FileKind>,
    /// Check the configuration of the node whose file system is below this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
    /// Check the Secrets and mirror sets among the YAML and JSON files below a folder
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) manifests: Option<PathBuf>,
    /// List every rule that a finding can name, with what it means and what to do, and check nothing
    #[arg(long, conflicts_with_all = ["files", "root", "manifests"])]
    pub(crate) rules: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A node's files. With `--root`, all other paths are those on the node.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "The node")]
pub(crate) struct Node {
    /// The folder that holds the node's file system [default: this machine]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
    /// registries.conf [default: where the container runtime finds it]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registries_conf: Option<PathBuf>,
    /// The folder of its drop-ins [default: where the container runtime finds them]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) registries_conf_dir: Option<PathBuf>,
    /// What CRI-O does about a name without a registry that may stand for several images [default: what crio.conf and its
    /// drop-ins say, or else enforcing]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) short_name_mode: Option<ShortNames>,
}

/// What CRI-O can be told about short names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShortNames {
    /// Refuse the name
    Enforcing,
    /// Try the images in order, as CRI-O up to 1.33 always does
    Disabled,
}

impl From<ShortNames> for ShortNameRule {
    fn from(mode: ShortNames) -> Self {
        let mode = match mode {
            ShortNames::Enforcing => ShortNameMode::Enforcing,
            ShortNames::Disabled => ShortNameMode::Disabled,
        };
        Self { mode, origin: None }
    }
}

impl Node {
    /// Whether any node is named at all, and not only this machine meant.
    pub(crate) fn is_named(&self) -> bool {
        self.root.is_some() || self.registries_conf.is_some() || self.registries_conf_dir.is_some()
    }
}

/// Whose credentials there are, and when the plugin runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Credentials")]
pub(crate) struct Cluster {
    /// Manifests, of which Secrets and mirror sets count: a folder with YAML and JSON files, one file, or `-` for
    /// standard input; a Secret without a namespace is in "default", mirror sets take the place of registries.conf
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) manifests: Option<PathBuf>,
    /// The node's own auth file [default: /var/lib/kubelet/config.json, if it is there]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) global_auth_file: Option<PathBuf>,
    /// The kubelet's credential provider configuration, a file or a folder [default:
    /// /etc/kubernetes/credential-provider-config.yaml or /etc/kubernetes/credential-providers, if there]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) provider_config: Option<PathBuf>,
    /// The plugin's name in that configuration
    #[arg(long, value_name = "NAME", default_value = "crio-credential-provider")]
    pub(crate) plugin_name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// How to print the answer
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// How an answer is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// For programs that people read
    Yaml,
}
