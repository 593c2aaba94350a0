//! Medians, what is added to each call, and which goals are met.

use std::fmt;

use serde::Serialize;

use crate::report::median;

/// The bound for the service's memory when nobody calls, in bytes.
const AT_REST: u64 = 15_000_000;

/// Which way a call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// To containerd itself.
    Direct,
    /// Through the service.
    Through,
}

/// All measurements of one run.
#[derive(Debug, Serialize)]
pub struct Measurements {
    /// Each method.
    pub(super) methods: Vec<Method>,
    /// How many images were listed.
    pub(super) images: usize,
    /// A thousand calls at once: milliseconds until the last is answered.
    pub(super) at_once: Vec<(Way, f64)>,
    /// The service's memory.
    pub(super) memory: Memory,
    /// The size of its binary.
    pub(super) binary_bytes: u64,
}

/// The service's memory, in bytes.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    /// After its start.
    pub(super) at_rest: u64,
    /// After all calls.
    pub(super) after: u64,
    /// The most that it ever had.
    pub(super) peak: u64,
}

/// One method, both ways.
#[derive(Debug, Serialize)]
pub(super) struct Method {
    name: &'static str,
    runs: usize,
    direct_us: f64,
    through_us: f64,
    added_us: f64,
    through_over_direct: f64,
}

impl Method {
    /// From all calls, in microseconds.
    pub(super) fn new(name: &'static str, taken: &[(Way, f64)]) -> Self {
        let of = |way: Way| -> Vec<f64> {
            taken.iter().filter(|(taken, _)| *taken == way).map(|(_, micros)| *micros).collect()
        };
        let (direct, through) = (of(Way::Direct), of(Way::Through));
        let runs = direct.len();
        let (direct_us, through_us) = (median(direct), median(through));
        Self {
            name,
            runs,
            direct_us,
            through_us,
            added_us: through_us - direct_us,
            through_over_direct: through_us / direct_us,
        }
    }
}

impl fmt::Display for Measurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} images", self.images)?;
        for method in &self.methods {
            let Method { name, runs, direct_us, through_us, added_us, through_over_direct } = method;
            write!(
                f,
                "  {name:13} {runs:5} calls each way  direct {direct_us:9.0} µs  through {through_us:9.0} µs"
            )?;
            writeln!(f, "  {through_over_direct:.2}×, {added_us:+.0} µs")?;
        }
        for (way, millis) in &self.at_once {
            let way = match way {
                Way::Direct => "direct",
                Way::Through => "through",
            };
            writeln!(f, "  1000 ImageStatus at once, {way}: all answered after {millis:.0} ms")?;
        }
        let megabytes = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10);
        let Memory { at_rest, after, peak } = &self.memory;
        writeln!(
            f,
            "  memory: {} at rest, {} after all calls, {} at most; binary {}\n",
            megabytes(*at_rest),
            megabytes(*after),
            megabytes(*peak),
            megabytes(self.binary_bytes)
        )?;
        let met = if *at_rest <= AT_REST { "met" } else { "MISSED" };
        writeln!(f, "{met:6}  {:>15}  memory ≤ 15 MB at rest", megabytes(*at_rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_the_difference_of_medians() {
        let taken =
            [(Way::Direct, 100.0), (Way::Through, 900.0), (Way::Through, 150.0), (Way::Through, 140.0)];
        let method = Method::new("ImageStatus", &taken);
        assert_eq!((method.runs, method.added_us.round()), (1, 50.0));
        let memory = Memory { at_rest: 15_000_001, after: 0, peak: 0 };
        let shown = Measurements {
            methods: vec![method],
            images: 1,
            at_once: vec![],
            memory,
            binary_bytes: 2_500_000,
        };
        let shown = shown.to_string();
        assert!(
            shown.contains("1.50×, +50 µs") && shown.contains("MISSED") && shown.contains("2.5 MB"),
            "{shown}"
        );
    }
}
