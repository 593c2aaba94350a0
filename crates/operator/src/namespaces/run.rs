//! The pass of the controller.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::ApiResource;
use kube::runtime::watcher;
use kube::{Api, Client};
use pullwright_api::{access, names};
use tokio::sync::Notify;

use super::plan::{NamespaceFacts, binding_content, plan, role_content};
use crate::cache::{Cache, CacheState};
use crate::controller::{Controller, Pass};
use crate::metrics::Metrics;
use crate::write::{OwnObject, Said, WriteError, Writer};

/// The controller of labelled namespaces.
pub struct NamespacesController {
    namespaces: Cache<NamespaceFacts>,
    roles: Cache<OwnObject>,
    bindings: Cache<OwnObject>,
    writer: Writer,
    metrics: Metrics,
    said: Said,
}

impl NamespacesController {
    /// Starts the controller's caches. It tells `changed` when there is something to do.
    #[must_use]
    pub fn new(client: &Client, writer: Writer, metrics: Metrics, changed: &Arc<Notify>) -> Self {
        let labelled = watcher::Config::default().labels(names::PULL_ACCESS);
        // By name as well: the operator may read no other Roles and RoleBindings.
        let own = watcher::Config::default()
            .labels(&format!("{}={}", names::MANAGED_BY, names::OPERATOR))
            .fields(&format!("metadata.name={}", access::NAME));
        let told = || (Arc::clone(changed), metrics.clone());
        let start_roles = || {
            let (changed, metrics) = told();
            let trim = |role: Role| {
                let value = serde_json::to_value(&role).unwrap_or_default();
                OwnObject::new(&role.metadata, &role_content(&value))
            };
            Cache::start("Role", Api::all(client.clone()), own.clone(), trim, changed, metrics)
        };
        let start_bindings = || {
            let (changed, metrics) = told();
            let trim = |binding: RoleBinding| {
                let value = serde_json::to_value(&binding).unwrap_or_default();
                OwnObject::new(&binding.metadata, &binding_content(&value))
            };
            Cache::start("RoleBinding", Api::all(client.clone()), own.clone(), trim, changed, metrics)
        };
        let start_namespaces = || {
            let (changed, metrics) = told();
            let trim = |namespace: Namespace| namespace.into();
            Cache::start("Namespace", Api::all(client.clone()), labelled, trim, changed, metrics)
        };
        Self {
            roles: start_roles(),
            bindings: start_bindings(),
            namespaces: start_namespaces(),
            writer,
            metrics,
            said: Said::default(),
        }
    }

    /// Reports a failure. Returns whether there is no use in trying again. There is for a Role of somebody else: nobody tells us when it
    /// goes.
    fn report(&self, error: &WriteError) -> bool {
        let Some(category) = error.category() else { return true };
        self.metrics.error(Self::NAME, category);
        tracing::error!(controller = Self::NAME, reason = %category, "{error}");
        false
    }
}

impl Controller for NamespacesController {
    const NAME: &'static str = "namespaces";

    async fn pass(&mut self) -> Pass {
        let done = Pass { failed: false, again: None };
        let states = [self.namespaces.state(), self.roles.state(), self.bindings.state()];
        if states.iter().any(|state| *state != CacheState::Warm) {
            // Not all is read yet, which will be told; or not all may be read, so this is not for us to do.
            return done;
        }
        let owned = |cache: &Cache<OwnObject>| -> Vec<OwnObject> {
            cache.snapshot().iter().map(|own| OwnObject::clone(own)).collect()
        };
        let plan = plan(&self.namespaces.snapshot(), &owned(&self.roles), &owned(&self.bindings));
        let mut complete = true;
        let mut without_role = BTreeSet::new();
        for write in &plan.roles {
            if let Err(error) = self.writer.carry_out(&ApiResource::erase::<Role>(&()), write).await {
                complete &= self.report(&error);
                without_role.insert(&write.key().namespace);
            }
        }
        // A Role that is not ours may grant anything, so nobody is bound to it.
        let bindings = plan.bindings.iter().filter(|write| !without_role.contains(&write.key().namespace));
        for write in bindings {
            if let Err(error) = self.writer.carry_out(&ApiResource::erase::<RoleBinding>(&()), write).await {
                complete &= self.report(&error);
            }
        }
        for error in self.said.say(&self.writer, plan.events).await {
            complete &= self.report(&error);
        }
        Pass { failed: !complete, ..done }
    }
}
