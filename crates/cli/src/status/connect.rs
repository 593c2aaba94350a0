//! From a kubeconfig to a client, by kubectl's rules; and what goes wrong on the way, in words without a credential.

use std::env;
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueHint};
use hyper_util::client::proxy::matcher::Matcher;
use kube::client::AuthError;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::diagnostic::Message;

/// How long to wait for a connection: nobody watches a silent terminal for kube's 30 seconds.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// Which cluster to ask, and as whom.
#[derive(Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ConnectArguments {
    /// The kubeconfig file [default: the files that $KUBECONFIG names, else ~/.kube/config, else the Pod's own service account]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl ConnectArguments {
    /// A client for the cluster. Nothing is asked yet.
    pub(crate) async fn client(&self) -> Result<Client, Message> {
        // kube takes the process's provider, and none is chosen where the features of several crates allow two. If this fails,
        // one is chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = self.config().await.map_err(|error| unusable(self.kubeconfig.as_deref(), &error))?;
        config.connect_timeout = Some(CONNECTS_WITHIN);
        if is_proxy_needless(&config) {
            config.proxy_url = None;
        }
        Client::try_from(config)
            .map_err(|error| Message::error(format!("connecting to the cluster: {}", told(&error))))
    }

    async fn config(&self) -> Result<Config, KubeconfigError> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        if let Some(file) = &self.kubeconfig {
            return Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &options).await;
        }
        match Config::from_kubeconfig(&options).await {
            // Only where nobody asked for anything else: a kubeconfig with a mistake must not lead to another cluster.
            Err(error)
                if is_missing(&error) && self.context.is_none() && env::var_os("KUBECONFIG").is_none() =>
            {
                Config::incluster().map_err(|_| error)
            }
            config => config,
        }
    }
}

/// Whether the environment names a proxy, but not for this server. kube compares `NO_PROXY` with the proxy instead of the server, so it is
/// decided here, by kubectl's rules: the server on this machine never needs one, and the one that the kubeconfig names always counts.
fn is_proxy_needless(config: &Config) -> bool {
    let names = ["HTTPS_PROXY", "https_proxy"];
    let of_environment = names
        .iter()
        .filter_map(|name| env::var(name).ok())
        .any(|proxy| proxy.parse().ok() == config.proxy_url);
    let host = config.cluster_url.host().unwrap_or_default().trim_matches(['[', ']']);
    let local = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    of_environment && (local || Matcher::from_env().intercept(&config.cluster_url).is_none())
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Why a kubeconfig gives no client. Its text is never quoted: tokens and keys are in it.
fn unusable(named: Option<&Path>, error: &KubeconfigError) -> Message {
    let file = named.map_or_else(|| "the kubeconfig".to_owned(), |path| path.display().to_string());
    let message = |why: String| Message::error(format!("{file}: {why}"));
    let help = "name a kubeconfig with --kubeconfig, or a context of it with --context";
    match error {
        KubeconfigError::FindPath => message("not found".to_owned()).with_help(help),
        KubeconfigError::ReadConfig(why, path) => {
            Message::error(format!("reading {}: {why}", path.display())).with_help(help)
        }
        KubeconfigError::CurrentContextNotSet => {
            message("it has no current context".to_owned()).with_help("choose one with --context")
        }
        KubeconfigError::LoadContext(name) => message(format!("it has no context {name:?}"))
            .with_help("`kubectl config get-contexts` lists them"),
        KubeconfigError::LoadClusterOfContext(name) => message(format!("it has no cluster {name:?}")),
        KubeconfigError::MissingClusterUrl => message("the cluster has no `server`".to_owned()),
        KubeconfigError::ParseClusterUrl(why) => message(format!("the cluster's `server` is no URL: {why}")),
        KubeconfigError::ParseProxyUrl(why) => message(format!("the proxy is no URL: {why}")),
        KubeconfigError::ParseNoProxy(why) => Message::error(format!("reading $NO_PROXY: {}", told(why))),
        KubeconfigError::LoadCertificateAuthority(why) => {
            message(format!("the cluster's certificate authority: {}", told(why)))
        }
        KubeconfigError::Parse(why) => match why.location() {
            Some(place) => {
                message(format!("not a kubeconfig: line {}, column {}", place.line(), place.column()))
            }
            None => message("not a kubeconfig".to_owned()),
        },
        _ => message("it cannot be used".to_owned())
            .with_help("`kubectl --kubeconfig FILE version` may say more about it"),
    }
}

/// An error with its causes, on one line.
pub(super) fn told(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(link) = next {
        if let Some(error) = link.downcast_ref::<AuthError>() {
            words = vec![credentials(error)];
            break;
        }
        let text = match link.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => {
                words.push(format!("the API server answered {}: {}", status.code, status.message));
                break;
            }
            // A password may be in a proxy's URL.
            Some(
                kube::Error::ProxyProtocolUnsupported { .. } | kube::Error::ProxyProtocolDisabled { .. },
            ) => "the proxy's URL has a scheme other than http, https and socks5".to_owned(),
            // Its own words only name its variants.
            Some(_) if link.source().is_some() => String::new(),
            _ => link.to_string(),
        };
        // Many errors repeat their cause.
        if !text.is_empty() && !words.iter().any(|said| said.contains(&text)) {
            words.push(text);
        }
        next = link.source();
    }
    words.join(": ")
}

/// Why the credentials of a kubeconfig cannot be used, without what a program printed or got as
/// arguments: a token may be in it.
fn credentials(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecStart(why) => format!("starting the kubeconfig's credential program: {why}"),
        AuthError::AuthExecRun { out, .. } => {
            format!("the kubeconfig's credential program failed: {}", out.status)
        }
        AuthError::ReadTokenFile(why, path) => format!("reading the token in {}: {why}", path.display()),
        AuthError::MissingCommand => "the kubeconfig names no credential program to run".to_owned(),
        _ => "the credentials of the kubeconfig cannot be used".to_owned(),
    }
}
