//! Thousands of objects, for tests and benchmarks of large clusters.

use std::{
    collections::HashMap,
    fmt,
    panic::resume_unwind,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, ScopedJoinHandle},
};

use serde_json::{Value, json};

use super::ControlPlane;
use crate::{
    Error,
    client::{Client, Tls},
    process::Place,
};

/// The number of connections, each with a thread of its own.
const CONNECTIONS: usize = 6;

/// A Node as a kubelet registers it. An empty provider id means none.
#[must_use]
pub fn node(name: &str, runtime_version: &str, provider_id: &str, kubelet_version: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "spec": {"providerID": provider_id},
        "status": {
            "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
            "nodeInfo": {
                "architecture": "amd64", "bootID": "", "containerRuntimeVersion": runtime_version,
                "kernelVersion": "6.12.0", "kubeProxyVersion": "", "kubeletVersion": kubelet_version,
                "machineID": "", "operatingSystem": "linux", "osImage": "", "systemUUID": "",
            },
        },
    })
}

impl ControlPlane {
    /// Creates objects with their status, as the administrator, and returns how many.
    pub fn create_many(&self, objects: impl Iterator<Item = Value> + Send) -> Result<usize, Error> {
        self.for_each(objects, |api, object| {
            let collection = api.collection(object)?;
            let created = api.client.send(("POST", &collection), Some(("application/json", object)))?;
            // Most kinds ignore the status here. Nodes keep it, since a kubelet registers its Node with one request.
            if covers(&created["status"], &object["status"]) { Ok(()) } else { api.set_status(object) }
        })
    }

    /// Sets the status of existing objects, as the administrator, and returns how many. Fields that are not given stay as they
    /// are.
    pub fn set_status_of_many(&self, objects: impl Iterator<Item = Value> + Send) -> Result<usize, Error> {
        self.for_each(objects, Api::set_status)
    }

    /// Reads a path of the API, as the administrator: `None` if there is nothing. Hundreds of times cheaper than `kubectl`, for tests that
    /// wait for something.
    pub fn read(&self, path: &str) -> Result<Option<Value>, Error> {
        match self.ask(|api| api.client.send(("GET", path), None)) {
            Err(Error::Refused { status: 404, .. }) => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Applies an object on the server's side as `kubectl apply --server-side --force-conflicts` does, and returns it.
    pub fn apply_object(&self, object: &Value) -> Result<Value, Error> {
        self.ask(|api| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("{}/{name}?fieldManager=kubectl&force=true", api.collection(object)?);
            api.client.send(("PATCH", &path), Some(("application/apply-patch+yaml", object)))
        })
    }

    /// Asks over the one connection that is kept for this. If that was lost, with the API server, over a new one.
    fn ask<T>(&self, ask: impl Fn(&mut Api) -> Result<T, Error>) -> Result<T, Error> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Kept(api)) = kept.as_mut() {
            match ask(api) {
                Err(Error::Io { .. }) => {}
                answer => return answer,
            }
        }
        let Kept(api) = kept.insert(Kept(self.connect(&self.admin_of_many()?)?));
        ask(api)
    }

    fn admin_of_many(&self) -> Result<Tls, Error> {
        let admin = self.authority.client("admin-of-many", "admin", Some("system:masters"))?;
        Tls::new(&self.ca(), &admin)
    }

    fn connect(&self, tls: &Tls) -> Result<Api, Error> {
        let client = Client::connect(Place::Host, self.ports.api_from_here, Some(tls))?;
        Ok(Api { client, kinds: HashMap::new() })
    }

    /// Does something with each object, over several connections, until it fails for one.
    fn for_each(
        &self,
        objects: impl Iterator<Item = Value> + Send,
        act: impl Fn(&mut Api, &Value) -> Result<(), Error> + Sync,
    ) -> Result<usize, Error> {
        let tls = self.admin_of_many()?;
        let objects = Mutex::new(objects.fuse());
        let (done, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let work = || -> Result<(), Error> {
            let mut api = self.connect(&tls)?;
            while !failed.load(Ordering::Relaxed) {
                let next = objects.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some(object) = next else { break };
                act(&mut api, &object).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(work)).collect();
            let join =
                |worker: ScopedJoinHandle<_>| worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            workers.into_iter().try_for_each(join)
        })?;
        Ok(done.into_inner())
    }
}

/// The connection that is kept for single requests.
pub(super) struct Kept(Api);

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

/// One connection to the API, and what is known about kinds.
struct Api {
    client: Client,
    kinds: HashMap<String, Kind>,
}

/// How a kind is called in paths, and whether its objects are in namespaces.
#[derive(Clone)]
struct Kind {
    plural: String,
    namespaced: bool,
}

impl Api {
    fn set_status(&mut self, object: &Value) -> Result<(), Error> {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}/{name}/status", self.collection(object)?);
        let status = json!({"status": object["status"]});
        self.client.send(("PATCH", &path), Some(("application/merge-patch+json", &status))).map(drop)
    }

    /// The path of all objects of an object's kind, in its namespace.
    fn collection(&mut self, object: &Value) -> Result<String, Error> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let api = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let Kind { plural, namespaced } = self.kind(&api, &kind)?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let within = if namespaced { format!("namespaces/{namespace}/") } else { String::new() };
        Ok(format!("{api}/{within}{plural}"))
    }

    /// Asks the API server for a kind, once.
    fn kind(&mut self, api: &str, kind: &str) -> Result<Kind, Error> {
        let key = format!("{api}/{kind}");
        if let Some(kind) = self.kinds.get(&key) {
            return Ok(kind.clone());
        }
        let served = self.client.send(("GET", api), None)?;
        let found = served["resources"].as_array().into_iter().flatten().find_map(|resource| {
            let plural = resource["name"].as_str().filter(|name| !name.contains('/'))?.to_owned();
            let namespaced = resource["namespaced"].as_bool()?;
            (resource["kind"] == kind).then_some(Kind { plural, namespaced })
        });
        let found = found.ok_or_else(|| Error::Refused {
            request: format!("GET {api}"),
            status: 200,
            answer: format!("no kind {kind}"),
        })?;
        self.kinds.insert(key, found.clone());
        Ok(found)
    }
}

/// Whether everything in `part` is also in `whole`.
fn covers(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (_, Value::Null) => true,
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(key, value)| {
            // The API server leaves out empty text.
            whole.get(key).map_or(value == "" || value.is_null(), |found| covers(found, value))
        }),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| covers(whole, part))
        }
        _ => whole == part,
    }
}
