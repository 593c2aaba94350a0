//! The service's metrics, and their text for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::grpc::Code;

/// The path prefix of the service's methods.
pub(crate) const SERVICE: &str = "/runtime.v1.ImageService/";

/// The methods that have their own label. All others are counted together, because a caller can choose any path.
const METHODS: [&str; 6] =
    ["ImageFsInfo", "ImageStatus", "ListImages", "PullImage", "RemoveImage", "StreamImages"];

/// All counters of the process.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    counters: Mutex<Counters>,
}

#[derive(Debug, Default)]
struct Counters {
    calls: BTreeMap<(&'static str, Code), u64>,
    times: BTreeMap<&'static str, Duration>,
    in_flight: u64,
    claims: BTreeMap<Claimed, u64>,
    pulls: BTreeMap<(PullResult, String), u64>,
    unread: u64,
    connections: u64,
    swept: u64,
}

/// The result of looking for an auth file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Claimed {
    /// It was taken.
    Taken,
    /// There was none.
    Absent,
    /// It was there but could not be taken or read.
    Failed,
}

/// The result of a call with one credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PullResult {
    /// The image is there.
    Pulled,
    /// containerd refused.
    Failed,
}

impl Metrics {
    /// Starts to measure a call of the method at `path`.
    pub(crate) fn call(self: &Arc<Self>, path: &str) -> CallTimer {
        let name = path.strip_prefix(SERVICE);
        let method = METHODS.into_iter().find(|method| Some(*method) == name).unwrap_or("other");
        self.counters().in_flight += 1;
        CallTimer { metrics: self.clone(), method, started: Instant::now(), running: true }
    }

    pub(crate) fn claimed(&self, claimed: Claimed) {
        *self.counters().claims.entry(claimed).or_default() += 1;
    }

    pub(crate) fn pulled(&self, pulled: PullResult, source: &str) {
        *self.counters().pulls.entry((pulled, source.to_owned())).or_default() += 1;
    }

    pub(crate) fn unread(&self) {
        self.counters().unread += 1;
    }

    pub(crate) fn connected(&self) {
        self.counters().connections += 1;
    }

    pub(crate) fn swept(&self, files: usize) {
        self.counters().swept += files as u64;
    }

    /// The metrics in Prometheus' text format.
    pub(crate) fn render(&self) -> String {
        self.counters().render()
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        // The counters are always consistent; a thread that panicked while holding them has only missed a count.
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counters {
    fn render(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, String)>| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "# HELP pullwright_images_{name} {help}");
            let _ = writeln!(text, "# TYPE pullwright_images_{name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(text, "pullwright_images_{name}{labels} {value}");
            }
        };
        let one = |value: u64| vec![(String::new(), value.to_string())];
        let calls = self.calls.iter().map(|((method, code), count)| {
            (labels([("method", method), ("code", &code.0.to_string())]), count.to_string())
        });
        family("calls_total", "counter", "Calls that ended, by gRPC status.", calls.collect());
        let times = self
            .times
            .iter()
            .map(|(method, time)| (labels([("method", method)]), format!("{:.6}", time.as_secs_f64())));
        family("call_seconds_total", "counter", "How long they took, containerd included.", times.collect());
        family("calls_in_flight", "gauge", "Calls that have not ended.", one(self.in_flight));
        let claims = self.claims.iter().map(|(claimed, count)| {
            let result = match claimed {
                Claimed::Taken => "taken",
                Claimed::Absent => "absent",
                Claimed::Failed => "failed",
            };
            (labels([("result", result)]), count.to_string())
        });
        family("claims_total", "counter", "Pulls that looked for an auth file.", claims.collect());
        let pulls = self.pulls.iter().map(|((pulled, source), count)| {
            let outcome = match pulled {
                PullResult::Pulled => "pulled",
                PullResult::Failed => "failed",
            };
            (labels([("outcome", outcome), ("source", source)]), count.to_string())
        });
        family(
            "pulls_total",
            "counter",
            "Calls to containerd with a credential, by the host it was for.",
            pulls.collect(),
        );
        family("unread_requests_total", "counter", "PullImage requests passed on unread.", one(self.unread));
        family(
            "containerd_connections_total",
            "counter",
            "Connections made to containerd.",
            one(self.connections),
        );
        family(
            "swept_files_total",
            "counter",
            "Auth files removed because they stood too long.",
            one(self.swept),
        );
        text
    }
}

fn labels<const N: usize>(pairs: [(&str, &str); N]) -> String {
    let pairs = pairs.map(|(name, value)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    });
    format!("{{{}}}", pairs.join(","))
}

/// Measures one call. A call that is dropped before its status came was cancelled.
#[derive(Debug)]
pub(crate) struct CallTimer {
    metrics: Arc<Metrics>,
    method: &'static str,
    started: Instant,
    running: bool,
}

impl CallTimer {
    pub(crate) fn is_running(&self) -> bool {
        self.running
    }

    /// Records the end of the call and its status. Only the first end counts.
    pub(crate) fn end(&mut self, code: Code) {
        if !std::mem::take(&mut self.running) {
            return;
        }
        let mut counters = self.metrics.counters();
        counters.in_flight -= 1;
        *counters.calls.entry((self.method, code)).or_default() += 1;
        *counters.times.entry(self.method).or_default() += self.started.elapsed();
    }
}

impl Drop for CallTimer {
    fn drop(&mut self) {
        self.end(Code::CANCELLED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_counted_once_by_how_it_ended() {
        let metrics = Arc::new(Metrics::default());
        metrics.call("/runtime.v1.ImageService/ListImages").end(Code::OK);
        drop(metrics.call("/runtime.v1.ImageService/PullImage"));
        let mut newer = metrics.call("/runtime.v1.ImageService/PinImage");
        let text = metrics.render();
        assert!(text.contains("calls_total{method=\"ListImages\",code=\"0\"} 1\n"), "{text}");
        assert!(
            text.contains("calls_total{method=\"PullImage\",code=\"1\"} 1\n"),
            "dropped: cancelled; {text}"
        );
        assert!(text.contains("calls_in_flight 1\n"), "{text}");
        newer.end(Code::UNAVAILABLE);
        let text = metrics.render();
        assert!(text.contains("calls_total{method=\"other\",code=\"14\"} 1\n"), "{text}");
        assert!(text.contains("calls_in_flight 0\n"), "{text}");
    }

    #[test]
    fn a_label_cannot_end_its_line() {
        let metrics = Metrics::default();
        metrics.pulled(PullResult::Failed, "a\"b\\c\nd");
        assert!(metrics.render().contains(r#"{outcome="failed",source="a\"b\\c\nd"} 1"#));
    }
}
