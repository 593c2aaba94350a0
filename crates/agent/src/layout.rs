//! Where the agent puts what it brings to a node.

/// The kubelet's unit, where it has one of its own.
pub(crate) const KUBELET_UNIT: &str = "kubelet.service";
/// The drop-in with the kubelet's further flags. It comes behind those of distributions, whose command it repeats.
pub(crate) const KUBELET_DROP_IN: &str = "/etc/systemd/system/kubelet.service.d/90-pullwright.conf";
/// The same for K3s, which has the kubelet inside: arguments for it.
pub(crate) const K3S_DROP_IN: &str = "/etc/rancher/k3s/config.yaml.d/90-pullwright.yaml";
/// The plugin's name, which is also the provider's.
pub(crate) const PLUGIN: &str = "crio-credential-provider";
/// The image service in front of containerd.
pub(crate) const IMAGES: &str = "pullwright-images";
pub(crate) const IMAGES_UNIT: &str = "pullwright-images.service";
pub(crate) const IMAGES_UNIT_FILE: &str = "/etc/systemd/system/pullwright-images.service";
pub(crate) const IMAGES_PROGRAM: &str = "/opt/pullwright/bin/pullwright-images";
pub(crate) const IMAGES_ENDPOINT: &str = "unix:///run/pullwright/images.sock";
/// Folders in which everything is ours.
const OWN_FOLDERS: [&str; 3] = ["/etc/pullwright/", "/opt/pullwright/", "unix:///run/pullwright/"];

/// Whether a flag's value leads to something of ours.
pub(crate) fn is_own(value: &str) -> bool {
    OWN_FOLDERS.iter().any(|folder| value.starts_with(folder))
}

/// The drop-in that has K3s start the image service first.
pub(crate) fn k3s_unit_drop_in(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}.d/90-pullwright.conf")
}
