//! Scenarios: what happens to Pods on a node, written once and played on every available runtime.

mod auth_folder;
mod logins;
mod observations;
mod play;
mod sample;

use std::{
    fmt::{Display, Write as _},
    time::{Duration, Instant},
};

use serde_json::Value;

use self::auth_folder::AuthFolder;
pub use self::{
    auth_folder::{AuthEvent, Change, WHOLE_THEN_TAKEN_THEN_GONE},
    logins::{SecretKind, base64, entry},
    observations::{Pulls, after_back_off, burst, second_namespace, two_images_in_one_pod},
    play::{Case, SystemdCase, play, play_under_systemd},
    sample::{SAMPLE_IMAGE, SAMPLE_POD, sample},
};
use crate::{
    Error,
    node::{AUTH_FOLDER, NAME, Node},
    process::wait_until,
};

/// The time limit for a Pod. It is generous, since the kubelet retries a failed pull after 10 and 20 seconds.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// One scenario on a node: it has its own namespace, and sees everything that happened since it began.
#[derive(Debug)]
pub struct Scenario<'n> {
    node: &'n Node<'n>,
    namespace: String,
    auth: AuthFolder,
    registry_marks: Vec<(&'static str, usize)>,
    journal_mark: usize,
    figures: Vec<String>,
}

/// A Pod to run.
#[derive(Clone, Copy, Debug)]
pub struct Pod<'a> {
    /// Its name.
    pub name: &'a str,
    /// The images of its containers.
    pub images: &'a [&'a str],
    /// `Always`, `IfNotPresent` or `Never`.
    pub policy: &'a str,
    /// The name of a Secret to use as its pull secret.
    pub pull_secret: Option<&'a str>,
    /// Its service account.
    pub service_account: &'a str,
}

impl<'a> Pod<'a> {
    /// A Pod that always pulls its `images`.
    #[must_use]
    pub fn new(name: &'a str, images: &'a [&'a str]) -> Self {
        Self { name, images, policy: "Always", pull_secret: None, service_account: "default" }
    }
}

impl<'n> Scenario<'n> {
    /// Begins a scenario: creates the namespace and its default service account.
    pub fn begin(node: &'n Node<'n>, namespace: &str) -> Result<Self, Error> {
        let scenario = Self {
            node,
            namespace: namespace.to_owned(),
            auth: AuthFolder::watch(&node.file(AUTH_FOLDER))?,
            registry_marks: node
                .registries()
                .map(|running| (running.registry().name, running.log().mark()))
                .collect(),
            journal_mark: node.journal().len(),
            figures: Vec::new(),
        };
        scenario.apply(
            "{apiVersion: v1, kind: Namespace, metadata: {name: @NAMESPACE@}}\n---\n\
             {apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: @NAMESPACE@}}\n",
        )?;
        Ok(scenario)
    }

    /// Begins the same scenario in another namespace. It sees only what happens from now on.
    pub fn in_namespace(&self, namespace: &str) -> Result<Self, Error> {
        Self::begin(self.node, namespace)
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &'n Node<'n> {
        self.node
    }

    /// The namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Records a measured value, to be printed with the result of the scenario.
    pub fn figure(&mut self, figure: impl Display) {
        self.figures.push(figure.to_string());
    }

    /// Applies documents, in which `@NAMESPACE@` is replaced by the namespace of this scenario.
    pub fn apply(&self, documents: &str) -> Result<(), Error> {
        self.node.kubectl().apply(&documents.replace("@NAMESPACE@", &self.namespace))
    }

    /// Creates Pods, all at once.
    pub fn run_pods(&self, pods: &[Pod<'_>]) -> Result<(), Error> {
        let mut documents = String::new();
        for pod in pods {
            let containers: Vec<_> = pod
                .images
                .iter()
                .enumerate()
                .map(|(index, image)| {
                    serde_json::json!({"name": format!("c{index}"), "image": image, "imagePullPolicy": pod.policy})
                })
                .collect();
            let secrets: Vec<_> =
                pod.pull_secret.iter().map(|name| serde_json::json!({"name": name})).collect();
            let pod = serde_json::json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod.name, "namespace": self.namespace},
                "spec": {
                    // Bound by name, so that no scheduler is needed; without a token, so that no ConfigMap with the CA is
                    // needed.
                    "nodeName": NAME, "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 1,
                    "serviceAccountName": pod.service_account,
                    "tolerations": [{"operator": "Exists"}], "imagePullSecrets": secrets, "containers": containers,
                },
            });
            // Writing to a String cannot fail.
            let _ = writeln!(documents, "---\n{pod}");
        }
        self.apply(&documents)
    }

    /// Waits until these Pods are Ready and returns how long it took. The error says why each remaining Pod is not Ready.
    pub fn wait_ready(&self, pods: &[Pod<'_>], within: Duration) -> Result<Duration, Error> {
        let begun = Instant::now();
        wait_until("the Pods are Ready", within, || {
            let listed = self.list("pods").map_err(|error| error.to_string())?;
            let state = |name: &str| {
                listed
                    .iter()
                    .find(|pod| pod["metadata"]["name"] == *name)
                    .map_or_else(|| Some("it does not exist".to_owned()), why_not_ready)
            };
            let waiting: Vec<_> = pods
                .iter()
                .filter_map(|pod| state(pod.name).map(|why| format!("{}: {why}", pod.name)))
                .collect();
            if waiting.is_empty() { Ok(begun.elapsed()) } else { Err(waiting.join("\n")) }
        })
    }

    /// Waits until the kubelet has reported a failed pull of the Pod, and returns its message.
    pub fn wait_failed_pull(&self, pod: &str) -> Result<String, Error> {
        wait_until(&format!("a pull for Pod {pod} fails"), PATIENCE, || {
            let failed = self.failed_pulls().map_err(|error| error.to_string())?;
            let message = failed.into_iter().find(|(name, _)| name == pod).map(|(_, message)| message);
            message.ok_or_else(|| self.describe(pod))
        })
    }

    /// Waits until a Pod is Ready or a pull for it has failed, and returns the reason if it has failed.
    pub fn wait_ready_or_failed(&self, pod: Pod<'_>, within: Duration) -> Result<Option<String>, Error> {
        wait_until(&format!("Pod {} is Ready or a pull for it fails", pod.name), within, || {
            if self.wait_ready(&[pod], Duration::ZERO).is_ok() {
                return Ok(None);
            }
            let failed = self.failed_pulls().map_err(|error| error.to_string())?;
            let message = failed.into_iter().find(|(name, _)| name == pod.name).map(|(_, message)| message);
            message.map(Some).ok_or_else(|| self.describe(pod.name))
        })
    }

    /// Returns all failed pulls in the namespace as (Pod, message), each as often as it happened.
    pub fn failed_pulls(&self) -> Result<Vec<(String, String)>, Error> {
        let mut failed = Vec::new();
        for event in self.list("events")? {
            let message = event["message"].as_str().unwrap_or_default();
            if event["reason"] == "Failed" && message.starts_with("Failed to pull image") {
                let pod = event["involvedObject"]["name"].as_str().unwrap_or_default();
                let count = event["count"].as_u64().unwrap_or(1);
                failed.extend((0..count).map(|_| (pod.to_owned(), message.to_owned())));
            }
        }
        Ok(failed)
    }

    /// Deletes all Pods of the namespace and waits until they are gone.
    pub fn delete_pods(&self) -> Result<(), Error> {
        self.node.kubectl().run(&["delete", "pods", "--all", "--now", "-n", &self.namespace]).map(drop)
    }

    /// Returns what happened in the auth folder since the scenario began, in order.
    pub fn auth_events(&mut self) -> Result<Vec<AuthEvent>, Error> {
        self.auth.events()
    }

    /// Returns the changes of auth files whose names begin with `name`, in order, each with whether it was in `in-use/`.
    pub fn auth_file_life(&mut self, name: &str) -> Result<Vec<(bool, Change)>, Error> {
        let in_use = |file: &str| file.starts_with("in-use/");
        let events = self.auth_events()?.into_iter();
        let plain = |file: &str| file.rsplit('/').next().is_some_and(|file| file.starts_with(name));
        let ours = events.filter(|event| plain(&event.file));
        Ok(ours.map(|event| (in_use(&event.file), event.change)).collect())
    }

    /// Returns the credentials that are in the auth folder now, taken or not.
    pub fn credentials_lying_about(&self) -> Result<Vec<String>, Error> {
        self.auth.files()
    }

    /// Returns the lines that a registry has logged since the scenario began.
    pub fn registry_log(&self, registry: &str) -> Result<Vec<String>, Error> {
        let mark =
            self.registry_marks.iter().find(|(name, _)| *name == registry).map_or(0, |(_, mark)| *mark);
        Ok(self.node.registry(registry)?.log().since(mark))
    }

    /// Returns what was sent to the node's journal since the scenario began.
    #[must_use]
    pub fn journal(&self) -> Vec<String> {
        self.node.journal().split_off(self.journal_mark)
    }

    /// Returns the kubelet's record of who may use the image of `repository`.
    pub fn pull_record(&self, repository: &str) -> Result<Option<Value>, Error> {
        let records = self.node.pull_records()?;
        let mut credentials = records.iter().map(|record| &record["credentialMapping"][repository]);
        Ok(credentials.find(|value| !value.is_null()).cloned())
    }

    /// Ends the scenario: deletes Pods and removes leftover credentials, so that the next scenario starts clean.
    fn end(&self) -> Result<(), Error> {
        self.delete_pods()?;
        self.auth.clear()
    }

    /// Returns Pods, events and auth folder as text, for a person who debugs a failure.
    fn state(&mut self) -> String {
        let kubectl = self.node.kubectl();
        let ask = |args: &[&str]| kubectl.run(args).unwrap_or_else(|error| error.to_string());
        format!(
            "{}\n{}\nauth folder: {:?}\nevents there: {:#?}\npull records: {:#?}\n",
            ask(&["get", "pods,secrets,serviceaccounts", "-A", "-o", "wide"]),
            ask(&["get", "events", "-A", "--sort-by=.lastTimestamp"]),
            self.auth.files(),
            self.auth.events(),
            self.node.pull_records(),
        )
    }

    fn list(&self, kind: &str) -> Result<Vec<Value>, Error> {
        let list = self.node.kubectl().json(&["get", kind, "-n", &self.namespace])?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    fn describe(&self, pod: &str) -> String {
        let pod = self.node.kubectl().json(&["get", "pod", pod, "-n", &self.namespace]);
        pod.map_or_else(|error| error.to_string(), |pod| pod["status"].to_string())
    }
}

/// Returns why a Pod is not Ready, in the kubelet's words; `None` if it is.
fn why_not_ready(pod: &Value) -> Option<String> {
    let of = |field: &str| pod["status"][field].as_array().cloned().unwrap_or_default();
    let ready = of("conditions")
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let waiting =
        of("containerStatuses").iter().map(|status| status["state"].to_string()).collect::<Vec<_>>();
    (!ready).then(|| format!("{} {}", pod["status"]["phase"], waiting.join(" ")))
}
