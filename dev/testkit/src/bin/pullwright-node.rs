//! A node for developing: `up`, `down`, `status`, `kubectl`, `logs`. `cargo xtask node` runs this program.

use std::{
    env,
    error::Error,
    fs::{self, File},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
    time::Duration,
};

use pullwright_testkit::{
    node::{MIRROR_LOGIN, Node, Options, Root, Runtime, Site, SystemdNode, SystemdOptions},
    process::wait_until,
    programs::find,
};
use rustix::process::{Pid, Signal, kill_process};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask node up [--runtime containerd|containerd-with-images|crio] [--plugin PROGRAM | --systemd]
       cargo xtask node down | status | kubectl ARGS... | logs [NAME]";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = Root::usual_parent().join("at-hand");
    let outcome = match words.as_slice() {
        ["up", options @ ..] => parse(options).and_then(|options| up(&root, &options)),
        ["serve", options @ ..] => parse(options).and_then(|options| serve(&root, &options)),
        ["down"] => down(&root),
        ["status"] => status(&root),
        ["kubectl", rest @ ..] => kubectl(&root, rest),
        ["logs"] => names_of_logs(&root),
        ["logs", name] => logs(&root, name),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The options of `up`.
struct Wanted {
    runtime: Runtime,
    by: StartedBy,
}

/// Who starts the kubelet and the runtime.
enum StartedBy {
    /// This program, with a plugin for `docker.io`.
    Us { plugin: PathBuf },
    /// systemd, as after `kubeadm join`.
    Systemd,
}

impl Wanted {
    fn words(&self) -> Vec<String> {
        let runtime = ["--runtime".into(), self.runtime.to_string()];
        let by = match &self.by {
            StartedBy::Us { plugin } => vec!["--plugin".into(), plugin.display().to_string()],
            StartedBy::Systemd => vec!["--systemd".into()],
        };
        runtime.into_iter().chain(by).collect()
    }
}

fn parse(mut options: &[&str]) -> Outcome<Wanted> {
    let (mut runtime, mut plugin, mut systemd) = (Runtime::Containerd, None, false);
    loop {
        options = match options {
            [] => break,
            ["--runtime", value, rest @ ..] => {
                runtime = value.parse()?;
                rest
            }
            ["--plugin", value, rest @ ..] => {
                plugin = Some(fs::canonicalize(value)?);
                rest
            }
            ["--systemd", rest @ ..] => {
                systemd = true;
                rest
            }
            _ => return Err(USAGE.into()),
        };
    }
    if systemd {
        return if plugin.is_none() {
            Ok(Wanted { runtime, by: StartedBy::Systemd })
        } else {
            Err(USAGE.into())
        };
    }
    let usual = || match runtime {
        Runtime::ContainerdWithImages => find("crio-credential-provider"),
        Runtime::Containerd => Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/stand-in-plugin.sh")),
        Runtime::Crio => find("go-crio-credential-provider"),
    };
    let plugin = plugin.map_or_else(usual, Ok)?;
    Ok(Wanted { runtime, by: StartedBy::Us { plugin } })
}

/// Starts a background process that runs the node, and waits until the node is ready.
fn up(root: &Path, wanted: &Wanted) -> Outcome {
    let parent = Root::usual_parent();
    Root::sweep(&parent)?;
    if Root::owner(root).is_some() {
        return status(root);
    }
    fs::create_dir_all(&parent)?;
    let log = parent.join("at-hand.log");
    let output = File::create(&log)?;
    let mut command = Command::new("setsid");
    command.arg(env::current_exe()?).arg("serve").args(wanted.words());
    let mut child = command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()?;
    wait_until("the node is up", Duration::from_mins(3), || {
        let ended = child.try_wait().ok().flatten().is_some();
        if ended || root.join("ready").exists() { Ok(()) } else { Err(format!("see {}", log.display())) }
    })?;
    print!("{}", fs::read_to_string(&log)?);
    status(root)
}

/// Runs the node until this process is killed; the node ends with it.
fn serve(root: &Path, wanted: &Wanted) -> Outcome {
    let root = Root::claim(root)?;
    match &wanted.by {
        StartedBy::Us { plugin } => {
            let node = Node::start(&root, &Options::new(wanted.runtime, plugin))?;
            for image in ["library/first:1", "library/second:1"] {
                node.push("mirror", image)?;
            }
            fs::write(
                node.file("/etc/kubernetes/stand-in.login"),
                format!("{} {}\n", MIRROR_LOGIN.user, MIRROR_LOGIN.password),
            )?;
            let registries = "docker.io is a registry with library/first:1 and library/second:1";
            keep(&node, &format!("node with {} is up; {registries}", wanted.runtime))
        }
        StartedBy::Systemd => {
            let node = SystemdNode::start(&root, &SystemdOptions::new(wanted.runtime))?;
            let enter = format!("enter it with nsenter -t {} -m -n -p -i -u", node.init());
            keep(&node, &format!("node with {} is up under systemd; {enter}", wanted.runtime))
        }
    }
}

/// Says that the node is ready, and waits for ever.
fn keep(site: &Site<'_>, what: &str) -> Outcome {
    for (what, after) in site.laps() {
        println!("{:6.2} s  {what}", after.as_secs_f64());
    }
    fs::write(site.root().join("ready"), what)?;
    loop {
        thread::park();
    }
}

fn down(root: &Path) -> Outcome {
    if let Some(owner) = Root::owner(root).and_then(|owner| Pid::from_raw(owner.cast_signed())) {
        kill_process(owner, Signal::KILL)?;
        wait_until("the node's process has ended", Duration::from_secs(10), || {
            Root::owner(root).map_or(Ok(()), |owner| Err(format!("process {owner} runs")))
        })?;
    }
    Ok(Root::sweep(&Root::usual_parent())?)
}

fn status(root: &Path) -> Outcome {
    let owner = Root::owner(root).ok_or("no node is up; `cargo xtask node up` starts one")?;
    let what = fs::read_to_string(root.join("ready")).map_err(|_| "the node is not ready yet")?;
    println!("{what} (process {owner})");
    println!("export KUBECONFIG={}", root.join("admin.kubeconfig").display());
    Ok(())
}

fn kubectl(root: &Path, args: &[&str]) -> Outcome {
    let mut command = Command::new(find("kubectl")?);
    command.env("KUBECONFIG", root.join("admin.kubeconfig"));
    // Its cache of this API server must not be used for the next one.
    command.env("KUBECACHEDIR", root.join("admin.cache"));
    Err(command.args(args).exec().into())
}

fn names_of_logs(root: &Path) -> Outcome {
    for entry in fs::read_dir(root.join("logs"))? {
        let path = entry?.path();
        println!("{}", path.file_stem().unwrap_or_default().display());
    }
    Ok(())
}

fn logs(root: &Path, name: &str) -> Outcome {
    let path = root.join("logs").join(format!("{name}.log"));
    print!("{}", fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?);
    Ok(())
}
