//! What the agent counts, for Prometheus.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use pullwright_outcomes::Reason;

use crate::report::Progress;

/// The counters of one agent.
#[derive(Clone)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    looks: Family<Looked, Counter>,
    ready: Gauge,
    plugin_runs: Family<Ended, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Looked {
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    reason: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("pullwright_agent");
        let (looks, ready) = (Family::<Looked, Counter>::default(), Gauge::default());
        registry.register(
            "looks",
            "How often the agent compared the node with what it should have, by result",
            looks.clone(),
        );
        registry.register("ready", "Whether the node has what it should have", ready.clone());
        let plugin_runs = Family::<Ended, Counter>::default();
        let help = "Runs of the credential provider plugin on this node, by how they ended";
        registry.register("plugin_runs", help, plugin_runs.clone());
        Self { registry: Arc::new(registry), looks, ready, plugin_runs }
    }
}

impl Metrics {
    pub(crate) fn looked(&self, progress: &Progress) {
        self.looks.get_or_create(&Looked { result: progress.reason() }).inc();
        self.ready.set(i64::from(*progress == Progress::Applied));
    }

    /// Takes over how many runs of the plugin ended for each reason. The numbers only grow.
    pub(crate) fn plugin(&self, counted: impl Iterator<Item = (Reason, u64)>) {
        for (reason, runs) in counted {
            let total = self.plugin_runs.get_or_create(&Ended { reason: reason.name() });
            total.inc_by(runs.saturating_sub(total.get()));
        }
    }

    /// Everything in the text format of `OpenMetrics`.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into memory does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
