//! The files of one row: what each program reads and where it writes.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::load::{Load, request};

/// A node of its own in a folder.
#[derive(Debug)]
pub struct Stage {
    root: PathBuf,
    load: Load,
}

impl Stage {
    /// Writes the files for `load`; the request is made with `token`.
    ///
    /// The folder has the layout that the Go plugin, whose paths are fixed, can be shown as `/etc`, `/var/lib` and `/run`.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn new(root: &Path, load: Load, server: &str, token: &str) -> Result<Self> {
        let (host, port) =
            server.trim_start_matches("https://").split_once(':').context("the server has no port")?;
        let folders =
            ["etc/containers/registries.conf.d", "etc/kubernetes", "lib/kubelet", "run/outcomes", "locks"];
        for folder in folders {
            fs::create_dir_all(root.join(folder))?;
        }
        DirBuilder::new().recursive(true).mode(0o700).create(root.join("etc/crio/auth"))?;
        let address = format!("KUBERNETES_SERVICE_HOST='{host}'\nKUBERNETES_SERVICE_PORT='{port}'\n");
        for (name, content) in [
            ("etc/containers/registries.conf", load.registries_conf()),
            ("etc/kubernetes/apiserver-url.env", address),
            ("lib/kubelet/config.json", r#"{"auths":{"quay.example":{"auth":"dTpw"}}}"#.to_owned()),
            ("request", request(&load, token)),
            ("token", token.to_owned()),
        ] {
            fs::write(root.join(name), content)?;
        }
        Ok(Self { root: root.to_owned(), load })
    }

    /// What it is for.
    #[must_use]
    pub fn load(&self) -> Load {
        self.load
    }

    /// A file or folder of it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Where auth files go.
    #[must_use]
    pub fn auth_dir(&self) -> PathBuf {
        self.path("etc/crio/auth")
    }

    /// What our plugin is started with.
    #[must_use]
    pub fn plugin_arguments(&self, server: &str, ca: &Path) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["--server".into(), server.into()];
        for (option, path) in [
            ("--certificate-authority", ca.to_owned()),
            ("--registries-conf", self.path("etc/containers/registries.conf")),
            ("--registries-conf-dir", self.path("etc/containers/registries.conf.d")),
            ("--auth-dir", self.auth_dir()),
            ("--lock-dir", self.path("locks")),
            ("--global-auth-file", self.path("lib/kubelet/config.json")),
            ("--journal-socket", self.path("run/no-journal")),
            ("--outcomes-dir", self.path("run/outcomes")),
        ] {
            arguments.extend([option.into(), path.into()]);
        }
        // Whoever plays the runtime here may be slower than one.
        arguments.extend(["--remove-unclaimed-after".into(), "60".into()]);
        if self.load.named {
            arguments.extend(["--secrets".into(), "named".into()]);
        }
        arguments
    }

    /// Takes the auth file that a plugin has put, as the runtime would, and ends the sweeper that it left.
    ///
    /// So every run of the plugin starts a sweeper of its own, as it does on a node where nothing else starts at that
    /// moment, and none is at work while another program is measured.
    ///
    /// # Errors
    /// If there is not exactly one file, or its entries are not what the row asks for.
    pub fn claim(&self) -> Result<()> {
        let files: Vec<PathBuf> = fs::read_dir(self.auth_dir())?
            .map(|entry| Ok(entry?.path()))
            .filter(|path: &Result<PathBuf>| !path.as_ref().is_ok_and(|path| path.is_dir()))
            .collect::<Result<_>>()?;
        let [file] = files.as_slice() else { bail!("expected one auth file, found {files:?}") };
        let content: serde_json::Value = serde_json::from_slice(&fs::read(file)?)?;
        let entries = content["auths"].as_object().map_or(0, serde_json::Map::len);
        ensure!(
            entries >= self.load.entries(),
            "the auth file has {entries} entries instead of {}",
            self.load.entries()
        );
        fs::remove_file(file)?;
        self.end_sweeper()
    }

    fn end_sweeper(&self) -> Result<()> {
        let locks = self.path("locks");
        for entry in fs::read_dir("/proc")? {
            let Some(pid) =
                entry?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
            else {
                continue;
            };
            let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { continue };
            let line = String::from_utf8_lossy(&line);
            if line.contains(" sweep ".replace(' ', "\0").as_str())
                && line.contains(&*locks.to_string_lossy())
            {
                // One that has ended by itself is as good.
                let _ = kill_process(pid, Signal::KILL);
                wait_for(pid);
            }
        }
        Ok(())
    }
}

/// Waits until a sweeper is gone. It is our child once its plugin has ended, if we asked for that.
fn wait_for(pid: Pid) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        match waitpid(Some(pid), WaitOptions::NOHANG) {
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Ok(Some(_)) | Err(_) => return,
        }
    }
}
