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
    node::{Node, Options, Root, Runtime},
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
        let (mine, rest): (Vec<&Case>, Vec<&Case>) =
            cases.iter().partition(|case| case.runtimes.contains(&runtime) && case.name.contains(filter));
        count.filtered += rest.len();
        if mine.is_empty() {
            continue;
        }
        if let Err(error) = play_on(runtime, &mine, dumps, &options, &mut count) {
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
    let parent = Root::usual_parent();
    Root::sweep(&parent)?;
    let root = Root::claim(&parent.join(format!("test-{}-{runtime}", process::id())))?;
    let node = Node::start(&root, &options(runtime)?).inspect_err(|_| {
        let dump = dumps.join(format!("{runtime}-does-not-start"));
        println!("logs: {}", told(copy_logs(root.path(), &dump), &dump));
    })?;
    let laps: Vec<_> =
        node.laps().iter().map(|(what, after)| format!("{what} {:.1} s", after.as_secs_f64())).collect();
    println!("{runtime}: {}", laps.join(", "));
    for case in cases {
        if play_case(&node, case, dumps)? {
            count.passed += 1;
        } else {
            count.failed += 1;
        }
    }
    Ok(())
}

/// Plays one scenario and returns whether it passed. It returns an error only if the next one could not be played either.
fn play_case(node: &Node<'_>, case: &Case, dumps: &Path) -> Result<bool, Error> {
    let (begun, runtime) = (Instant::now(), node.runtime());
    let mut scenario = Scenario::begin(node, case.namespace)?;
    let failure = match catch_unwind(AssertUnwindSafe(|| (case.play)(&mut scenario))) {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        // The message of the panic is already on standard error.
        Err(_) => Some("panicked".to_owned()),
    };
    let verdict = if failure.is_none() { "ok" } else { "FAILED" };
    println!("test {runtime}::{} ... {verdict} ({:.1} s)", case.name, begun.elapsed().as_secs_f64());
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
