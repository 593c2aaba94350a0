//! The node's services as they are: systemd does things, and the kubelet, its unit and the API server together prove that they worked.

mod evidence;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use pullwright_api::NodeRuntime;
use pullwright_nodefiles::NodeRoot;

use self::evidence::Seen;
use crate::actions::Action;
use crate::layout;
use crate::node::{K3S_UNITS, k3s_unit};
use crate::services::Systemd;
use crate::update::Machine;
use crate::verify::{Verdict, Waits};

/// How often to look.
const LOOK: Duration = Duration::from_secs(1);

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
}

/// A service that has followed changed files, as far as systemd says.
pub(crate) struct Follower {
    unit: String,
    /// If it was restarted: what it was before.
    restarted: Option<Restarted>,
}

/// What tells a unit that was restarted from itself before.
struct Restarted {
    /// The invocation that was to end.
    invocation: String,
    /// When.
    at: Timestamp,
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
        }
    }

    pub(crate) fn systemd(&self) -> &Systemd {
        &self.systemd
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
    async fn kubelet_works(&self, unit: String, before: Restarted) -> Result<(), String> {
        let mut seen = Seen::new(unit, before);
        let mut left = self.wait;
        loop {
            let begun = Instant::now();
            let (waits_for, why) = match self.look(&mut seen).await {
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
            tracing::debug!("waiting for {waits_for:?}: {why}");
        }
    }
}

impl Machine for NodeMachine {
    type Followed = Vec<Follower>;

    async fn kubelet_unit(&self, runtime: NodeRuntime) -> String {
        let unit = match runtime {
            NodeRuntime::K3s => k3s_unit(&self.systemd).await.ok().flatten().map(|(unit, _)| unit),
            NodeRuntime::Crio | NodeRuntime::Containerd => None,
        };
        unit.unwrap_or(layout::KUBELET_UNIT).to_owned()
    }

    fn has_images(&self) -> bool {
        self.root().is_ok_and(|root| root.exists(Path::new(layout::IMAGES_UNIT_FILE)).unwrap_or(false))
    }

    async fn carry_out(&self, actions: &[Action]) -> Result<Self::Followed, String> {
        let mut followed = Vec::new();
        for action in actions {
            if let Action::Restart(unit) | Action::Reload(unit) = action {
                let before = self.systemd.show(unit).await.map_err(|error| error.to_string())?;
                let restarted = Restarted { invocation: before.invocation, at: Timestamp::now() };
                let is_restart = matches!(action, Action::Restart(_));
                followed.push(Follower { unit: unit.clone(), restarted: is_restart.then_some(restarted) });
            }
            tracing::info!(?action, "services follow the files");
            self.systemd.carry_out(action).await.map_err(|error| error.to_string())?;
        }
        Ok(followed)
    }

    async fn proof(&self, followed: Self::Followed) -> Result<(), String> {
        let has_kubelet = |unit: &str| unit == layout::KUBELET_UNIT || K3S_UNITS.contains(&unit);
        for Follower { unit, restarted } in followed {
            match restarted {
                Some(before) if has_kubelet(&unit) => self.kubelet_works(unit, before).await?,
                _ => self.runs(&unit).await?,
            }
        }
        Ok(())
    }
}
