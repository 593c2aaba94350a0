//! Decides what changed files need to take effect, and in which order. No I/O.

use std::path::Path;

use pullwright_api::NodeRuntime;
use pullwright_engine::containerd::HOSTS_TOML;
use pullwright_nodeconfig::{RUNTIMES, Reload, Runtime};

use crate::layout;

/// Something that systemd is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Read the units again.
    DaemonReload,
    /// Have a service read its files again. It keeps running.
    Reload(String),
    /// Restart a service.
    Restart(String),
    /// Stop a service.
    Stop(String),
}

/// What is on the node apart from the files.
#[derive(Debug, Clone, Copy)]
pub struct Services<'a> {
    /// The runtime.
    pub runtime: NodeRuntime,
    /// The unit with the kubelet.
    pub kubelet: &'a str,
    /// Whether the image service is to run, now that the files are changed.
    pub images: bool,
}

/// The least that has the changed files take effect. The image service comes before the kubelet that needs it, and goes after it.
#[must_use]
pub fn actions<'p>(changed: impl IntoIterator<Item = &'p str>, services: Services<'_>) -> Vec<Action> {
    let (mut units, mut images_unit, mut images, mut kubelet, mut registries) =
        (false, false, false, false, false);
    let row = Runtime::find(RUNTIMES, services.runtime.name());
    for path in changed {
        match part(path, row) {
            Part::Unit => (units, kubelet) = (true, true),
            Part::ImagesUnit => (units, images_unit) = (true, true),
            Part::Images => images = true,
            Part::Kubelet => kubelet = true,
            Part::Registries => registries = true,
            Part::ReadAtUse => {}
        }
    }
    let mut actions = Vec::new();
    if units {
        actions.push(Action::DaemonReload);
    }
    let mut restarts = Vec::new();
    match row.map(|row| row.reload).filter(|_| registries) {
        Some(Reload::Reload(service)) => actions.push(Action::Reload(format!("{service}.service"))),
        // K3s writes containerd's files when it starts, and the kubelet is part of it.
        Some(Reload::Restart(_)) if services.runtime == NodeRuntime::K3s => kubelet = true,
        Some(Reload::Restart(service)) => restarts.push(format!("{service}.service")),
        Some(Reload::Nothing) | None => {}
    }
    if images_unit && services.images {
        restarts.push(layout::IMAGES_UNIT.to_owned());
    } else if images && services.images {
        // It hands its socket over to its new version, and no pull fails.
        actions.push(Action::Reload(layout::IMAGES_UNIT.to_owned()));
    }
    if kubelet {
        restarts.push(services.kubelet.to_owned());
    }
    actions.extend(restarts.into_iter().map(Action::Restart));
    if images_unit && !services.images {
        actions.push(Action::Stop(layout::IMAGES_UNIT.to_owned()));
    }
    actions
}

/// Who reads a file, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// systemd, about the kubelet.
    Unit,
    /// systemd, about the image service.
    ImagesUnit,
    /// The image service, or it is its program.
    Images,
    /// The kubelet, when it starts.
    Kubelet,
    /// The runtime.
    Registries,
    /// Read when it is used: the plugin's program, containerd's `hosts.toml`, containers/image's policy.
    ReadAtUse,
}

fn part(path: &str, runtime: Option<&Runtime>) -> Part {
    let ends = |with: &str| Path::new(path).file_name().is_some_and(|name| name == with);
    match path {
        layout::IMAGES_UNIT_FILE => Part::ImagesUnit,
        layout::IMAGES_PROGRAM => Part::Images,
        layout::K3S_DROP_IN => Part::Kubelet,
        _ if path.starts_with("/etc/systemd/system/") => Part::Unit,
        _ if ends(layout::PLUGIN) || ends(HOSTS_TOML) => Part::ReadAtUse,
        _ if runtime.is_some_and(|row| row.policy == Some(path)) => Part::ReadAtUse,
        _ if runtime.is_some_and(|row| Path::new(path).starts_with(row.folder)) => Part::Registries,
        // The plugin and the image service read registries.conf for every pull.
        _ if path.starts_with("/etc/containers/") => Part::ReadAtUse,
        // What is left of what a plan has is the provider configuration.
        _ => Part::Kubelet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(changed: &[&str], runtime: NodeRuntime, images: bool) -> Vec<String> {
        let services = Services { runtime, kubelet: layout::KUBELET_UNIT, images };
        let name = |action: &Action| match action {
            Action::DaemonReload => "daemon-reload".to_owned(),
            Action::Reload(unit) => format!("reload {unit}"),
            Action::Restart(unit) => format!("restart {unit}"),
            Action::Stop(unit) => format!("stop {unit}"),
        };
        actions(changed.iter().copied(), services).iter().map(name).collect()
    }

    const PROVIDERS: &str = "/etc/pullwright/credential-providers/zz-pullwright.yaml";
    const PLUGIN: &str = "/opt/pullwright/credential-providers/crio-credential-provider";

    #[test]
    fn mirrors_restart_nothing() {
        let hosts =
            ["/etc/containerd/certs.d/quay.io/hosts.toml", "/etc/containers/registries.conf.d/50-a.conf"];
        assert_eq!(names(&hosts, NodeRuntime::Containerd, true), [""; 0]);
        let conf = ["/etc/containers/registries.conf.d/50-pullwright.conf"];
        assert_eq!(names(&conf, NodeRuntime::Crio, false), ["reload crio.service"]);
        assert_eq!(names(&["/etc/containers/policy.json"], NodeRuntime::Crio, false), [""; 0]);
        assert_eq!(names(&[PLUGIN], NodeRuntime::Crio, false), [""; 0]);
    }

    #[test]
    fn only_what_the_kubelet_reads_restarts_it() {
        assert_eq!(names(&[PROVIDERS], NodeRuntime::Crio, false), ["restart kubelet.service"]);
        let flags = [PLUGIN, PROVIDERS, layout::KUBELET_DROP_IN];
        assert_eq!(names(&flags, NodeRuntime::Crio, false), ["daemon-reload", "restart kubelet.service"]);
        assert_eq!(
            names(&["/etc/rancher/k3s/registries.yaml"], NodeRuntime::K3s, true),
            ["restart kubelet.service"]
        );
    }

    #[test]
    fn the_image_service_comes_first_and_goes_last() {
        let all = [layout::IMAGES_PROGRAM, layout::IMAGES_UNIT_FILE, PROVIDERS, layout::KUBELET_DROP_IN];
        assert_eq!(
            names(&all, NodeRuntime::Containerd, true),
            ["daemon-reload", "restart pullwright-images.service", "restart kubelet.service"]
        );
        assert_eq!(
            names(&all, NodeRuntime::Containerd, false),
            ["daemon-reload", "restart kubelet.service", "stop pullwright-images.service"]
        );
        let program = [layout::IMAGES_PROGRAM];
        assert_eq!(names(&program, NodeRuntime::Containerd, true), ["reload pullwright-images.service"]);
    }
}
