//! The program: takes the node over, follows its `NodeState`, and ends in order.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, pin_mut};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use pullwright_api::NodeState;
use pullwright_daemon::{ConnectError, Health, connect, log, serve, watch_message};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::agent::{Agent, AgentError, needs_a_look};
use crate::cluster::Cluster;
use crate::machine::NodeMachine;
use crate::metrics::Metrics;
use crate::options::{self, Command, Options};
use crate::report::AGENT;
use crate::services::{ENTER, enter};

/// How long to wait before going on with what an earlier agent left, if that failed.
const RECOVER_AGAIN: Duration = Duration::from_secs(10);
/// How often to count how the plugin's runs ended.
const COUNT: Duration = Duration::from_secs(15);
/// Later than anything that matters.
const FAR: Duration = Duration::from_hours(24);

/// Why the agent cannot run.
#[derive(Debug, Error)]
enum StartError {
    #[error(
        "the node's name is not known: set --node, or PULLWRIGHT_AGENT_NODE from the Pod's spec.nodeName"
    )]
    NoNode,
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("listening on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("starting: {0}")]
    Runtime(#[from] std::io::Error),
    #[error(transparent)]
    Restore(#[from] AgentError),
}

/// Runs the program.
pub fn main(
    arguments: impl IntoIterator<Item = OsString>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let [word, rest @ ..] = arguments.as_slice()
        && word == ENTER
    {
        eprintln!("pullwright-agent: {}", enter(rest));
        return ExitCode::FAILURE;
    }
    let (options, restore) = match options::parse(arguments, var) {
        Ok(Command::Run(options)) => (options, false),
        Ok(Command::Restore(options)) => (options, true),
        Ok(Command::Help) => {
            print!("{}", options::PROGRAM.help());
            return ExitCode::SUCCESS;
        }
        Ok(Command::Version) => {
            println!(concat!("pullwright-agent (pullwright) ", env!("CARGO_PKG_VERSION")));
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("pullwright-agent: {error}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    log("pullwright_agent", options.log_level);
    // One thread for the agent; another answers probes while files are written.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let result = runtime.map_err(StartError::from).and_then(|runtime| {
        runtime.block_on(async { if restore { restore_node(options).await } else { run(options).await } })
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("cannot run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The agent of a node, with a way to the cluster or without.
fn agent(options: &Options, name: String, client: Option<Client>, metrics: Metrics) -> Agent {
    let cluster = client.clone().map(|client| Cluster::new(client, &name));
    let machine = NodeMachine::new(&options.root, client, &name, &options.token, options.wait);
    Agent::new(name, cluster, &options.root, &options.programs, machine, metrics)
}

async fn run(options: Options) -> Result<(), StartError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let metrics = Metrics::default();
    let name = options.node.clone().ok_or(StartError::NoNode)?;
    let user_agent = format!("{AGENT}/{} ({name})", env!("CARGO_PKG_VERSION"));
    let client = connect(options.kubeconfig.as_deref(), &user_agent).await?;
    let mut agent = agent(&options, name.clone(), Some(client.clone()), metrics.clone());
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|source| StartError::Listen { address: options.listen, source })?;
    let ready = Arc::new(AtomicBool::new(false));
    let is_ready = Arc::clone(&ready);
    let health = Health {
        waits_for: Box::new(move || {
            (!is_ready.load(Ordering::Relaxed)).then(|| "the node's NodeState".to_owned())
        }),
        metrics: Box::new(move || metrics.text()),
    };
    tokio::spawn(serve(listener, Arc::new(health)));
    tracing::info!(node = name, version = env!("CARGO_PKG_VERSION"), "starting");
    // Ended in the middle, the agent leaves what it was about to do in the journal; the next one goes on.
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = follow(&mut agent, client, name, &ready) => {}
    }
    tracing::info!("ending");
    Ok(())
}

/// Brings the node what it should have, for ever.
async fn follow(agent: &mut Agent, client: Client, name: String, ready: &Arc<AtomicBool>) {
    while let Err(error) = agent.recover().await {
        tracing::error!("going on with what an earlier agent left: {error}");
        tokio::time::sleep(RECOVER_AGAIN).await;
    }
    let (tell, mut told) = watch::channel(None);
    tokio::spawn(states(client, name, tell, Arc::clone(ready)));
    let (mut looked_at, mut again) = (None, Instant::now() + FAR);
    let mut count = tokio::time::interval(COUNT);
    loop {
        let due = tokio::select! {
            changed = told.changed() => {
                if changed.is_err() {
                    return;
                }
                false
            }
            () = tokio::time::sleep_until(again) => true,
            _ = count.tick() => {
                agent.count(looked_at.as_ref()).await;
                continue;
            }
        };
        let Some(state) = told.borrow_and_update().clone() else { continue };
        if due || needs_a_look(looked_at.as_ref(), &state) {
            again = Instant::now() + agent.look(&state).await;
        }
        looked_at = Some(state);
    }
}

/// Passes on each version of the node's object. An object that is gone tells nothing: the node keeps what it has. The agent is ready once
/// it knows whether there is one.
async fn states(
    client: Client,
    name: String,
    tell: watch::Sender<Option<NodeState>>,
    ready: Arc<AtomicBool>,
) {
    let states: Api<NodeState> = Api::all(client);
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let stream = watcher(states, config).default_backoff();
    pin_mut!(stream);
    while let Some(event) = stream.next().await {
        match event {
            Ok(Event::Apply(state) | Event::InitApply(state)) => {
                tell.send_replace(Some(state));
            }
            Ok(Event::InitDone) => ready.store(true, Ordering::Relaxed),
            Ok(Event::Delete(_) | Event::Init) => {}
            Err(error) => tracing::warn!("watching the node's NodeState: {}", watch_message(&error)),
        }
    }
}

/// Nobody is asked, so there need not be a cluster any more.
async fn restore_node(options: Options) -> Result<(), StartError> {
    let name = options.node.clone().unwrap_or_default();
    agent(&options, name, None, Metrics::default()).restore_now().await?;
    Ok(())
}
