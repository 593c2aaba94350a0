//! Medians, ratios, and which goals they meet.

use std::fmt;

use serde::Serialize;

use crate::contender::{Contender, Taken};
use crate::load::{Load, ORDINARY};

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
    /// Secrets in it that are there to exhaust the node.
    pub hostile: usize,
    /// Whether Secrets are named, and not listed.
    pub named: bool,
    /// What each program took.
    pub programs: Vec<Medians>,
    /// Our wall time over the bare exchange's.
    pub wall_over_bare: Option<f64>,
    /// Our CPU over the bare exchange's.
    pub cpu_over_bare: Option<f64>,
    /// The Go plugin's wall time over ours.
    pub go_over_ours: Option<f64>,
    /// The Go plugin's CPU over ours.
    pub go_cpu_over_ours: Option<f64>,
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
            hostile: load.hostile,
            named: load.named,
            programs: [ours, bare, go].into_iter().flatten().collect(),
            wall_over_bare: ratio(ours, bare, |medians| medians.wall_ms),
            cpu_over_bare: ratio(ours, bare, |medians| medians.cpu_ms),
            go_over_ours: ratio(go, ours, |medians| medians.wall_ms),
            go_cpu_over_ours: ratio(go, ours, |medians| medians.cpu_ms),
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

impl Goal {
    fn at_most(what: &'static str, ratio: Option<f64>, most: f64) -> Option<Self> {
        ratio.map(|ratio| Self { what, measured: format!("{ratio:.2}×"), met: ratio <= most })
    }

    fn at_least(what: &'static str, ratio: Option<f64>, least: f64) -> Option<Self> {
        ratio.map(|ratio| Self { what, measured: format!("{ratio:.1}×"), met: ratio >= least })
    }
}

impl Measurements {
    fn goals(&self) -> Vec<Goal> {
        let row = |load: Load| {
            let wanted = (load.secrets, load.registries, load.mirrors, load.hostile);
            self.rows.iter().find(|row| (row.secrets, row.registries, row.mirrors, row.hostile) == wanted)
        };
        let (few, many) = (row(ORDINARY), row(Load { secrets: 1000, mirrors: 1000, ..ORDINARY }));
        let of = |row: Option<&Row>, ratio: fn(&Row) -> Option<f64>| row.and_then(ratio);
        let mut goals: Vec<Goal> = [
            Goal::at_most(
                "the bare exchange's wall, at most 1.2×, 10 Secrets",
                of(few, |row| row.wall_over_bare),
                1.2,
            ),
            Goal::at_most(
                "the bare exchange's CPU, at most 1.3×, 10 Secrets",
                of(few, |row| row.cpu_over_bare),
                1.3,
            ),
            Goal::at_least("Go plugin's CPU ≥ 7× ours, 10 Secrets", of(few, |row| row.go_cpu_over_ours), 7.0),
            Goal::at_most(
                "the bare exchange's wall, at most 1.5×, 1000 × 1000",
                of(many, |row| row.wall_over_bare),
                1.5,
            ),
            Goal::at_least(
                "Go plugin's time ≥ 200× ours, 1000 × 1000",
                of(many, |row| row.go_over_ours),
                200.0,
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        let ours = |row: &Row| row.programs.iter().find(|of| of.program == Contender::Ours).copied();
        if let Some(ours) = few.and_then(ours) {
            let (what, measured) = ("memory ≤ 8 MB, 10 Secrets", format!("{:.1} MB", ours.memory_mb));
            goals.push(Goal { what, measured, met: ours.memory_mb <= 8.0 });
        }
        for ours in self.rows.iter().filter(|row| row.hostile > 0).filter_map(ours) {
            let measured = format!("{:.1} MB, {:.1} s", ours.memory_mb, ours.wall_ms / 1e3);
            let met = ours.memory_mb <= 64.0 && ours.wall_ms <= 10e3;
            goals.push(Goal {
                what: "memory ≤ 64 MB and time ≤ 10 s, a hostile namespace", measured, met
            });
        }
        let measured = format!("{} bytes", self.binary_bytes);
        goals.push(Goal { what: "binary ≤ 3 MB", measured, met: self.binary_bytes <= 3_000_000 });
        goals
    }
}

impl fmt::Display for Measurements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let Row { secrets, registries, mirrors, hostile, named, .. } = row;
            let beside = if *hostile > 0 { format!(" and {hostile} hostile ones") } else { String::new() };
            let how = if *named { ", named" } else { "" };
            writeln!(
                f,
                "{secrets} Secrets{beside}{how}, {registries} [[registry]], {mirrors} [[registry.mirror]] of docker.io"
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
                        let (wall, cpu) = (row.go_over_ours, row.go_cpu_over_ours);
                        let (wall, cpu) = (wall.unwrap_or(f64::NAN), cpu.unwrap_or(f64::NAN));
                        write!(f, "  takes {wall:.1}× our wall, {cpu:.1}× our CPU")?;
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

    fn row(load: Load, walls: [f64; 3], memory: f64) -> Row {
        let programs = [Contender::Ours, Contender::BareExchange, Contender::GoPlugin];
        let taken = |wall_ns| Taken { wall_ns, cpu_ns: 2.0 * wall_ns, memory };
        let runs: Vec<_> = programs.into_iter().zip(walls.map(taken)).collect();
        Row::new(load, &runs)
    }

    #[test]
    fn ratios_are_of_medians_and_goals_are_judged_by_them() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0]) - 2.5).abs() < f64::EPSILON);
        let many = Load { secrets: 1000, mirrors: 1000, ..ORDINARY };
        let rows = vec![
            row(ORDINARY, [2.5e6, 2e6, 20e6], 4e6),
            row(many, [2.8e6, 2e6, 900e6], 4e6),
            row(Load { hostile: 62, ..ORDINARY }, [1e9, 1e9, 1e9], 30e6),
            row(Load { hostile: 16, ..ORDINARY }, [1e9, 1e9, 1e9], 65e6),
            row(Load { hostile: 15, ..ORDINARY }, [11e9, 1e9, 1e9], 5e6),
        ];
        let goals = Measurements { rows, binary_bytes: 3_000_001 }.goals();
        let said: Vec<_> = goals.iter().map(|goal| (goal.measured.as_str(), goal.met)).collect();
        assert_eq!(
            said,
            [
                ("1.25×", false),
                ("1.25×", true),
                ("8.0×", true),
                ("1.40×", true),
                ("321.4×", true),
                ("4.0 MB", true),
                ("30.0 MB, 1.0 s", true),
                ("65.0 MB, 1.0 s", false),
                ("5.0 MB, 11.0 s", false),
                ("3000001 bytes", false)
            ]
        );
    }

    #[test]
    fn without_the_go_plugin_nothing_is_said_of_it() {
        let taken = Taken { wall_ns: 1.0, cpu_ns: 1.0, memory: 1.0 };
        let row = Row::new(ORDINARY, &[(Contender::Ours, taken), (Contender::BareExchange, taken)]);
        assert_eq!((row.go_over_ours, row.wall_over_bare), (None, Some(1.0)));
        let shown = Measurements { rows: vec![row], binary_bytes: 1 }.to_string();
        assert!(!shown.contains("Go plugin"), "{shown}");
    }
}
