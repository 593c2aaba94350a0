//! Reads the objects of a cluster: each kind is listed in pages, and watched from there if someone waits for changes.
//!
//! A kind that the cluster does not have, that you may not list, or that holds objects nobody can parse says so in its own place. The
//! others are read all the same.

use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::core::DeserializeGuard;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use pullwright_api::names::{MANAGED_BY, OPERATOR, OPERATOR_NAMESPACE};
use pullwright_api::openshift::{MachineConfig, MachineConfigPool};
use pullwright_api::{
    Image, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet, MirrorSetStatus,
    NodeConfiguration, NodeState, v1,
};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::sleep;

use super::connect::told;
use super::objects::{Access, ClusterObjects, JudgedObject, Listed};

/// How long to wait before a kind is listed again that could not be listed or watched.
const AGAIN_AFTER: Duration = Duration::from_secs(10);
/// How many changes may wait to be taken in.
const CHANGES: usize = 64;

/// A change of what is known.
pub(super) type Change = Box<dyn FnOnce(&mut ClusterObjects) + Send>;

/// How long to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Until each kind is listed once.
    Listed,
    /// For ever: what was listed is watched.
    Interrupted,
}

/// Reads all kinds at the same time, on the runtime that this is called on.
pub(super) fn changes(client: &Client, until: Until) -> Receiver<Change> {
    let (sender, changes) = mpsc::channel(CHANGES);
    let lease = watcher::Config::default().fields(&format!("metadata.name={OPERATOR}"));
    // Those of other operators are many and large.
    let ours = watcher::Config::default().labels(&format!("{MANAGED_BY}={OPERATOR}"));
    let reading = Reading { client: client.clone(), until, sender };
    reading.kind_in(
        Api::namespaced(client.clone(), OPERATOR_NAMESPACE),
        lease,
        |all| &mut all.leases,
        Lease::into,
    );
    reading
        .kind(|all| &mut all.digest_sets, |set: ImageDigestMirrorSet| mirror_set(&set.metadata, set.status));
    reading.kind(|all| &mut all.tag_sets, |set: ImageTagMirrorSet| mirror_set(&set.metadata, set.status));
    reading
        .kind(|all| &mut all.policies, |set: ImageContentSourcePolicy| mirror_set(&set.metadata, set.status));
    reading.kind(|all| &mut all.images, |image: Image| judged(&image.metadata, Vec::new()));
    reading.kind(
        |all| &mut all.providers,
        |object: v1::CRIOCredentialProviderConfig| {
            judged(&object.metadata, object.status.unwrap_or_default().conditions)
        },
    );
    reading.kind(|all| &mut all.configurations, NodeConfiguration::into);
    reading.kind(|all| &mut all.states, NodeState::into);
    reading.kind_in(Api::all(client.clone()), ours, |all| &mut all.machine_configs, |_: MachineConfig| ());
    reading.kind(|all| &mut all.pools, MachineConfigPool::into);
    reading.kind(|all| &mut all.nodes, Node::into);
    changes
}

fn mirror_set(metadata: &ObjectMeta, status: Option<MirrorSetStatus>) -> JudgedObject {
    judged(metadata, status.unwrap_or_default().conditions)
}

fn judged(metadata: &ObjectMeta, conditions: Vec<Condition>) -> JudgedObject {
    JudgedObject { generation: metadata.generation.unwrap_or_default(), conditions }
}

/// What reading every kind needs.
struct Reading {
    client: Client,
    until: Until,
    sender: Sender<Change>,
}

impl Reading {
    /// Reads all objects of a kind.
    fn kind<K, T>(&self, place: fn(&mut ClusterObjects) -> &mut Listed<T>, cut: fn(K) -> T)
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
        T: Send + 'static,
    {
        self.kind_in(Api::all(self.client.clone()), watcher::Config::default(), place, cut);
    }

    /// Reads some objects of a kind.
    fn kind_in<K, T>(
        &self,
        api: Api<DeserializeGuard<K>>,
        config: watcher::Config,
        place: fn(&mut ClusterObjects) -> &mut Listed<T>,
        cut: fn(K) -> T,
    ) where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
        T: Send + 'static,
    {
        let (until, sender) = (self.until, self.sender.clone());
        tokio::spawn(async move {
            let kind = KindReader { api, config, place, cut };
            // Nobody listens any more if a change cannot be sent, and then there is nothing to do.
            while let Ok(()) = kind.read(until, &sender).await {
                if until == Until::Listed {
                    break;
                }
                sleep(AGAIN_AFTER).await;
            }
        });
    }
}

/// Reads one kind. Each object is cut down to what the report needs before the next one is parsed.
struct KindReader<K, T> {
    api: Api<DeserializeGuard<K>>,
    config: watcher::Config,
    place: fn(&mut ClusterObjects) -> &mut Listed<T>,
    cut: fn(K) -> T,
}

impl<K, T> KindReader<K, T>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    T: Send + 'static,
{
    /// Lists the kind, then watches it until that fails. A watch that fails says nothing: what the next list says counts.
    async fn read(
        &self,
        until: Until,
        sender: &Sender<Change>,
    ) -> Result<(), mpsc::error::SendError<Change>> {
        let place = self.place;
        let mut events = pin!(watcher(self.api.clone(), self.config.clone()));
        // A list is taken in when it is whole, so that no report shows half of one.
        let mut list: Listed<T> = Listed::default();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => list = Listed::default(),
                Ok(Event::InitApply(object)) => {
                    let (name, object) = self.cut(object);
                    list.put(name, object);
                }
                Ok(Event::InitDone) => {
                    let whole = Listed { access: Access::Read, ..std::mem::take(&mut list) };
                    sender.send(Box::new(move |all| *place(all) = whole)).await?;
                    if until == Until::Listed {
                        return Ok(());
                    }
                }
                Ok(Event::Apply(object)) => {
                    let (name, object) = self.cut(object);
                    sender.send(Box::new(move |all| place(all).put(name, object))).await?;
                }
                Ok(Event::Delete(object)) => {
                    let name = object.name_any();
                    sender.send(Box::new(move |all| place(all).remove(&name))).await?;
                }
                Err(watcher::Error::InitialListFailed(error)) => {
                    let access = self.access(&error).await;
                    return sender.send(Box::new(move |all| place(all).lose(access))).await;
                }
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Why the kind cannot be listed.
    async fn access(&self, error: &kube::Error) -> Access {
        match error {
            kube::Error::Api(status) if status.code == 404 => Access::NotServed,
            // The API server checks what you may do before it looks for the kind.
            kube::Error::Api(status) if status.code == 403 && !K::group(&()).is_empty() => {
                let client = self.api.clone().into_client();
                match client.list_api_group_resources(&K::api_version(&())).await {
                    Ok(served) if served.resources.iter().any(|kind| kind.name == K::plural(&())) => {
                        Access::Forbidden
                    }
                    Ok(_) => Access::NotServed,
                    Err(kube::Error::Api(status)) if status.code == 404 => Access::NotServed,
                    Err(_) => Access::Forbidden,
                }
            }
            kube::Error::Api(status) if status.code == 403 => Access::Forbidden,
            error => Access::Failed(told(error)),
        }
    }

    fn cut(&self, object: DeserializeGuard<K>) -> (String, Result<T, String>) {
        let name = object.name_any();
        (name, object.0.map(self.cut).map_err(|invalid| invalid.error))
    }
}
