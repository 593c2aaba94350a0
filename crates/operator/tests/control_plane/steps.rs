//! What the stories do to a world, and what they look at.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::Duration;

use pullwright_testkit::control_plane::{AuditEntry, AuditMark, node};
use serde_json::{Value, json};

use crate::world::{Replica, World, eventually};

/// The name of `CRIOCredentialProviderConfig/cluster` for kubectl.
pub(crate) const PROVIDER: (&str, &str) = ("criocredentialproviderconfig", "cluster");
/// How long nothing may happen for a cluster to be at rest: several times what a change takes to settle.
const REST: Duration = Duration::from_secs(4);

impl World {
    /// Nodes of a distribution that a kubelet's version tells.
    pub(crate) fn nodes_with_kubelet(&self, names: &[&str], runtime: &str, kubelet: &str) {
        self.plane.create_many(names.iter().map(|name| node(name, runtime, "", kubelet))).unwrap();
    }

    pub(crate) fn delete(&self, kind: &str, name: &str) {
        self.kubectl(&["delete", kind, name]);
    }

    /// Waits for a condition of `CRIOCredentialProviderConfig/cluster`, and returns its message.
    pub(crate) fn wait_for_provider(&self, type_: &str, status: &str, reason: &str) -> String {
        self.wait_for_condition(PROVIDER.0, PROVIDER.1, type_, status, reason)
    }

    /// Waits until there is a condition of `CRIOCredentialProviderConfig/cluster` with this message.
    pub(crate) fn wait_for_provider_message(&self, type_: &str, message: &str) {
        eventually(&format!("{type_} to say {message:?}"), || {
            let found = self.condition(PROVIDER.0, PROVIDER.1, type_).ok_or("it has no such condition")?;
            if found["message"] == message { Ok(()) } else { Err(format!("{found}")) }
        });
    }

    /// Waits until the `NodeConfiguration`s are as `wanted` says, and returns them.
    pub(crate) fn wait_for_configurations(
        &self,
        what: &str,
        wanted: impl Fn(&[Value]) -> bool,
    ) -> Vec<Value> {
        eventually(what, || {
            let found = self.list("nodeconfigurations");
            if wanted(&found) { Ok(found) } else { Err(format!("there are {:?}", names(&found))) }
        })
    }

    /// Waits until there is exactly one `NodeConfiguration` and it is as `wanted` says, and returns it.
    pub(crate) fn wait_for_the_configuration(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_for_configurations(what, |found| matches!(found, [one] if wanted(one))).remove(0)
    }

    /// Tells a node what to have, and reports for it as its agent does: what it has, and whether it is content.
    pub(crate) fn report(&self, node: &str, desired: Option<&str>, actual: Option<&str>, ready: &str) {
        let spec = desired.map_or(json!({}), |desired| json!({"configuration": desired}));
        let mut object = json!({
            "apiVersion": "pullwright.dev/v1alpha1", "kind": "NodeState", "metadata": {"name": node}, "spec": spec,
        });
        let told = self.plane.apply_object(&object).unwrap();
        let reason = if ready == "True" { "Applied" } else { "RolledBack" };
        object["status"] = json!({
            "observedGeneration": told["metadata"]["generation"], "configuration": actual,
            "conditions": [{
                "type": "Ready", "status": ready, "reason": reason, "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }],
        });
        self.plane.set_status_of_many([object].into_iter()).unwrap();
    }

    /// Waits until the operator has written nothing for a while, and returns all that it wrote since `mark`.
    pub(crate) fn writes_until_rest(&self, mark: AuditMark) -> Vec<AuditEntry> {
        eventually("the operator to be at rest", || {
            let before = self.mark();
            sleep(REST);
            let late = self.writes_since(before);
            if late.is_empty() { Ok(()) } else { Err(format!("it wrote {}", shown(&late))) }
        });
        self.writes_since(mark)
    }

    /// The operator's Events about an object.
    pub(crate) fn events(&self, kind: &str, name: &str) -> Vec<Value> {
        let about = |event: &Value| {
            event["regarding"]["kind"] == kind
                && event["regarding"]["name"] == name
                && event["reportingController"] == "pullwright-operator"
        };
        self.list("events.events.k8s.io").into_iter().filter(about).collect()
    }

    /// Waits for an Event with this reason, and returns its note.
    pub(crate) fn wait_for_event(&self, kind: &str, name: &str, reason: &str) -> String {
        eventually(&format!("an Event about {kind}/{name}: {reason}"), || {
            let events = self.events(kind, name);
            let found = events.iter().find(|event| event["reason"] == reason);
            found.map(|event| event["note"].as_str().unwrap().to_owned()).ok_or(format!("{events:?}"))
        })
    }
}

impl Replica {
    /// What it answers to a GET: the status and the body.
    pub(crate) fn get(&self, path: &str) -> std::io::Result<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok((status.unwrap_or_default(), body.to_owned()))
    }

    /// Waits until it has looked at everything and written what it had to.
    pub(crate) fn wait_for_pass(&self) {
        let passes = "pullwright_operator_reconciles_total{controller=\"nodes\"}";
        self.wait_for_metric(passes, |passes| passes > 0.5);
    }

    /// Waits until a sample of `/metrics`, such as `pullwright_operator_leads`, has a value that `wanted` takes.
    pub(crate) fn wait_for_metric(&self, sample: &str, wanted: impl Fn(f64) -> bool) {
        eventually(&format!("the metric {sample}"), || {
            let (_, text) = self.get("/metrics").map_err(|error| error.to_string())?;
            let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
            let value = line.and_then(|value| value.parse().ok());
            if value.is_some_and(&wanted) { Ok(()) } else { Err(format!("{value:?} in:\n{text}")) }
        });
    }
}

/// Writes to one kind of object, with the group: `nodeconfigurations.pullwright.dev`.
pub(crate) fn of_kind<'a>(writes: &'a [AuditEntry], resource: &str) -> Vec<&'a AuditEntry> {
    writes.iter().filter(|entry| entry.resource.as_deref() == Some(resource)).collect()
}

/// Writes in few words.
pub(crate) fn shown(writes: &[AuditEntry]) -> String {
    let line = |entry: &AuditEntry| {
        let object = entry.resource.as_deref().unwrap_or_default();
        format!(
            "{} {object} {} {:?}",
            entry.verb,
            entry.name.as_deref().unwrap_or_default(),
            entry.completed.map(|completed| completed.code)
        )
    };
    writes.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// The names of objects.
pub(crate) fn names(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(name).collect()
}

/// The name of an object.
pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

/// The content of a file of a `NodeConfiguration`; `None` if it has no such file.
pub(crate) fn file<'a>(configuration: &'a Value, path: &str) -> Option<&'a str> {
    let mut files = configuration["spec"]["files"].as_array()?.iter();
    files.find(|file| file["path"] == path)?["content"].as_str()
}

/// The images that a `NodeConfiguration` or a file makes the kubelet ask the plugin for.
pub(crate) fn plugin_images(yaml: &str) -> Vec<String> {
    let config: Value = serde_saphyr::from_str(yaml).unwrap();
    let providers = config["providers"].as_array().unwrap();
    let plugin = providers.iter().find(|provider| provider["name"] == "crio-credential-provider");
    let images = plugin.and_then(|plugin| plugin["matchImages"].as_array()).into_iter().flatten();
    images.map(|image| image.as_str().unwrap().to_owned()).collect()
}

/// An `ImageContentSourcePolicy` with these rules, which the API does not check.
pub(crate) fn content_source_policy(name: &str, rules: &[(&str, &[&str])]) -> Value {
    let rules: Vec<Value> =
        rules.iter().map(|(source, mirrors)| json!({"source": source, "mirrors": mirrors})).collect();
    json!({
        "apiVersion": "operator.openshift.io/v1alpha1", "kind": "ImageContentSourcePolicy", "metadata": {"name": name},
        "spec": {"repositoryDigestMirrors": rules},
    })
}
