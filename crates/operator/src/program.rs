//! The program: connects, starts the caches, takes part in the election, and ends in order.

use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use pullwright_api::names;
use pullwright_documents::documents;
use pullwright_engine::kubelet::{ConfigFile, CredentialProviderConfig};
use serde_json::Value;
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::category::{Category, message};
use crate::controller::drive;
use crate::health::{self, Health};
use crate::leader::{Election, Ended, Timing, TimingError};
use crate::metrics::Metrics;
use crate::namespaces::NamespacesController;
use crate::nodes::{ClusterKinds, NodeSettings, NodesController, RolloutSettings, cluster_kinds};
use crate::options::{self, Command, LogLevel, Options};
use crate::rollout::RolloutPolicy;
use crate::write::Writer;

/// The exit code of a replica that lost its lease.
const LOST: u8 = 3;
/// How long the API server may be silent on a connection; a watch ends after 290 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(310);
/// How long to connect for.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Why the operator cannot run.
#[derive(Debug, Error)]
enum StartError {
    #[error("the kubeconfig {path:?} cannot be used; `kubectl --kubeconfig` may say more about it")]
    Kubeconfig { path: std::path::PathBuf },
    #[error("there is no usable kubeconfig, and this is not a Pod with a service account; use --kubeconfig")]
    Config,
    #[error("reaching the API server: {0}")]
    Client(String),
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
    log(options.log_level);
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

fn log(level: LogLevel) {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    // The libraries report each failure once more in their own words; that helps only those who look for a mistake in them.
    let targets = Targets::new().with_target("pullwright_operator", level);
    let targets = if level == LevelFilter::DEBUG { targets.with_default(level) } else { targets };
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
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
    let listener = health::listen(options.listen)
        .await
        .map_err(|source| StartError::Listen { address: options.listen, source })?;
    let client = connect(&options, identity).await?;
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
    let health = Health { missing: Box::new(nodes.missing()), metrics: metrics.clone() };
    tokio::spawn(health::serve(listener, Arc::new(health)));

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

async fn connect(options: &Options, identity: &str) -> Result<Client, StartError> {
    let mut config = match &options.kubeconfig {
        Some(path) => {
            // The library's own words quote the file, in which tokens and keys are.
            let refused = |_| StartError::Kubeconfig { path: path.clone() };
            let kubeconfig = Kubeconfig::read_from(path).map_err(refused)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(refused)?
        }
        None => Config::infer().await.map_err(|_| StartError::Config)?,
    };
    config.connect_timeout = Some(CONNECT_WITHIN);
    // Longer than a watch lasts, so that a connection that has died without a word is noticed at all.
    config.read_timeout = Some(ANSWER_WITHIN);
    config.reset_reader_on_write = true;
    // Retries are decisions of the controllers, which look at the world again before they try.
    config.default_retry = false;
    let agent = format!("{}/{} ({identity})", names::OPERATOR, env!("CARGO_PKG_VERSION"));
    if let Ok(agent) = hyper::header::HeaderValue::from_str(&agent) {
        config.headers.push((hyper::header::USER_AGENT, agent));
    }
    Client::try_from(config).map_err(|error| StartError::Client(message(&error)))
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
