//! What every node has, whoever starts its programs: namespaces, a control plane, registries and test images.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{
    ControlPlane, Error,
    control_plane::Ports,
    error::Doing,
    image,
    kubectl::Kubectl,
    node::{
        NAME, Root, cgroups,
        journal::Journal,
        namespaces::{Init, Namespaces},
        system,
    },
    process::{Log, Place},
    registry::{Registry, RunningRegistry},
};

/// The part of a node that does not depend on who starts the kubelet and the runtime.
#[derive(Debug)]
pub struct Site<'r> {
    // In the order in which they end.
    registries: Vec<RunningRegistry>,
    control_plane: ControlPlane,
    journal: Journal,
    namespaces: Namespaces,
    begun: Instant,
    laps: Vec<(&'static str, Duration)>,
    /// The program in every test image.
    program: PathBuf,
    root: &'r Root,
}

impl<'r> Site<'r> {
    /// Makes the namespaces with `init` as their first process, and starts etcd and kube-apiserver in them.
    pub(super) fn start(root: &'r Root, program: PathBuf, init: &Init) -> Result<Self, Error> {
        let begun = Instant::now();
        let path = root.path();
        for folder in ["logs", "plugins", "cni"] {
            let folder = path.join(folder);
            fs::create_dir_all(&folder).doing("creating", &folder)?;
        }
        let cni = path.join("cni/10-pods.conflist");
        fs::write(&cni, include_str!("cni.conflist")).doing("writing", &cni)?;
        cgroups::create(&root.cgroup())?;
        let namespaces = Namespaces::create(path, init)?;
        let journal = Journal::start(namespaces.init())?;
        let laps = vec![("namespaces", begun.elapsed())];
        let ports = Ports::usual(namespaces.forward(6443)?);
        let control_plane = ControlPlane::start_at(namespaces.place(), path, ports)?;
        // Every program on the node trusts the registries, as in a company with its own authority.
        let trust = format!("cat {} >> /etc/ssl/certs/ca-certificates.crt", control_plane.ca().display());
        namespaces.place().run("sh", &["-c", &trust])?;
        Ok(Self { registries: Vec::new(), control_plane, journal, namespaces, begun, laps, program, root })
    }

    /// Starts `registries` and the one of the node itself, and returns them all.
    pub(super) fn start_registries(&mut self, registries: &[Registry]) -> Result<Vec<Registry>, Error> {
        let wanted: Vec<_> = registries.iter().cloned().chain([system()]).collect();
        for registry in wanted.iter().cloned() {
            let running = registry.start(self.place(), self.root(), self.control_plane.authority())?;
            self.registries.push(running);
        }
        self.lap("registries");
        Ok(wanted)
    }

    /// Makes a certificate and a kubeconfig for the kubelet, and returns the kubeconfig.
    pub(super) fn kubelet_identity(&self) -> Result<PathBuf, Error> {
        let plane = &self.control_plane;
        plane.authority().server("kubelet-serving", &[NAME, "localhost", "127.0.0.1", "10.123.0.2"])?;
        plane.component_kubeconfig("kubelet", &format!("system:node:{NAME}"), Some("system:nodes"))
    }

    /// Returns the status of the node's condition Ready, or why there is none: `Ok` if it is Ready.
    pub(super) fn ready(&self) -> Result<(), String> {
        let node = self.kubectl().json(&["get", "node", NAME]).map_err(|error| error.to_string())?;
        match condition(&node, "Ready") {
            Some(condition) if condition["status"] == "True" => Ok(()),
            other => Err(format!("its condition Ready is {other:?}")),
        }
    }

    /// Notes that a step of the start is finished.
    pub(super) fn lap(&mut self, what: &'static str) {
        self.laps.push((what, self.begun.elapsed()));
    }

    /// The steps of the start, each with the time when it was finished.
    #[must_use]
    pub fn laps(&self) -> &[(&'static str, Duration)] {
        &self.laps
    }

    /// Everything that the node's programs have sent to the journal so far.
    #[must_use]
    pub fn journal(&self) -> Vec<String> {
        self.journal.entries()
    }

    /// The folder with everything; logs are in `logs`.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The name of the node's cgroup.
    #[must_use]
    pub fn cgroup(&self) -> String {
        self.root.cgroup()
    }

    /// The id of the node's first process.
    #[must_use]
    pub fn init(&self) -> u32 {
        self.namespaces.init()
    }

    /// The place where programs of the node run.
    #[must_use]
    pub fn place(&self) -> Place {
        self.namespaces.place()
    }

    /// The control plane.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    pub(super) fn control_plane_mut(&mut self) -> &mut ControlPlane {
        &mut self.control_plane
    }

    /// `kubectl` as the administrator.
    #[must_use]
    pub fn kubectl(&self) -> Kubectl {
        self.control_plane.kubectl()
    }

    /// The log of one of the services: `kubelet`, `containerd`, `crio`, `registry-<name>`, …
    #[must_use]
    pub fn log(&self, service: &str) -> Log {
        Log::of(&self.root().join("logs"), service)
    }

    /// All registries.
    pub fn registries(&self) -> impl Iterator<Item = &RunningRegistry> {
        self.registries.iter()
    }

    /// The registry called `name`.
    pub fn registry(&self, name: &str) -> Result<&RunningRegistry, Error> {
        self.registries.iter().find(|running| running.registry().name == name).ok_or_else(|| {
            Error::NoProgram {
                program: format!("a registry {name:?}"),
                searched: "the registries of this node".to_owned(),
            }
        })
    }

    /// Pushes a test image to a registry as `repository`, which ends with a tag, and returns its digest, which is different
    /// for every repository.
    pub fn push(&self, registry: &str, repository: &str) -> Result<String, Error> {
        self.registry(registry)?.push(&self.layout(repository)?, repository)
    }

    /// Writes the test image `repository`, which ends with a tag, as an OCI layout.
    pub fn layout(&self, repository: &str) -> Result<PathBuf, Error> {
        let layout = self.layout_folder(repository);
        image::write(&layout, &self.program, repository)?;
        Ok(layout)
    }

    pub(super) fn layout_folder(&self, repository: &str) -> PathBuf {
        self.root().join("images").join(repository.replace(['/', ':'], "-"))
    }
}

/// Returns one of an object's conditions.
fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}
