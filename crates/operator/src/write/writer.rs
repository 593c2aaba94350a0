//! The one place that writes: only while this replica leads, within the time that the lease leaves, and never over what is not ours.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use pullwright_api::names::{MANAGED_BY, OPERATOR};
use pullwright_daemon::message;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::time::timeout;

use super::objects::{ObjectWrite, OwnObject, WantedObject};
use crate::cache::ObjectKey;
use crate::category::{Category, fields_of_others};
use crate::leader::Leadership;
use crate::metrics::Metrics;

/// The longest note that the API takes in an Event.
const NOTE_LIMIT: usize = 1024;

/// Why a write did not happen, or may not have happened.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WriteError {
    /// Another replica leads, or nobody does.
    #[error("this replica does not lead")]
    NotLeading,
    /// It failed.
    #[error("{verb} {kind} {name}: {why}")]
    Failed {
        /// What was to be done.
        verb: &'static str,
        /// The kind of the object.
        kind: String,
        /// Its name, with its namespace.
        name: String,
        /// The category.
        category: Category,
        /// What the API server says.
        why: String,
        /// The fields that somebody else owns.
        fields: Vec<String>,
    },
}

impl WriteError {
    /// The types of conditions that somebody else owns, and that could not be set for that reason.
    pub fn conditions_of_others(&self) -> impl Iterator<Item = &str> {
        let fields = match self {
            Self::NotLeading => &[],
            Self::Failed { fields, .. } => fields.as_slice(),
        };
        // `.status.conditions[type="Validated"].reason`
        fields.iter().filter_map(|field| Some(field.split_once("[type=\"")?.1.split_once('"')?.0))
    }

    /// The category, if it is a failure.
    #[must_use]
    pub fn category(&self) -> Option<Category> {
        match self {
            Self::NotLeading => None,
            Self::Failed { category, .. } => Some(*category),
        }
    }
}

/// Conditions for the status of an object that users write.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusWrite {
    /// The object's kind.
    pub resource: ApiResource,
    /// Its name.
    pub name: String,
    /// Which object of that name it is.
    pub uid: String,
    /// Which version of it this was decided for.
    pub resource_version: String,
    /// All of the operator's conditions in it.
    pub conditions: Vec<Condition>,
}

/// Something to say about an object, where its status has no room for it.
#[derive(Debug, Clone, PartialEq)]
pub struct EventNote {
    /// The object.
    pub regarding: ObjectReference,
    /// What stands for the object if it is made anew with every change: the same note about the same topic is said once. `None` for objects
    /// that stand for themselves.
    pub topic: Option<String>,
    /// Why, in one word.
    pub reason: String,
    /// What is to be said.
    pub note: String,
    /// Whether it is a warning.
    pub warning: bool,
}

impl EventNote {
    /// What is equal for notes that need not be said twice.
    pub(super) fn key(&self) -> String {
        match &self.topic {
            Some(topic) => format!("{:?}", (topic, &self.reason, &self.note)),
            None => format!("{:?}", (&self.regarding, &self.reason, &self.note)),
        }
    }
}

/// Writes for the controllers.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    leadership: Leadership,
    metrics: Metrics,
    identity: String,
    closed: Arc<AtomicBool>,
}

impl Writer {
    /// A writer for a replica of this name.
    #[must_use]
    pub fn new(client: Client, leadership: Leadership, metrics: Metrics, identity: &str) -> Self {
        Self { client, leadership, metrics, identity: identity.to_owned(), closed: Arc::default() }
    }

    /// Whether a write may begin: this replica leads, and is not about to end.
    #[must_use]
    pub fn leads(&self) -> bool {
        !self.closed.load(Ordering::Relaxed) && self.leadership.may_write()
    }

    /// Lets no further write begin.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Carries out a write of one of the operator's own objects.
    ///
    /// Returns which version of the object's spec there is then.
    ///
    /// # Errors
    /// If this replica does not lead, if an object of that name is somebody else's, or if the API server does not do it.
    pub async fn carry_out(
        &self,
        kind: &ApiResource,
        write: &ObjectWrite,
    ) -> Result<Option<i64>, WriteError> {
        let written = match write {
            ObjectWrite::Create(wanted) => self.create(kind, wanted).await?,
            ObjectWrite::Replace(wanted, present) => self.replace(kind, wanted, present).await?,
            ObjectWrite::Delete(present) => return self.delete(kind, present).await.map(|()| None),
        };
        Ok(written.metadata.generation)
    }

    /// Makes an object that does not exist. Unlike [`ObjectWrite::Create`] this never changes one that does, however late it arrives: an
    /// object that is not named by its content could say something else by then.
    ///
    /// Returns which version of the object's spec there is then.
    ///
    /// # Errors
    /// As [`Self::carry_out`].
    pub async fn make(&self, kind: &ApiResource, wanted: &WantedObject) -> Result<Option<i64>, WriteError> {
        let (api, shown) = (self.api(kind, &wanted.key), &wanted.key.to_string());
        let refused = |error: serde_json::Error| {
            failed("create", kind, shown, Category::Refused, format!("writing it as JSON: {error}"))
        };
        let object: DynamicObject = serde_json::from_value(wanted.body.clone()).map_err(refused)?;
        let parameters = PostParams { field_manager: Some(OPERATOR.to_owned()), ..PostParams::default() };
        let made = self.send("create", kind, shown, api.create(&parameters, &object)).await?;
        Ok(made.metadata.generation)
    }

    /// Changes some fields of one of the operator's own objects, and leaves the others as they are. `null` removes a field.
    ///
    /// Returns which version of the object's spec there is then.
    ///
    /// # Errors
    /// As [`Self::carry_out`].
    pub async fn change(
        &self,
        kind: &ApiResource,
        present: &OwnObject,
        changes: Value,
    ) -> Result<Option<i64>, WriteError> {
        let (api, name) = (self.api(kind, &present.key), &present.key.name);
        let mut body = changes;
        body["metadata"]["uid"] = json!(present.uid);
        body["metadata"]["resourceVersion"] = json!(present.resource_version);
        // Not by apply, which takes away everything that is not in this body; and a spec whose last field it takes away is `null` to it,
        // which the API server does not accept.
        let parameters = PatchParams { field_manager: Some(OPERATOR.to_owned()), ..PatchParams::default() };
        let (patch, shown) = (Patch::Merge(&body), present.key.to_string());
        let answer = self.send("patch", kind, &shown, api.patch(name, &parameters, &patch)).await?;
        Ok(answer.metadata.generation)
    }

    /// Sets the conditions of an object that users write. Conditions of other writers stay as they are.
    ///
    /// # Errors
    /// As [`Self::carry_out`]; and if somebody else owns one of the conditions, see [`WriteError::conditions_of_others`].
    pub async fn conditions(&self, write: &StatusWrite) -> Result<(), WriteError> {
        let (kind, name) = (&write.resource, write.name.as_str());
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), kind);
        let body = json!({
            "apiVersion": kind.api_version, "kind": kind.kind,
            "metadata": {"name": name, "uid": write.uid, "resourceVersion": write.resource_version},
            "status": {"conditions": write.conditions},
        });
        let (parameters, patch) = (PatchParams::apply(OPERATOR), Patch::Apply(&body));
        self.send("patch status of", kind, name, api.patch_status(name, &parameters, &patch)).await.map(drop)
    }

    /// Says something about an object. What was said already, also by another replica, is not said again.
    ///
    /// # Errors
    /// As [`Self::carry_out`].
    pub async fn event(&self, said: &EventNote) -> Result<(), WriteError> {
        let name = said.regarding.name.clone().unwrap_or_default();
        let namespace = said.regarding.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let digest = Sha256::digest(said.key());
        let suffix: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let event = Event {
            metadata: ObjectMeta {
                // The name of an object can be as long as that of an Event.
                name: Some(format!("{}.{suffix}", name.get(..200).unwrap_or(&name))),
                namespace: Some(namespace.clone()),
                ..ObjectMeta::default()
            },
            action: Some("Reconcile".to_owned()),
            event_time: Some(MicroTime(Timestamp::now())),
            note: Some(shortened(said.note.clone(), NOTE_LIMIT)),
            reason: Some(said.reason.clone()),
            regarding: Some(said.regarding.clone()),
            reporting_controller: Some(OPERATOR.to_owned()),
            reporting_instance: Some(self.identity.chars().take(128).collect()),
            type_: Some(if said.warning { "Warning" } else { "Normal" }.to_owned()),
            ..Event::default()
        };
        let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
        let kind = ApiResource::erase::<Event>(&());
        match self.send("create", &kind, &name, api.create(&PostParams::default(), &event)).await {
            Err(WriteError::Failed { category: Category::Conflict, .. }) => Ok(()),
            other => other.map(drop),
        }
    }

    async fn create(&self, kind: &ApiResource, wanted: &WantedObject) -> Result<DynamicObject, WriteError> {
        let (api, name) = (self.api(kind, &wanted.key), &wanted.key.name);
        let shown = &wanted.key.to_string();
        let present = self.send("get", kind, shown, api.get_metadata_opt(name)).await?;
        if let Some(present) = present {
            let ours = present.labels().get(MANAGED_BY).is_some_and(|by| by == OPERATOR);
            let (category, why) = if ours {
                (Category::Conflict, "it exists already; the watch has not shown it yet".to_owned())
            } else {
                (
                    Category::ForeignObject,
                    format!(
                        "an object of this name exists and does not carry the label {MANAGED_BY}={OPERATOR}; \
                         delete or rename it, or add the label to hand it over"
                    ),
                )
            };
            return Err(failed("create", kind, shown, category, why));
        }
        // By apply and not by POST, since RBAC can be limited to one name only for this verb. Without force: if somebody creates
        // another object of this name meanwhile, its owner keeps its fields.
        let (parameters, patch) = (PatchParams::apply(OPERATOR), Patch::Apply(&wanted.body));
        self.send("create", kind, shown, api.patch(name, &parameters, &patch)).await
    }

    async fn replace(
        &self,
        kind: &ApiResource,
        wanted: &WantedObject,
        present: &OwnObject,
    ) -> Result<DynamicObject, WriteError> {
        let (api, name) = (self.api(kind, &wanted.key), &wanted.key.name);
        let shown = &wanted.key.to_string();
        let mut body = wanted.body.clone();
        body["metadata"]["uid"] = json!(present.uid);
        body["metadata"]["resourceVersion"] = json!(present.resource_version);
        // With force: the object is ours as a whole, and whoever changed it by hand is overruled, as documented.
        let (parameters, patch) = (PatchParams::apply(OPERATOR).force(), Patch::Apply(&body));
        self.send("patch", kind, shown, api.patch(name, &parameters, &patch)).await
    }

    async fn delete(&self, kind: &ApiResource, present: &OwnObject) -> Result<(), WriteError> {
        let (api, name) = (self.api(kind, &present.key), &present.key.name);
        let shown = &present.key.to_string();
        let preconditions = Preconditions {
            uid: Some(present.uid.clone()),
            resource_version: Some(present.resource_version.clone()),
        };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let request = async {
            match api.delete(name, &parameters).await {
                // It is gone, which is what was wanted.
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
                other => other.map(drop),
            }
        };
        self.send("delete", kind, shown, request).await
    }

    fn api(&self, kind: &ApiResource, key: &ObjectKey) -> Api<DynamicObject> {
        if key.namespace.is_empty() {
            Api::all_with(self.client.clone(), kind)
        } else {
            Api::namespaced_with(self.client.clone(), &key.namespace, kind)
        }
    }

    /// Sends a request that is, or leads to, a write.
    async fn send<T>(
        &self,
        verb: &'static str,
        kind: &ApiResource,
        name: &str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        if !self.leads() {
            return Err(WriteError::NotLeading);
        }
        match timeout(self.leadership.write_timeout(), request).await {
            Ok(Ok(answer)) => {
                if verb != "get" {
                    self.metrics.wrote(&kind.kind, verb);
                    tracing::info!(kind = kind.kind, name, "{verb}");
                }
                Ok(answer)
            }
            Ok(Err(error)) => {
                let mut failed = failed(verb, kind, name, Category::of(&error), message(&error));
                if let (WriteError::Failed { fields, .. }, kube::Error::Api(status)) = (&mut failed, &error) {
                    fields.extend(fields_of_others(status).map(str::to_owned));
                }
                Err(failed)
            }
            Err(_) => Err(failed(verb, kind, name, Category::ApiUnavailable, "no answer in time".to_owned())),
        }
    }
}

fn failed(verb: &'static str, kind: &ApiResource, name: &str, category: Category, why: String) -> WriteError {
    WriteError::Failed {
        verb,
        kind: kind.kind.clone(),
        name: name.to_owned(),
        category,
        why,
        fields: Vec::new(),
    }
}

/// A text that fits.
pub(crate) fn shortened(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let end = (0..=limit - '…'.len_utf8()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}
