//! The program: connects, starts the caches, takes part in the election, and ends in order.

use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use pullwright_api::names;
use pullwright_daemon::{ConnectError, Health, connect, log, message, serve};
use pullwright_documents::documents;
use pullwright_engine::kubelet::{ConfigFile, CredentialProviderConfig};
use serde_json::Value;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::category::Category;
use crate::controller::drive;
use crate::leader::{Election, Ended, Timing, TimingError};
use crate::metrics::Metrics;
use crate::namespaces::NamespacesController;
use crate::nodes::{ClusterKinds, NodeSettings, NodesController, RolloutSettings, cluster_kinds};
use crate::options::{self, Command, Options};
use crate::rollout::RolloutPolicy;
use crate::write::Writer;

/// The exit code of a replica that lost its lease.
const LOST: u8 = 3;

/// Why the operator cannot run.
#[derive(Debug, Error)]
enum StartError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("listening on {address}: {source}")]
    Listen { address: std::net::SocketAddr, source: std::io::Error },
    #[error("reading {path:?}: {why}")]
    Providers { path: std::path::PathBuf, why: String },
    #[error("starting: {0}")]
    Runtime(#[from] std::io::Error),
    #[error(transparent)]
    Timing(#[from] TimingError),
}

/// Runs the program.
pub fn main(
    arguments: impl IntoIterator<Item = OsString>,
    var: &impl Fn(&str) -> Option<OsString>,
) -> ExitCode {
    let options = match options::parse(arguments, var) {
        Ok(Command::Run(options)) => options,
        Ok(Command::Help) => {
            print!("{}", options::PROGRAM.help());
            return ExitCode::SUCCESS;
        }
        Ok(Command::Version) => {
            println!(concat!("pullwright-operator (pullwright) ", env!("CARGO_PKG_VERSION")));
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("pullwright-operator: {error}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    log("pullwright_operator", options.log_level);
    // The host name of a Pod is its name. A restarted container has the same one, so chance is added.
    let host = var("HOSTNAME").map(|name| name.to_string_lossy().into_owned());
    let chance = RandomState::new().build_hasher().finish();
    let identity = format!("{}_{chance:016x}", host.as_deref().unwrap_or("pullwright"));
    // One thread: the work is waiting, and what takes time is short.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result =
        runtime.map_err(StartError::from).and_then(|runtime| runtime.block_on(run(*options, &identity)));
    match result {
        Ok(code) => code,
        Err(error) => {
            tracing::error!("cannot run: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options, identity: &str) -> Result<ExitCode, StartError> {
    let settings = NodeSettings {
        audience: options.audience.clone(),
        named_secrets: options.named_secrets,
        hosts: options.hosts.clone(),
        existing_providers: options.existing_providers.as_deref().map(existing_providers).transpose()?,
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = TcpListener::bind(options.listen)
        .await
        .map_err(|source| StartError::Listen { address: options.listen, source })?;
    let client = connect(
        options.kubeconfig.as_deref(),
        &format!("{}/{} ({identity})", names::OPERATOR, env!("CARGO_PKG_VERSION")),
    )
    .await?;
    let mut kinds = discovered(&client).await;
    kinds.delivery = options.delivery.unwrap_or(kinds.delivery);
    tracing::info!(identity, delivery = ?kinds.delivery, version = env!("CARGO_PKG_VERSION"), "starting");

    let metrics = Metrics::default();
    let timing = timing(options.lease)?;
    let leases: Api<Lease> = Api::namespaced(client.clone(), &options.namespace);
    let (election, leadership) = Election::new(leases, names::OPERATOR, identity, timing);
    let writer = Writer::new(client.clone(), leadership.clone(), metrics.clone(), identity);
    let changed = Arc::new(Notify::new());
    let rollout = RolloutSettings {
        policy: RolloutPolicy { max_unavailable: options.max_unavailable, canaries: options.canaries },
        soak: options.soak,
    };
    let nodes = NodesController::new(
        client.clone(),
        kinds,
        settings,
        rollout,
        writer.clone(),
        metrics.clone(),
        &changed,
    );
    let (missing, counted) = (nodes.missing(), metrics.clone());
    let health = Health {
        waits_for: Box::new(move || match missing().as_slice() {
            [] => None,
            missing => Some(format!("objects of these kinds: {}", missing.join(", "))),
        }),
        metrics: Box::new(move || counted.text()),
    };
    tokio::spawn(serve(listener, Arc::new(health)));

    let (stop, stopped) = watch::channel(false);
    let mut controllers = JoinSet::new();
    controllers.spawn(drive(nodes, changed, leadership.clone(), stopped.clone(), metrics.clone()));
    let changed = Arc::new(Notify::new());
    let namespaces = NamespacesController::new(&client, writer.clone(), metrics.clone(), &changed);
    controllers.spawn(drive(namespaces, changed, leadership.clone(), stopped, metrics.clone()));
    tokio::spawn(show_leadership(leadership, metrics));
    let told = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    match election.run(told).await {
        Ended::Lost => {
            tracing::error!("could not renew the lease in time; another replica may lead by now");
            Ok(ExitCode::from(LOST))
        }
        Ended::Stopped(election) => {
            tracing::info!("told to end");
            // What is being written may end; nothing new begins.
            writer.close();
            stop.send_replace(true);
            while controllers.join_next().await.is_some() {}
            election.release().await;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn show_leadership(mut leadership: crate::leader::Leadership, metrics: Metrics) {
    loop {
        metrics.leads(leadership.may_write());
        leadership.changed().await;
    }
}

/// The proportions are client-go's.
fn timing(lease: Duration) -> Result<Timing, TimingError> {
    Timing::new(lease, lease * 2 / 3, lease * 2 / 15, lease / 5)
}

/// Asks until there is an answer: a Pod that ends because the API server is away is only started again.
async fn discovered(client: &Client) -> ClusterKinds {
    let mut wait = Duration::from_secs(1);
    loop {
        match cluster_kinds(client).await {
            Ok(kinds) => return kinds,
            Err(error) => {
                tracing::warn!(reason = %Category::of(&error), "asking what the API server has: {}", message(&error));
            }
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(Duration::from_secs(30));
    }
}

/// Reads the kubelets' own provider configuration as the kubelet would, so that a mistake is found here and not on every node.
fn existing_providers(path: &std::path::Path) -> Result<Value, StartError> {
    let refused = |why: String| StartError::Providers { path: path.to_owned(), why };
    let text = std::fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
    let documents = documents(&text).map_err(|error| refused(error.message))?;
    let document = documents.first().ok_or_else(|| refused("it is empty".to_owned()))?.value();
    let json = serde_json::to_vec(&document).map_err(|error| refused(error.to_string()))?;
    let shown = path.display().to_string();
    CredentialProviderConfig::load(&[ConfigFile { path: &shown, json: &json }])
        .map_err(|error| refused(error.to_string()))?;
    Ok(document)
}
