//! Medians, ratios, and which goals they meet.

use std::fmt;

use serde::Serialize;

use crate::contender::{Contender, Taken};
use crate::load::Load;

/// All measurements of one run.
#[derive(Debug, Serialize)]
pub struct Measurements {
    /// In the order of [`ROWS`](crate::plugin::ROWS).
    pub rows: Vec<Row>,
    /// The size of the plugin's binary.
    pub binary_bytes: u64,
}

/// One row.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Secrets in the namespace.
    pub secrets: usize,
    /// `[[registry]]` entries on the node.
    pub registries: usize,
    /// Mirrors of the image's registry.
    pub mirrors: usize,
    /// What each program took.
    pub programs: Vec<Medians>,
    /// Our wall time over the bare exchange's.
    pub wall_over_bare: Option<f64>,
    /// Our CPU over the bare exchange's.
    pub cpu_over_bare: Option<f64>,
    /// The Go plugin's wall time over ours.
    pub go_over_ours: Option<f64>,
}

/// Medians of one program's runs.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Medians {
    /// Which one.
    pub program: Contender,
    /// How often it ran.
    pub runs: usize,
    /// From start to end, in milliseconds.
    pub wall_ms: f64,
    /// CPU, in milliseconds.
    pub cpu_ms: f64,
    /// Peak memory, in megabytes (of a million bytes).
    pub memory_mb: f64,
}

impl Medians {
    fn new(program: Contender, taken: &[Taken]) -> Self {
        let of = |value: fn(&Taken) -> f64| median(taken.iter().map(value).collect());
        Self {
            program,
            runs: taken.len(),
            wall_ms: of(|taken| taken.wall_ns) / 1e6,
            cpu_ms: of(|taken| taken.cpu_ns) / 1e6,
            memory_mb: of(|taken| taken.memory) / 1e6,
        }
    }
}

impl Row {
    /// A row from all of its runs.
    #[must_use]
    pub fn new(load: Load, taken: &[(Contender, Taken)]) -> Self {
        let medians = |program| {
            let runs: Vec<Taken> =
                taken.iter().filter(|(of, _)| *of == program).map(|(_, run)| *run).collect();
            (!runs.is_empty()).then(|| Medians::new(program, &runs))
        };
        let [ours, bare, go] = [Contender::Ours, Contender::BareExchange, Contender::GoPlugin].map(medians);
        let ratio = |one: Option<Medians>, other: Option<Medians>, of: fn(Medians) -> f64| {
            Some(of(one?) / of(other?))
        };
        Self {
            secrets: load.secrets,
            registries: load.registries,
            mirrors: load.mirrors,
            programs: [ours, bare, go].into_iter().flatten().collect(),
            wall_over_bare: ratio(ours, bare, |medians| medians.wall_ms),
            cpu_over_bare: ratio(ours, bare, |medians| medians.cpu_ms),
            go_over_ours: ratio(go, ours, |medians| medians.wall_ms),
        }
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// A goal, and what came of it.
struct Goal {
    what: &'static str,
    measured: String,
    met: bool,
}

impl Measurements {
    fn goals(&self) -> Vec<Goal> {
        let mut goals = Vec::new();
        let (first, last) = (self.rows.first(), self.rows.last());
        let mut at_least = |what, ratio: Option<f64>, least: f64| {
            goals.extend(ratio.map(|ratio| Goal {
                what,
                measured: format!("{ratio:.1}×"),
                met: ratio >= least,
            }));
        };
        at_least("Go plugin's time ≥ 10× ours, 10 Secrets", first.and_then(|row| row.go_over_ours), 10.0);
        at_least("Go plugin's time ≥ 200× ours, 1000 × 1000", last.and_then(|row| row.go_over_ours), 200.0);
        // Where the API server takes most of the time, only the CPU says what the program itself takes.
        let beyond = self.rows.iter().filter_map(|row| Some(row.cpu_over_bare?.max(row.wall_over_bare?)));
        if let Some(worst) = beyond.reduce(f64::max) {
            let what = "ours ≤ 1.5× the bare exchange, wall and CPU, every row";
            goals.push(Goal { what, measured: format!("{worst:.2}×"), met: worst <= 1.5 });
        }
        if let Some(ours) = first.and_then(|row| row.programs.iter().find(|of| of.program == Contender::Ours))
        {
            let (what, measured) = ("memory ≤ 8 MB, 10 Secrets", format!("{:.1} MB", ours.memory_mb));
            goals.push(Goal { what, measured, met: ours.memory_mb <= 8.0 });
        }
        let measured = format!("{} bytes", self.binary_bytes);
        goals.push(Goal { what: "binary ≤ 3 MB", measured, met: self.binary_bytes <= 3_000_000 });
        goals
    }
}

impl fmt::Display for Measurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let Row { secrets, registries, mirrors, .. } = row;
            writeln!(
                f,
                "{secrets} Secrets, {registries} [[registry]], {mirrors} [[registry.mirror]] of docker.io"
            )?;
            for medians in &row.programs {
                let Medians { program, runs, wall_ms, cpu_ms, memory_mb } = medians;
                write!(f, "  {program:13} {runs:4} runs  wall {wall_ms:8.2} ms")?;
                write!(f, "  CPU {cpu_ms:8.2} ms  memory {memory_mb:6.1} MB")?;
                match program {
                    Contender::Ours => {}
                    Contender::BareExchange => {
                        let (wall, cpu) = (row.wall_over_bare, row.cpu_over_bare);
                        let (wall, cpu) = (wall.unwrap_or(f64::NAN), cpu.unwrap_or(f64::NAN));
                        write!(f, "  ours takes {wall:.2}× its wall, {cpu:.2}× its CPU")?;
                    }
                    Contender::GoPlugin => {
                        write!(f, "  takes {:.1}× our wall", row.go_over_ours.unwrap_or(f64::NAN))?;
                    }
                }
                writeln!(f)?;
            }
        }
        writeln!(f)?;
        for Goal { what, measured, met } in self.goals() {
            writeln!(f, "{:6}  {measured:>15}  {what}", if met { "met" } else { "MISSED" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(mirrors: usize, walls: [f64; 3]) -> Row {
        let programs = [Contender::Ours, Contender::BareExchange, Contender::GoPlugin];
        let taken = |wall_ns| Taken { wall_ns, cpu_ns: 2.0 * wall_ns, memory: 4e6 };
        let runs: Vec<_> = programs.into_iter().zip(walls.map(taken)).collect();
        Row::new(Load { secrets: 10, registries: 1, mirrors }, &runs)
    }

    #[test]
    fn ratios_are_of_medians_and_goals_are_judged_by_them() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0]) - 2.5).abs() < f64::EPSILON);
        let rows = vec![row(1, [3e6, 2e6, 33e6]), row(1000, [4e6, 2e6, 900e6])];
        let goals = Measurements { rows, binary_bytes: 3_000_001 }.goals();
        let said: Vec<_> = goals.iter().map(|goal| (goal.measured.as_str(), goal.met)).collect();
        assert_eq!(
            said,
            [("11.0×", true), ("225.0×", true), ("2.00×", false), ("4.0 MB", true), ("3000001 bytes", false)]
        );
    }

    #[test]
    fn without_the_go_plugin_nothing_is_said_of_it() {
        let taken = Taken { wall_ns: 1.0, cpu_ns: 1.0, memory: 1.0 };
        let load = Load { secrets: 10, registries: 1, mirrors: 1 };
        let row = Row::new(load, &[(Contender::Ours, taken), (Contender::BareExchange, taken)]);
        assert_eq!((row.go_over_ours, row.wall_over_bare), (None, Some(1.0)));
        let shown = Measurements { rows: vec![row], binary_bytes: 1 }.to_string();
        assert!(!shown.contains("Go plugin"), "{shown}");
    }
}
