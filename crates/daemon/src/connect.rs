//! The way to the API server, for programs that run for months; and what goes wrong on it, in words without a credential.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hyper::header::{HeaderValue, USER_AGENT};
use kube::client::AuthError;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use thiserror::Error;

/// How long the API server may be silent on a connection; a watch ends after 290 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(310);
/// What is said about credentials, whatever the matter is with them.
const CREDENTIALS: &str = "the credentials for the API server cannot be used";
/// How long to connect for.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Why there is no way.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig is not usable.
    #[error("the kubeconfig {path:?} cannot be used; `kubectl --kubeconfig` may say more about it")]
    Kubeconfig {
        /// The file.
        path: PathBuf,
    },
    /// There is none.
    #[error("there is no usable kubeconfig, and this is not a Pod with a service account; use --kubeconfig")]
    Config,
    /// The client cannot be made.
    #[error("reaching the API server: {0}")]
    Client(String),
}

/// A client by a kubeconfig, or by the Pod's own service account. Nothing is asked yet. `user_agent` is what the API server's audit log
/// shows.
///
/// # Errors
/// If there is no usable configuration.
pub async fn connect(kubeconfig: Option<&Path>, user_agent: &str) -> Result<Client, ConnectError> {
    let mut config = match kubeconfig {
        Some(path) => {
            // The library's own words quote the file, in which tokens and keys are.
            let refused = |_| ConnectError::Kubeconfig { path: path.to_owned() };
            let kubeconfig = Kubeconfig::read_from(path).map_err(refused)?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(refused)?
        }
        None => Config::infer().await.map_err(|_| ConnectError::Config)?,
    };
    config.connect_timeout = Some(CONNECT_WITHIN);
    // Longer than a watch lasts, so that a connection that has died without a word is noticed at all.
    config.read_timeout = Some(ANSWER_WITHIN);
    config.reset_reader_on_write = true;
    // Retries are decisions of the programs, which look at the world again before they try.
    config.default_retry = false;
    if let Ok(agent) = HeaderValue::from_str(user_agent) {
        config.headers.push((USER_AGENT, agent));
    }
    Client::try_from(config).map_err(|error| ConnectError::Client(message(&error)))
}

/// Says what went wrong without the client's own decoration, which repeats the whole answer.
#[must_use]
pub fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        // Its own words can hold what a credential program printed.
        kube::Error::Auth(_) => CREDENTIALS.to_owned(),
        other => {
            let mut text = other.to_string();
            let mut source = std::error::Error::source(other);
            while let Some(cause) = source {
                if cause.is::<AuthError>() {
                    return CREDENTIALS.to_owned();
                }
                let cause_text = cause.to_string();
                if !text.contains(&cause_text) {
                    text = format!("{text}: {cause_text}");
                }
                source = cause.source();
            }
            text
        }
    }
}
