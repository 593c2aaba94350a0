//! The calls of each phase, and which promises are kept.

use std::collections::BTreeMap;
use std::fmt;

use pullwright_testkit::control_plane::AuditEntry;
use serde::Serialize;

use super::{IMAGES, MIRROR_SETS, NODES, Rollouts};

/// All measurements of one run.
#[derive(Debug, Serialize)]
pub struct Measurements {
    /// The phases, in order.
    pub(super) phases: Vec<Phase>,
    /// What happened in simulated roll-outs.
    pub(super) rollouts: Rollouts,
    /// What the operator promises, and whether it is so.
    pub(super) claims: Vec<Claim>,
    /// The most memory that it ever had, in bytes.
    pub(super) peak_memory: u64,
    /// The size of its binary.
    pub(super) binary_bytes: u64,
}

impl Measurements {
    /// Whether every promise is kept.
    #[must_use]
    pub fn all_met(&self) -> bool {
        self.claims.iter().all(|claim| claim.met)
    }
}

/// A part of the run.
#[derive(Debug, Serialize)]
pub(super) struct Phase {
    pub(super) name: &'static str,
    /// From its beginning to the last write.
    pub(super) seconds: f64,
    pub(super) cpu_seconds: f64,
    /// At its end, in bytes.
    pub(super) memory: u64,
    pub(super) calls: Calls,
}

/// How often each call was made: by its verb, and the kind of object with its part.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Calls(BTreeMap<String, Call>);

#[derive(Debug, Default, Serialize)]
struct Call {
    count: usize,
    /// Whether it changes something that others see: not a read, nor a renewal of the Lease.
    write: bool,
}

impl<'a> FromIterator<&'a AuditEntry> for Calls {
    fn from_iter<T: IntoIterator<Item = &'a AuditEntry>>(entries: T) -> Self {
        let mut calls = Self::default();
        for entry in entries {
            let kind = entry.resource.as_deref().unwrap_or("(discovery)");
            let part = entry.subresource.as_ref().map_or_else(String::new, |part| format!("/{part}"));
            let call = calls.0.entry(format!("{} {kind}{part}", entry.verb)).or_default();
            call.count += 1;
            call.write = entry.is_write() && kind != "leases.coordination.k8s.io";
        }
        calls
    }
}

impl Calls {
    /// The number of writes of what ends with `what`.
    pub(super) fn writes(&self, what: &str) -> usize {
        let calls = self.0.iter().filter(|(name, call)| call.write && name.ends_with(what));
        calls.map(|(_, call)| call.count).sum()
    }

    /// The number of calls with this verb.
    pub(super) fn of(&self, verb: &str, what: &str) -> usize {
        self.0.get(&format!("{verb} {what}")).map_or(0, |call| call.count)
    }
}

/// Something that the operator promises.
#[derive(Debug, Serialize)]
pub(super) struct Claim {
    what: &'static str,
    found: usize,
    bound: String,
    met: bool,
}

impl Claim {
    pub(super) fn exactly(what: &'static str, found: usize, wanted: usize) -> Self {
        Self { what, found, bound: format!("= {wanted}"), met: found == wanted }
    }

    pub(super) fn at_most(what: &'static str, found: usize, limit: usize) -> Self {
        Self { what, found, bound: format!("≤ {limit}"), met: found <= limit }
    }
}

impl fmt::Display for Measurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10);
        writeln!(f, "{MIRROR_SETS} mirror sets, {IMAGES} images, {NODES} nodes")?;
        for Phase { name, seconds, cpu_seconds, memory, calls } in &self.phases {
            writeln!(
                f,
                "\n{name}: {seconds:.1} s, {cpu_seconds:.2} s of CPU, {} of memory",
                megabytes(*memory)
            )?;
            for (name, call) in &calls.0 {
                writeln!(f, "  {:6}  {name}", call.count)?;
            }
        }
        writeln!(
            f,
            "\nmemory at most {}; binary {}\n",
            megabytes(self.peak_memory),
            megabytes(self.binary_bytes)
        )?;
        writeln!(f, "{}", self.rollouts)?;
        for Claim { what, found, bound, met } in &self.claims {
            let met = if *met { "met" } else { "MISSED" };
            writeln!(f, "{met:6}  {found:>5}  {bound:8}  {what}")?;
        }
        Ok(())
    }
}
