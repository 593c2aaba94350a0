//! Collects what can be seen of a kubelet after its restart: its unit, its flags, its health, its metrics, and its Node.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use kube::Api;
use pullwright_nodeconfig::kubelet::{KubeletCommand, ServiceUnit};
use pullwright_nodefiles::NodeRoot;

use super::{NodeMachine, Restarted};
use crate::facts::{FOLDERS_SINCE, KubeletSettings, KubeletVersion};
use crate::kubelet::{ConfigHash, KubeletEndpoint, Pins, healthz, is_configuration};
use crate::layout;
use crate::node::{K3S_UNITS, arguments, settings};
use crate::services::UnitState;
use crate::verify::{Evidence, Hash, Healthz, Node as NodeSeen, Unit, Verdict, Waits, judge};

/// How long the kubelet must run without an exit. One that refuses its flags or files exits within a second or two.
const STEADY: Duration = Duration::from_secs(10);
/// How long the API server may take to answer a question about one object.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// More than any provider configuration has.
const MOST: u64 = 4 << 20;
/// Where kubelets keep the certificates that they make or request themselves.
const CERTIFICATES: [&str; 3] = [
    "/var/lib/kubelet/pki/kubelet.crt",
    "/var/lib/kubelet/pki/kubelet-server-current.pem",
    "/var/lib/rancher/k3s/agent/serving-kubelet.crt",
];

impl NodeMachine {
    pub(super) async fn look(&self, seen: &mut Seen) -> Verdict {
        let not_yet = |why| Verdict::NotYet { waits_for: Waits::Kubelet, why };
        let state = match self.systemd.show(&seen.unit).await {
            Ok(state) => state,
            Err(error) => return not_yet(error.to_string()),
        };
        let root = match self.root() {
            Ok(root) => root,
            Err(why) => return not_yet(why),
        };
        let unit = seen.look(&state);
        let running = if state.active { running(&root, &seen.unit, &state) } else { None };
        let (node, version) = self.node_seen(seen.before.at).await;
        let Some((command, settings)) = running else {
            let hash = Hash::Unreachable("nothing is known about how it runs".to_owned());
            return judge(&Evidence { unit, healthz: Healthz::Unreachable, node, hash });
        };
        // Before that, the process may still be a copy of systemd, whose flags say nothing about the kubelet's.
        if unit.steady
            && let Some(missed) = missed_flags(&root, &command)
        {
            return Verdict::Broken(missed);
        }
        let healthz = match settings.healthz {
            None => Healthz::Off,
            Some(address) => healthz(address).await.map_or(Healthz::Unreachable, Healthz::Answered),
        };
        // The kubelet shows its metrics only to whom the cluster knows.
        let hash = match &self.client {
            Some(_) => self.hash_seen(&root, &command, &settings, version).await,
            None => Hash::NotExpected,
        };
        judge(&Evidence { unit, healthz, node, hash })
    }

    /// What the API server says about the node, and the kubelet's release.
    async fn node_seen(&self, restarted: Timestamp) -> (Option<NodeSeen>, Option<KubeletVersion>) {
        // Nobody can say otherwise.
        let Some(client) = &self.client else {
            return (Some(NodeSeen { ready: true, since_restart: true }), None);
        };
        let nodes: Api<Node> = Api::all(client.clone());
        let Ok(Ok(node)) = tokio::time::timeout(ANSWERS_WITHIN, nodes.get(&self.node)).await else {
            return (None, None);
        };
        let status = node.status.unwrap_or_default();
        let version = status.node_info.as_ref().and_then(|info| KubeletVersion::parse(&info.kubelet_version));
        let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready");
        let seen = ready.map(|ready| NodeSeen {
            ready: ready.status == "True",
            // Both are this node's clock. The API has full seconds only.
            since_restart: ready
                .last_heartbeat_time
                .as_ref()
                .is_some_and(|beat| beat.0.as_second() >= restarted.as_second()),
        });
        (Some(seen.unwrap_or(NodeSeen { ready: false, since_restart: false })), version)
    }

    /// Which provider configuration the kubelet says that it runs with.
    async fn hash_seen(
        &self,
        root: &NodeRoot,
        command: &KubeletCommand,
        settings: &KubeletSettings,
        version: Option<KubeletVersion>,
    ) -> Hash {
        let Some(wanted) = command.provider_config.as_deref().and_then(|path| expected_hash(root, path))
        else {
            return Hash::NotExpected;
        };
        let named = settings.certificate.as_deref();
        let paths = named.into_iter().chain(CERTIFICATES.iter().map(Path::new).filter(|_| named.is_none()));
        let certificates = paths.filter_map(|path| root.read_within(path, MOST).ok());
        let pins = match Pins::from_pem(certificates) {
            Ok(pins) => pins,
            Err(error) => return Hash::Unreachable(error.to_string()),
        };
        let api = SocketAddr::from((Ipv4Addr::LOCALHOST, settings.port));
        match (KubeletEndpoint { api, token: self.token.clone() }).provider_hash(pins).await {
            Ok(Some(found)) if found == wanted => Hash::Matches,
            Ok(Some(_)) => Hash::Differs,
            Ok(None) => Hash::Absent { too_old: version.is_some_and(|version| version < FOLDERS_SINCE) },
            Err(error) => Hash::Unreachable(error.to_string()),
        }
    }
}

/// The kubelet's unit from look to look.
pub(super) struct Seen {
    unit: String,
    before: Restarted,
    /// Since when it has the same invocation.
    since: Instant,
    invocation: String,
}

impl Seen {
    pub(super) fn new(unit: String, before: Restarted) -> Self {
        Self { unit, before, since: Instant::now(), invocation: String::new() }
    }

    fn look(&mut self, state: &UnitState) -> Unit {
        if state.invocation != self.invocation {
            self.invocation.clone_from(&state.invocation);
            self.since = Instant::now();
        }
        Unit {
            active: state.active,
            failed: state.failed,
            invocation_changed: state.invocation != self.before.invocation,
            restarts: state.restarts,
            steady: self.since.elapsed() >= STEADY,
        }
    }
}

/// How the kubelet runs, if that can be read.
fn running(root: &NodeRoot, unit: &str, state: &UnitState) -> Option<(KubeletCommand, KubeletSettings)> {
    let command = if K3S_UNITS.contains(&unit) {
        // K3s has the kubelet inside; what we told it is in our own file.
        let text = root.read_text_within(Path::new(layout::K3S_DROP_IN), MOST).unwrap_or_default();
        let flags = text.lines().filter_map(|line| line.trim().strip_prefix("- "));
        let flags: Vec<_> = flags.map(|flag| format!("--{flag}")).collect();
        KubeletCommand::parse(flags.iter().map(String::as_str))
    } else {
        let arguments = arguments(root, state.main_pid).ok()?;
        KubeletCommand::parse(arguments.iter().map(String::as_str))
    };
    let settings = settings(root, &command).ok()?;
    Some((command, settings))
}

/// What the kubelet should have been started with and was not: another drop-in with a command of its own comes behind ours.
fn missed_flags(root: &NodeRoot, running: &KubeletCommand) -> Option<String> {
    let text = root.read_text_within(Path::new(layout::KUBELET_DROP_IN), MOST).ok()?;
    let unit = ServiceUnit::read([text.as_str()]);
    let ours = KubeletCommand::parse(unit.exec_start().ok()?.split_whitespace());
    let missed = ours.provider_config.is_some() && ours.provider_config != running.provider_config
        || ours.image_service_endpoint.is_some()
            && ours.image_service_endpoint != running.image_service_endpoint;
    missed.then(|| {
        format!(
            "the kubelet runs without the flags of {}: another drop-in of its unit sets ExecStart after it",
            layout::KUBELET_DROP_IN
        )
    })
}

/// The hash of what is at the path of the kubelet's provider configuration now.
fn expected_hash(root: &NodeRoot, path: &Path) -> Option<ConfigHash> {
    let Ok(names) = root.list(path) else {
        return Some(ConfigHash::of([root.read_within(path, MOST).ok()?]));
    };
    let names = names.iter().filter_map(|name| name.to_str()).filter(|name| is_configuration(name));
    let files: Vec<(String, Vec<u8>)> = names
        .map(|name| Some((name.to_owned(), root.read_within(&path.join(name), MOST).ok()?)))
        .collect::<Option<_>>()?;
    Some(ConfigHash::of_folder(files.iter().map(|(name, content)| (name.as_str(), content.as_slice()))))
}
