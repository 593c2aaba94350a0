//! Plays scenarios on a node for each runtime, and reports in the format of Rust's own test harness.

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process::{self, ExitCode},
    time::Instant,
};

use crate::{
    Error,
    error::Doing,
    node::{Node, Options, Root, Runtime, Site, SystemdNode, SystemdOptions},
    programs::find,
    scenario::Scenario,
};

/// The reason why a scenario failed.
type Failure = Box<dyn std::error::Error>;

/// A scenario, and where it can be played.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The name, which says what it shows.
    pub name: &'static str,
    /// Its namespace.
    pub namespace: &'static str,
    /// The runtimes that it applies to.
    pub runtimes: &'static [Runtime],
    /// The scenario itself.
    pub play: fn(&mut Scenario<'_>) -> Result<(), Failure>,
}

/// A test on a node under systemd, and the runtimes that it applies to.
#[derive(Clone, Copy, Debug)]
pub struct SystemdCase {
    /// The name, which says what it shows.
    pub name: &'static str,
    /// The runtimes that it applies to.
    pub runtimes: &'static [Runtime],
    /// The test itself.
    pub play: fn(&SystemdNode<'_>) -> Result<(), Failure>,
}

/// The number of scenarios by result.
#[derive(Debug, Default)]
struct Count {
    passed: usize,
    failed: usize,
    filtered: usize,
}

/// Plays `cases` according to the command line: `[--runtime RUNTIME] [WORD]`, where WORD selects names that contain it.
/// Without `--runtime`, it plays all runtimes whose programs are installed. The state of failed scenarios goes below
/// `dumps`.
pub fn play(cases: &[Case], dumps: &Path, options: impl Fn(Runtime) -> Result<Options, Error>) -> ExitCode {
    on_each_runtime(
        cases,
        |case| (case.name, case.runtimes),
        |runtime, cases, count| play_on(runtime, cases, dumps, &options, count),
    )
}

/// Like [`play`], on nodes under systemd: all cases of a runtime share one, in their order.
pub fn play_under_systemd(
    cases: &[SystemdCase],
    dumps: &Path,
    options: impl Fn(Runtime) -> Result<SystemdOptions, Error>,
) -> ExitCode {
    on_each_runtime(
        cases,
        |case| (case.name, case.runtimes),
        |runtime, cases, count| play_under_systemd_on(runtime, cases, dumps, &options, count),
    )
}

/// Chooses the runtimes and cases that the command line asks for, plays them, and reports.
fn on_each_runtime<C>(
    cases: &[C],
    about: impl Fn(&C) -> (&'static str, &'static [Runtime]),
    mut play_on: impl FnMut(Runtime, &[&C], &mut Count) -> Result<(), Error>,
) -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let (runtimes, filter) = match choose(&words) {
        Ok(choice) => choice,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut count = Count::default();
    for runtime in runtimes {
        let (mine, rest): (Vec<&C>, Vec<&C>) = cases.iter().partition(|case| {
            let (name, runtimes) = about(case);
            runtimes.contains(&runtime) && name.contains(filter)
        });
        count.filtered += rest.len();
        if mine.is_empty() {
            continue;
        }
        if let Err(error) = play_on(runtime, &mine, &mut count) {
            println!("{runtime}: {error}");
            count.failed += 1;
        }
    }
    let Count { passed, failed, filtered } = count;
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {filtered} filtered out\n"
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the runtimes and the word from the command line.
fn choose(words: &[String]) -> Result<(Vec<Runtime>, &str), String> {
    let all = || Runtime::ALL.into_iter().filter(|runtime| at_hand(*runtime)).collect();
    let (runtimes, rest) = match words {
        [option, runtime, rest @ ..] if option == "--runtime" => (vec![runtime.parse()?], rest),
        rest => (all(), rest),
    };
    Ok((runtimes, rest.first().map_or("", String::as_str)))
}

/// Whether the programs of a runtime are installed; prints a line if they are not.
fn at_hand(runtime: Runtime) -> bool {
    let absent: Vec<_> =
        runtime.programs().iter().filter(|program| find(program).is_err()).copied().collect();
    if !absent.is_empty() {
        println!("{runtime}: not run, {} not on this machine", absent.join(", "));
    }
    absent.is_empty()
}

fn play_on(
    runtime: Runtime,
    cases: &[&Case],
    dumps: &Path,
    options: &impl Fn(Runtime) -> Result<Options, Error>,
    count: &mut Count,
) -> Result<(), Error> {
    let root = claim(&format!("test-{}-{runtime}", process::id()))?;
    let node = started(
        Node::start(&root, &options(runtime)?),
        &root,
        &dumps.join(format!("{runtime}-does-not-start")),
    )?;
    println!("{runtime}: {}", laps(&node));
    for case in cases {
        if play_case(&node, case, dumps)? {
            count.passed += 1;
        } else {
            count.failed += 1;
        }
    }
    Ok(())
}

fn play_under_systemd_on(
    runtime: Runtime,
    cases: &[&SystemdCase],
    dumps: &Path,
    options: &impl Fn(Runtime) -> Result<SystemdOptions, Error>,
    count: &mut Count,
) -> Result<(), Error> {
    let root = claim(&format!("test-{}-{runtime}-systemd", process::id()))?;
    let dump = dumps.join(format!("{runtime}-under-systemd-does-not-start"));
    let node = started(SystemdNode::start(&root, &options(runtime)?), &root, &dump)?;
    println!("{runtime} under systemd: {}", laps(&node));
    for case in cases {
        let begun = Instant::now();
        let failure = failure(|| (case.play)(&node));
        report(runtime, case.name, begun, failure.is_none());
        if let Some(why) = &failure {
            let dump = dumps.join(format!("{runtime}-{}", case.name));
            let dumped = copy_logs(node.root(), &dump).and_then(|()| {
                let kubectl = node.kubectl();
                let state = [
                    node.systemctl(&["list-units", "--all", "--no-pager"]),
                    kubectl.run(&["get", "all", "-A", "-o", "wide"]),
                    kubectl.run(&["get", "events", "-A"]),
                ];
                let path = dump.join("state.txt");
                fs::write(&path, format!("{why}\n\n{state:#?}")).doing("writing", &path)
            });
            println!("{why}\nstate and logs: {}", told(dumped, &dump));
            count.failed += 1;
        } else {
            count.passed += 1;
        }
    }
    Ok(())
}

/// Takes the folder `name` for a node, after cleaning up behind those whose owner is gone.
fn claim(name: &str) -> Result<Root, Error> {
    let parent = Root::usual_parent();
    Root::sweep(&parent)?;
    Root::claim(&parent.join(name))
}

/// Keeps the logs of a node that did not start.
fn started<N>(node: Result<N, Error>, root: &Root, dump: &Path) -> Result<N, Error> {
    node.inspect_err(|_| println!("logs: {}", told(copy_logs(root.path(), dump), dump)))
}

fn laps(site: &Site<'_>) -> String {
    let laps = site.laps().iter().map(|(what, after)| format!("{what} {:.1} s", after.as_secs_f64()));
    laps.collect::<Vec<_>>().join(", ")
}

/// Plays a test and returns why it failed.
fn failure(play: impl FnOnce() -> Result<(), Failure>) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(play)) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        // The message of the panic is already on standard error.
        Err(_) => Some("panicked".to_owned()),
    }
}

fn report(runtime: Runtime, name: &str, begun: Instant, passed: bool) {
    let verdict = if passed { "ok" } else { "FAILED" };
    println!("test {runtime}::{name} ... {verdict} ({:.1} s)", begun.elapsed().as_secs_f64());
}

/// Plays one scenario and returns whether it passed. It returns an error only if the next one could not be played either.
fn play_case(node: &Node<'_>, case: &Case, dumps: &Path) -> Result<bool, Error> {
    let (begun, runtime) = (Instant::now(), node.runtime());
    let mut scenario = Scenario::begin(node, case.namespace)?;
    let failure = failure(|| (case.play)(&mut scenario));
    report(runtime, case.name, begun, failure.is_none());
    for figure in &scenario.figures {
        println!("    {figure}");
    }
    if let Some(why) = &failure {
        let dump = dumps.join(format!("{runtime}-{}", case.name));
        let dumped = copy_logs(node.root(), &dump).and_then(|()| {
            let state = dump.join("state.txt");
            fs::write(&state, format!("{why}\n\n{}", scenario.state())).doing("writing", &state)
        });
        println!("{why}\nstate and logs: {}", told(dumped, &dump));
    }
    scenario.end()?;
    Ok(failure.is_none())
}

/// Returns where a dump is, or why there is none.
fn told(dumped: Result<(), Error>, dump: &Path) -> String {
    dumped.map_or_else(|error| error.to_string(), |()| dump.display().to_string())
}

/// Copies all logs of the node in `root`.
fn copy_logs(root: &Path, dump: &Path) -> Result<(), Error> {
    fs::create_dir_all(dump).doing("creating", dump)?;
    let logs = root.join("logs");
    for log in fs::read_dir(&logs).doing("reading", &logs)?.flatten() {
        fs::copy(log.path(), dump.join(log.file_name())).doing("copying", &log.path())?;
    }
    Ok(())
}
