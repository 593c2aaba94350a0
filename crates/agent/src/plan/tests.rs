//! What each kind of node gets.

use pullwright_api::ConfigurationFile;
use pullwright_engine::containerd::Daemon;
use pullwright_nodeconfig::kubelet::{KubeletCommand, ServiceUnit};

use super::*;
use crate::facts::{KubeletSettings, KubeletVersion};

const OURS: &str = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\nproviders:\n\
    - {name: crio-credential-provider, apiVersion: credentialprovider.kubelet.k8s.io/v1, matchImages: [quay.io], defaultCacheDuration: 0s}\n";
const ECR: &str = r#"{"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig", "providers": [{"name": "ecr",
    "apiVersion": "credentialprovider.kubelet.k8s.io/v1", "matchImages": ["*.dkr.ecr.*.amazonaws.com"], "defaultCacheDuration": "12h"}]}"#;
const KUBEADM: &str =
    "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS\n";

fn kubelet(minor: u32) -> KubeletFacts {
    KubeletFacts {
        version: KubeletVersion { major: 1, minor },
        command: KubeletCommand::default(),
        settings: KubeletSettings::read(["kind: KubeletConfiguration\n"]).unwrap(),
        service: KubeletService::Unit(ServiceUnit::read([KUBEADM])),
        providers: ExistingProviders::None,
    }
}

fn node(runtime: NodeRuntime, kubelet: KubeletFacts) -> NodeFacts {
    NodeFacts { runtime, containerd: Daemon::default(), kubelet: Some(kubelet) }
}

fn spec(runtime: NodeRuntime, files: &[(&str, &str)]) -> NodeConfigurationSpec {
    let file = |(path, content): &(&str, &str)| ConfigurationFile {
        path: (*path).to_owned(),
        mode: 0o644,
        content: (*content).to_owned(),
    };
    NodeConfigurationSpec {
        runtime,
        files: files.iter().map(file).collect(),
        credential_provider_config: Some(OURS.to_owned()),
    }
}

fn planned(spec: &NodeConfigurationSpec, facts: &NodeFacts) -> Result<Vec<WantedFile>, PlanError> {
    plan(spec, facts, Programs { plugin: b"plugin".to_vec(), images: b"images".to_vec() })
}

fn paths(files: &[WantedFile]) -> Vec<&str> {
    files.iter().map(|file| file.path().as_str()).collect()
}

fn text(files: &[WantedFile], path: &str) -> String {
    let file = files.iter().find(|file| file.path().as_str() == path).unwrap();
    String::from_utf8(file.content().to_vec()).unwrap()
}

#[test]
fn what_others_refer_to_comes_first_and_the_flags_last() {
    let mirrors =
        ("/etc/containers/registries.conf.d/50-pullwright.conf", "[[registry]]\nlocation = \"quay.io\"\n");
    let files = planned(&spec(NodeRuntime::Crio, &[mirrors]), &node(NodeRuntime::Crio, kubelet(36))).unwrap();
    assert_eq!(
        paths(&files),
        [
            "/etc/containers/registries.conf.d/50-pullwright.conf",
            "/opt/pullwright/credential-providers/crio-credential-provider",
            "/etc/pullwright/credential-providers/zz-pullwright.yaml",
            "/etc/systemd/system/kubelet.service.d/90-pullwright.conf",
        ]
    );
    let drop_in = text(&files, layout::KUBELET_DROP_IN);
    assert!(
        drop_in.ends_with(
            "ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS \
             --image-credential-provider-config=/etc/pullwright/credential-providers \
             --image-credential-provider-bin-dir=/opt/pullwright/credential-providers --serialize-image-pulls=false\n"
        ),
        "{drop_in}"
    );
}

#[test]
fn pulls_that_are_parallel_already_need_no_flag() {
    let mut parallel = kubelet(36);
    parallel.settings.serialize_image_pulls = false;
    let files = planned(&spec(NodeRuntime::Crio, &[]), &node(NodeRuntime::Crio, parallel)).unwrap();
    assert!(!text(&files, layout::KUBELET_DROP_IN).contains("serialize"));
}

#[test]
fn containerd_gets_the_image_service_too() {
    let mut with_socket = kubelet(36);
    with_socket.settings.runtime_endpoint = Some("unix:///run/other/containerd.sock".to_owned());
    let mut facts = node(NodeRuntime::Containerd, with_socket);
    facts.containerd.certs_d = "/etc/other/certs.d".into();
    let hosts = ("/etc/containerd/certs.d/quay.io/hosts.toml", "server = \"https://quay.io\"\n");
    let files = planned(&spec(NodeRuntime::Containerd, &[hosts]), &facts).unwrap();
    assert_eq!(paths(&files)[0], "/etc/other/certs.d/quay.io/hosts.toml", "where this containerd looks");
    let unit = text(&files, layout::IMAGES_UNIT_FILE);
    for line in [
        "ExecStart=/opt/pullwright/bin/pullwright-images",
        "Environment=PULLWRIGHT_IMAGES_CONTAINERD=/run/other/containerd.sock",
        "Environment=PULLWRIGHT_IMAGES_CERTS_D=/etc/other/certs.d",
        "Environment=PULLWRIGHT_IMAGES_AUTH_DIR=/run/pullwright/auth",
    ] {
        assert!(unit.lines().any(|found| found == line), "{line} is missing:\n{unit}");
    }
    assert!(!unit.contains("[Install]"), "nothing enables it: {unit}");
    assert!(!unit.contains("crio/auth"), "nothing is left in /etc: {unit}");
    let drop_in = text(&files, layout::KUBELET_DROP_IN);
    assert!(
        drop_in.contains("\nWants=pullwright-images.service\nAfter=pullwright-images.service\n"),
        "{drop_in}"
    );
    assert!(drop_in.contains(" --image-service-endpoint=unix:///run/pullwright/images.sock"), "{drop_in}");
}

#[test]
fn an_image_service_of_others_is_not_replaced() {
    let mut soci = kubelet(36);
    soci.settings.image_service_endpoint = Some("unix:///run/soci.sock".to_owned());
    let facts = node(NodeRuntime::Containerd, soci);
    let refused = planned(&spec(NodeRuntime::Containerd, &[]), &facts).unwrap_err();
    assert!(matches!(&refused, PlanError::ImageService { endpoint } if endpoint == "unix:///run/soci.sock"));
}

#[test]
fn k3s_gets_arguments_and_its_unit_waits_for_the_image_service() {
    let mut inside = kubelet(36);
    inside.service = KubeletService::K3s("k3s-agent.service".to_owned());
    let files = planned(&spec(NodeRuntime::K3s, &[]), &node(NodeRuntime::K3s, inside)).unwrap();
    let arguments = text(&files, layout::K3S_DROP_IN);
    assert!(
        arguments.contains("\nkubelet-arg+:\n  - image-credential-provider-config=/etc/pullwright"),
        "{arguments}"
    );
    assert!(text(&files, "/etc/systemd/system/k3s-agent.service.d/90-pullwright.conf").contains("Wants="));
    assert!(text(&files, layout::IMAGES_UNIT_FILE).contains("=/run/k3s/containerd/containerd.sock\n"));
}

#[test]
fn providers_of_others_stay() {
    let with_ecr = |minor| {
        let mut facts = kubelet(minor);
        facts.command.provider_config = Some("/etc/eks/config.json".into());
        facts.command.provider_bin_dir = Some("/etc/eks/bin".into());
        facts.providers = ExistingProviders::File(ECR.to_owned());
        node(NodeRuntime::Crio, facts)
    };
    let files = planned(&spec(NodeRuntime::Crio, &[]), &with_ecr(36)).unwrap();
    assert_eq!(text(&files, "/etc/pullwright/credential-providers/00-existing.json"), ECR);
    assert_eq!(paths(&files)[0], "/etc/eks/bin/crio-credential-provider", "there is one folder for programs");
    assert!(!paths(&files).contains(&"/etc/eks/config.json"));
    // An older kubelet cannot read a folder.
    let files = planned(&spec(NodeRuntime::Crio, &[]), &with_ecr(33)).unwrap();
    let merged: serde_json::Value = serde_json::from_str(&text(&files, "/etc/eks/config.json")).unwrap();
    let names: Vec<_> =
        merged["providers"].as_array().unwrap().iter().map(|provider| &provider["name"]).collect();
    assert_eq!(names, ["ecr", "crio-credential-provider"]);
}

#[test]
fn nothing_reaches_a_node_that_its_reader_would_refuse() {
    let crio = node(NodeRuntime::Crio, kubelet(36));
    let mut bad = spec(NodeRuntime::Crio, &[]);
    bad.credential_provider_config = Some(OURS.replace("matchImages: [quay.io]", "matchImages: []"));
    assert!(matches!(planned(&bad, &crio), Err(PlanError::Providers(_))));
    bad.credential_provider_config = Some("providers: [".to_owned());
    assert!(matches!(planned(&bad, &crio), Err(PlanError::Yaml { .. })));
    let conf = ("/etc/containers/registries.conf.d/50-pullwright.conf", "[[registry]]\nlocation = 5\n");
    assert!(matches!(planned(&spec(NodeRuntime::Crio, &[conf]), &crio), Err(PlanError::Refused(_))));
    let hosts = ("/etc/containerd/certs.d/quay.io/hosts.toml", "server = \n");
    let containerd = node(NodeRuntime::Containerd, kubelet(36));
    assert!(matches!(
        planned(&spec(NodeRuntime::Containerd, &[hosts]), &containerd),
        Err(PlanError::Hosts { .. })
    ));
    assert!(matches!(planned(&spec(NodeRuntime::K3s, &[]), &containerd), Err(PlanError::Runtime { .. })));
}

#[test]
fn a_configuration_brings_files_about_registries_and_nothing_else() {
    let crio = node(NodeRuntime::Crio, kubelet(36));
    for path in [
        "/etc/cron.d/mine",
        "/etc/systemd/system/mine.service",
        "/etc/containers/registries.conf.d/../../cron.d/mine.conf",
        "/etc/containers/registries.conf.d/mine.sh",
        "/etc/containers/registries.conf.d/deep/mine.conf",
        "/etc/containerd/certs.d/quay.io/hosts.toml",
        "/etc/rancher/k3s/registries.yaml",
        "/var/lib/pullwright/journal.json",
    ] {
        let refused = planned(&spec(NodeRuntime::Crio, &[(path, "")]), &crio);
        assert!(matches!(&refused, Err(PlanError::Outside { .. })), "{path}: {refused:?}");
    }
    let mut program = spec(NodeRuntime::Crio, &[("/etc/containers/registries.conf.d/50-a.conf", "")]);
    assert!(planned(&program, &crio).is_ok());
    program.files[0].mode = 0o755;
    assert!(matches!(planned(&program, &crio), Err(PlanError::Outside { .. })));
    let k3s_facts = KubeletFacts { service: KubeletService::K3s("k3s.service".to_owned()), ..kubelet(36) };
    let config = spec(NodeRuntime::K3s, &[("/etc/rancher/k3s/config.yaml", "")]);
    assert!(matches!(planned(&config, &node(NodeRuntime::K3s, k3s_facts)), Err(PlanError::Outside { .. })));
}

#[test]
fn a_containerd_that_reads_no_hosts_files_is_told_of() {
    let mut facts = node(NodeRuntime::Containerd, kubelet(36));
    facts.containerd = Daemon::read("[plugins.'io.containerd.cri.v1.images']\nsnapshotter = 'overlayfs'\n");
    let hosts = ("/etc/containerd/certs.d/quay.io/hosts.toml", "server = \"https://quay.io\"\n");
    let refused = planned(&spec(NodeRuntime::Containerd, &[hosts]), &facts).unwrap_err().to_string();
    assert!(refused.contains("set config_path") && refused.contains("restart containerd"), "{refused}");
}
