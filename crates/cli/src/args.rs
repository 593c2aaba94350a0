//! The arguments, which are also the help, the completions and the man page.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use pullwright_engine::kubelet::PLUGIN;
use pullwright_engine::registries::{ShortNameMode, ShortNameRule};
use pullwright_registry::Platform;

use crate::lint::FileKind;

const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  findings: a problem in a file, an object or a cluster, a pull that cannot work, or a change that diff found
  2  invalid usage, an input that cannot be read, or a cluster that cannot be asked";

/// Show how a Kubernetes node pulls an image: from where, with which credential, and why.
///
/// All input comes from files: a node's file system (this machine's, or the one that --root names) and Kubernetes manifests.
/// Only `pull` and `status` use the network. Passwords are never printed.
#[derive(Debug, Parser)]
#[command(name = "pullwright", version, after_help = EXIT_CODES)]
pub struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the full plan of a pull: the sources in order, the credential for each, and the reasons
    Explain(Explain),
    /// Show only where an image is pulled from, one reference per line
    Resolve(Resolve),
    /// Pull an image the way the node would, into an OCI layout
    Pull(Box<Pull>),
    /// Render mirror sets as the files that a node reads: registries.conf, or those of containerd and k3s
    Render(Box<crate::render::Arguments>),
    /// Show what mirror sets would change on a node, and what that affects
    Diff(Box<crate::diff::Arguments>),
    /// Check registries.conf, credential provider configurations, auth files, Secrets and mirror sets
    Lint(Lint),
    /// Convert deprecated resources to the kinds that replace them
    Migrate(crate::migrate::Arguments),
    /// Convert containerd's hosts.toml or k3s's registries.yaml to mirror sets
    Import(crate::import::Arguments),
    /// Print the Role and `RoleBinding` with which the plugin may read the pull secrets of a namespace
    Rbac(crate::rbac::Arguments),
    /// Show what a cluster's operator made of mirror sets and the other objects: what is where, what waits, what failed and why
    Status(crate::status::Arguments),
    /// Print a completion script for your shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page; view it with `man -l -`
    Man,
}

/// `pullwright explain`
#[derive(Debug, Args)]
pub(crate) struct Explain {
    // Before the groups: whatever follows one is listed under its heading.
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) request: PullArguments,
}

/// A Pod's pull, and the files that decide it.
#[derive(Debug, Args)]
pub(crate) struct PullArguments {
    /// The image, as a Pod's spec names it
    pub(crate) image: String,
    /// The Pod's namespace
    #[arg(short, long, value_name = "NAME", default_value = "default")]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) node: NodeArguments,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

/// `pullwright resolve`
#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The image, as a Pod's spec names it
    pub(crate) image: String,
    /// Manifests with mirror sets and Image/cluster, which replace registries.conf: a file, a folder, or `-` for standard input
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) manifests: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) node: NodeArguments,
}

/// `pullwright pull`
#[derive(Debug, Args)]
pub(crate) struct Pull {
    /// The folder to pull into: an existing OCI layout, or a new or empty folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) to: PathBuf,
    /// The platform to pull, as OS/ARCHITECTURE[/VARIANT] [default: Linux on this machine's architecture]
    #[arg(long, conflicts_with = "all_platforms")]
    pub(crate) platform: Option<Platform>,
    /// Pull all platforms
    #[arg(long)]
    pub(crate) all_platforms: bool,
    /// A PEM file with certificate authorities to trust in addition to the system's; can be repeated
    #[arg(long = "ca", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) authorities: Vec<PathBuf>,
    /// How many blobs to download at the same time
    #[arg(long, value_name = "NUMBER", default_value = "6")]
    pub(crate) parallel: NonZeroUsize,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) request: PullArguments,
}

/// `pullwright lint`
#[derive(Debug, Args)]
pub(crate) struct Lint {
    /// The files to check; `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present_any = ["root", "manifests", "rules"])]
    pub(crate) files: Vec<PathBuf>,
    /// What kind of file they are, instead of guessing from name and content
    #[arg(long = "as", value_name = "KIND", requires = "files")]
    pub(crate) kind: Option<FileKind>,
    /// Check the configuration of the node whose file system is in this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
    /// Check the Secrets and mirror sets in the YAML and JSON files of this folder
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) manifests: Option<PathBuf>,
    /// List every rule that a finding can name, with what it means and what to do, and check nothing
    #[arg(long, conflicts_with_all = ["files", "root", "manifests"])]
    pub(crate) rules: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A node's files. With `--root`, all other paths are paths on the node.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Node")]
pub(crate) struct NodeArguments {
    /// The folder with the node's file system [default: this machine]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
    /// The registries.conf file [default: where the container runtime looks for it]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) registries_conf: Option<PathBuf>,
    /// The folder with drop-ins of registries.conf [default: where the container runtime looks for them]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) registries_conf_dir: Option<PathBuf>,
    /// How CRI-O treats a name without a registry that could mean several images [default: the setting in crio.conf and its
    /// drop-ins, or else enforcing]
    #[arg(long, value_name = "MODE", value_enum)]
    pub(crate) short_name_mode: Option<ShortNames>,
}

/// CRI-O's modes for short names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShortNames {
    /// Reject the name
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

impl NodeArguments {
    /// Whether the arguments name a node, instead of meaning this machine.
    pub(crate) fn is_named(&self) -> bool {
        self.root.is_some() || self.registries_conf.is_some() || self.registries_conf_dir.is_some()
    }
}

/// Which credentials there are, and when the plugin runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Credentials")]
pub(crate) struct ClusterArguments {
    /// Manifests with Secrets and mirror sets: a file, a folder with YAML and JSON files, or `-` for standard input. Mirror
    /// sets replace registries.conf; a Secret without a namespace belongs to "default"
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) manifests: Option<PathBuf>,
    /// The node's own auth file [default: /var/lib/kubelet/config.json, if it exists]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) global_auth_file: Option<PathBuf>,
    /// The kubelet's credential provider configuration: a file or a folder [default:
    /// /etc/kubernetes/credential-provider-config.yaml or /etc/kubernetes/credential-providers, if it exists]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) provider_config: Option<PathBuf>,
    /// The name of the plugin in that configuration
    #[arg(long, value_name = "NAME", default_value = PLUGIN)]
    pub(crate) plugin_name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// The output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// For programs, and easier to read than JSON
    Yaml,
}
