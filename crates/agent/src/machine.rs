//! The node's services as they are: systemd does things, and the kubelet, its unit and the API server together prove that they worked.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use pullwright_api::NodeRuntime;
use pullwright_nodeconfig::kubelet::{KubeletCommand, ServiceUnit};
use pullwright_nodefiles::NodeRoot;

use crate::actions::Action;
use crate::facts::{FOLDERS_SINCE, KubeletSettings, KubeletVersion};
use crate::kubelet::{ConfigHash, KubeletEndpoint, Pins, is_configuration};
use crate::layout;
use crate::node::{K3S_UNITS, arguments, settings};
use crate::services::{Systemd, UnitState};
use crate::update::Machine;
use crate::verify::{Evidence, Hash, Healthz, Node as NodeSeen, Unit, Verdict, Waits, judge};

/// How long the kubelet must run without an exit. One that refuses its flags or files exits within a second or two.
const STEADY: Duration = Duration::from_secs(10);
/// How often to look.
const LOOK: Duration = Duration::from_secs(1);
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

/// The services of this node.
#[derive(Clone)]
pub(crate) struct NodeMachine {
    root: PathBuf,
    systemd: Systemd,
    /// Who can say whether the node is Ready; nobody if the node is restored without the cluster.
    client: Option<Client>,
    node: String,
    token: PathBuf,
    wait: Duration,
    /// What each unit was before it was restarted, and when that was.
    before: Arc<Mutex<BTreeMap<String, Before>>>,
}

#[derive(Clone, Default)]
struct Before {
    invocation: String,
    restarted: Option<Timestamp>,
}

impl NodeMachine {
    pub(crate) fn new(root: &Path, client: Option<Client>, node: &str, token: &Path, wait: Duration) -> Self {
        Self {
            root: root.to_owned(),
            systemd: Systemd::new(root),
            client,
            node: node.to_owned(),
            token: token.to_owned(),
            wait,
            before: Arc::default(),
        }
    }

    pub(crate) fn systemd(&self) -> &Systemd {
        &self.systemd
    }

    fn before(&self, unit: &str) -> Before {
        let before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        before.get(unit).cloned().unwrap_or_default()
    }

    fn remember(&self, unit: &str, before: Before) {
        self.before.lock().unwrap_or_else(PoisonError::into_inner).insert(unit.to_owned(), before);
    }

    fn root(&self) -> Result<NodeRoot, String> {
        NodeRoot::at(&self.root).map_err(|error| format!("opening {}: {error}", self.root.display()))
    }

    /// Whether a service that has no way to say that it works at least runs.
    async fn runs(&self, unit: &str) -> Result<(), String> {
        let state = self.systemd.show(unit).await.map_err(|error| error.to_string())?;
        if state.active { Ok(()) } else { Err(format!("{unit} does not run")) }
    }

    /// Waits until the kubelet works. Time in which only the API server is missed does not count.
    async fn kubelet_works(&self, unit: &str) -> Result<(), String> {
        let before = self.before(unit);
        let mut seen =
            Seen { unit: unit.to_owned(), before, since: Instant::now(), invocation: String::new() };
        let mut left = self.wait;
        loop {
            let begun = Instant::now();
            let verdict = self.look(&mut seen).await;
            let (waits_for, why) = match verdict {
                Verdict::Works => return Ok(()),
                Verdict::Broken(why) => return Err(why),
                Verdict::NotYet { waits_for, why } => (waits_for, why),
            };
            tokio::time::sleep(LOOK).await;
            if waits_for == Waits::Kubelet {
                left = left.saturating_sub(begun.elapsed());
            }
            if left.is_zero() {
                return Err(format!(
                    "the kubelet did not work again within {} s: {why}",
                    self.wait.as_secs()
                ));
            }
            tracing::debug!(unit, "waiting for {waits_for:?}: {why}");
        }
    }

    async fn look(&self, seen: &mut Seen) -> Verdict {
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
        let (node, version) = self.node_seen(seen.before.restarted).await;
        let (mut healthz, mut hash) = (Healthz::Unreachable, Hash::Unreachable);
        if let Some((command, settings)) = &running {
            let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let endpoint = KubeletEndpoint {
                healthz: settings.healthz.unwrap_or(local(0)),
                api: local(settings.port),
                token: self.token.clone(),
            };
            healthz = match settings.healthz {
                None => Healthz::Off,
                Some(_) => endpoint.healthz().await.map_or(Healthz::Unreachable, Healthz::Answered),
            };
            // Only now is it certain that these are the flags of the kubelet: before, the process may still be a copy of systemd.
            if healthz == Healthz::Answered(true)
                && let Some(missed) = missed_flags(&root, command)
            {
                return Verdict::Broken(missed);
            }
            // The kubelet shows its metrics only to whom the cluster knows.
            hash = match &self.client {
                Some(_) => hash_seen(&root, &endpoint, command, settings, version).await,
                None => Hash::NotExpected,
            };
        }
        judge(&Evidence { unit, healthz, node, hash })
    }

    /// What the API server says about the node, and the kubelet's release.
    async fn node_seen(&self, restarted: Option<Timestamp>) -> (Option<NodeSeen>, Option<KubeletVersion>) {
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
            since_restart: restarted.is_none_or(|restarted| {
                ready
                    .last_heartbeat_time
                    .as_ref()
                    .is_some_and(|beat| beat.0.as_second() >= restarted.as_second())
            }),
        });
        (Some(seen.unwrap_or(NodeSeen { ready: false, since_restart: false })), version)
    }
}

impl Machine for NodeMachine {
    async fn kubelet_unit(&self, runtime: NodeRuntime) -> String {
        if runtime == NodeRuntime::K3s {
            for unit in K3S_UNITS {
                if self.systemd.show(unit).await.is_ok_and(|state| state.loaded) {
                    return unit.to_owned();
                }
            }
        }
        layout::KUBELET_UNIT.to_owned()
    }

    fn has_images(&self) -> bool {
        self.root().is_ok_and(|root| root.exists(Path::new(layout::IMAGES_UNIT_FILE)).unwrap_or(false))
    }

    async fn carry_out(&self, actions: &[Action]) -> Result<(), String> {
        for action in actions {
            if let Action::Restart(unit) = action {
                let state = self.systemd.show(unit).await.map_err(|error| error.to_string())?;
                let restarted = Some(Timestamp::now());
                self.remember(unit, Before { invocation: state.invocation, restarted });
            }
            tracing::info!(?action, "services follow the files");
            self.systemd.carry_out(action).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    async fn proof(&self, actions: &[Action]) -> Result<(), String> {
        for action in actions {
            match action {
                Action::Restart(unit)
                    if unit == layout::KUBELET_UNIT || K3S_UNITS.contains(&unit.as_str()) =>
                {
                    self.kubelet_works(unit).await?;
                }
                Action::Restart(unit) | Action::Reload(unit) => self.runs(unit).await?,
                Action::DaemonReload | Action::Stop(_) => {}
            }
        }
        Ok(())
    }
}

/// The kubelet's unit from look to look.
struct Seen {
    unit: String,
    before: Before,
    /// Since when it has the same invocation.
    since: Instant,
    invocation: String,
}

impl Seen {
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

async fn hash_seen(
    root: &NodeRoot,
    endpoint: &KubeletEndpoint,
    command: &KubeletCommand,
    settings: &KubeletSettings,
    version: Option<KubeletVersion>,
) -> Hash {
    let Some(wanted) = command.provider_config.as_deref().and_then(|path| expected_hash(root, path)) else {
        return Hash::NotExpected;
    };
    let named = settings.certificate.as_deref();
    let paths = named.into_iter().chain(CERTIFICATES.iter().map(Path::new).filter(|_| named.is_none()));
    let certificates = paths.filter_map(|path| root.read_within(path, MOST).ok());
    let Ok(pins) = Pins::from_pem(certificates) else { return Hash::Unreachable };
    match endpoint.provider_hash(pins).await {
        Ok(Some(found)) if found == wanted => Hash::Matches,
        Ok(Some(_)) => Hash::Differs,
        Ok(None) => Hash::Absent { too_old: version.is_some_and(|version| version < FOLDERS_SINCE) },
        Err(error) => {
            tracing::debug!("asking the kubelet for its metrics: {error}");
            Hash::Unreachable
        }
    }
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
