//! What the operator counts, for `/metrics`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::category::Category;

/// The counters. Copies count into the same ones.
#[derive(Debug, Clone)]
pub struct Metrics {
    leads: Gauge,
    reconciles: Family<Controller, Counter>,
    errors: Family<ErrorLabels, Counter>,
    writes: Family<WriteLabels, Counter>,
    watch_errors: Family<WatchLabels, Counter>,
    objects: Family<ObjectLabels, Gauge>,
    nodes: Family<NodeLabels, Gauge>,
    seconds: Family<Controller, Counter<f64, AtomicU64>>,
    registry: Arc<Registry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Controller {
    controller: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    controller: &'static str,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    kind: String,
    verb: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    kind: &'static str,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    kind: &'static str,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct NodeLabels {
    runtime: String,
    state: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("pullwright_operator");
        let mut this = Self {
            leads: Gauge::default(),
            reconciles: Family::default(),
            errors: Family::default(),
            writes: Family::default(),
            watch_errors: Family::default(),
            objects: Family::default(),
            nodes: Family::default(),
            seconds: Family::default(),
            registry: Arc::default(),
        };
        registry.register("leads", "1 if this replica leads", this.leads.clone());
        registry.register("reconciles", "Passes over everything", this.reconciles.clone());
        registry.register("reconcile_seconds", "Time that passes took", this.seconds.clone());
        registry.register("errors", "Failures by reason", this.errors.clone());
        registry.register("writes", "Writes that the API server took", this.writes.clone());
        registry.register("watch_errors", "Interruptions of watches", this.watch_errors.clone());
        registry.register(
            "objects",
            "Objects in memory by state: readable, unparsable",
            this.objects.clone(),
        );
        registry.register(
            "nodes",
            "Nodes by runtime and state: updated, waiting, failed",
            this.nodes.clone(),
        );
        this.registry = Arc::new(registry);
        this
    }
}

impl Metrics {
    /// Everything as `OpenMetrics` text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _infallible = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }

    pub(crate) fn reconciled(&self, controller: &'static str, seconds: f64) {
        self.reconciles.get_or_create(&Controller { controller }).inc();
        self.seconds.get_or_create(&Controller { controller }).inc_by(seconds);
    }

    pub(crate) fn error(&self, controller: &'static str, category: Category) {
        self.errors.get_or_create(&ErrorLabels { controller, reason: category.as_str() }).inc();
    }

    pub(crate) fn wrote(&self, kind: &str, verb: &'static str) {
        self.writes.get_or_create(&WriteLabels { kind: kind.to_owned(), verb }).inc();
    }

    pub(crate) fn watch_error(&self, kind: &'static str, category: Category) {
        self.watch_errors.get_or_create(&WatchLabels { kind, reason: category.as_str() }).inc();
    }

    pub(crate) fn objects(&self, kind: &'static str, readable: usize, unparsable: usize) {
        self.objects.get_or_create(&ObjectLabels { kind, state: "readable" }).set(count(readable));
        self.objects.get_or_create(&ObjectLabels { kind, state: "unparsable" }).set(count(unparsable));
    }

    /// Forgets the nodes of all runtimes: those that are still there are counted next.
    pub(crate) fn forget_nodes(&self) {
        self.nodes.clear();
    }

    pub(crate) fn nodes(&self, runtime: &str, state: &'static str, nodes: usize) {
        self.nodes.get_or_create(&NodeLabels { runtime: runtime.to_owned(), state }).set(count(nodes));
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
