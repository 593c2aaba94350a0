//! The decision: which Roles and `RoleBinding`s there should be.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, ObjectReference};
use pullwright_api::access::{self, PullAccess};
use pullwright_api::names;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cache::ObjectKey;
use crate::write::{EventNote, Fingerprint, ObjectWrite, OwnObject, WantedObject, writes};

/// The reason of the Event about a namespace whose wish cannot be granted.
const INVALID_ACCESS: &str = "InvalidPullAccess";

/// A namespace with the label, and what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Its name.
    pub name: String,
    /// Which namespace of that name it is.
    pub uid: String,
    /// Whether it is being deleted, so that nothing can be created in it.
    pub ending: bool,
    /// The access that it asks for, or why it cannot be granted.
    pub access: Result<Option<PullAccess>, String>,
}

impl From<Namespace> for NamespaceFacts {
    fn from(namespace: Namespace) -> Self {
        let access = PullAccess::asked_for(&namespace).map_err(|error| error.to_string());
        Self {
            name: namespace.metadata.name.unwrap_or_default(),
            uid: namespace.metadata.uid.unwrap_or_default(),
            ending: namespace.metadata.deletion_timestamp.is_some(),
            access,
        }
    }
}

/// What is to be done.
#[derive(Debug, Default, PartialEq)]
pub struct NamespacesPlan {
    /// Writes of Roles.
    pub roles: Vec<ObjectWrite>,
    /// Writes of `RoleBinding`s.
    pub bindings: Vec<ObjectWrite>,
    /// What to tell namespaces whose wish cannot be granted. They keep what they have.
    pub events: Vec<EventNote>,
}

/// Decides.
#[must_use]
pub fn plan(
    namespaces: &[Arc<NamespaceFacts>],
    roles: &[OwnObject],
    bindings: &[OwnObject],
) -> NamespacesPlan {
    let (mut wanted_roles, mut wanted_bindings) = (Vec::new(), Vec::new());
    let mut events = Vec::new();
    let mut left_alone = BTreeSet::new();
    for namespace in namespaces {
        match &namespace.access {
            _ if namespace.ending => {
                left_alone.insert(namespace.name.as_str());
            }
            Ok(Some(access)) => {
                wanted_roles.push(wanted(&namespace.name, &access.role(), role_content));
                wanted_bindings.push(wanted(&namespace.name, &access.role_binding(), binding_content));
            }
            Ok(None) => {}
            Err(why) => {
                left_alone.insert(namespace.name.as_str());
                events.push(refusal(namespace, why));
            }
        }
    }
    let own = |objects: &[OwnObject]| -> Vec<OwnObject> {
        // An object of ours under another name is none of these.
        let of_these = objects.iter().filter(|own| own.key.name == access::NAME);
        of_these.filter(|own| !left_alone.contains(own.key.namespace.as_str())).cloned().collect()
    };
    NamespacesPlan {
        roles: writes(wanted_roles, own(roles)),
        bindings: writes(wanted_bindings, own(bindings)),
        events,
    }
}

/// What is compared of a Role.
pub(crate) fn role_content(role: &Value) -> Value {
    role["rules"].clone()
}

/// What is compared of a `RoleBinding`.
pub(crate) fn binding_content(binding: &Value) -> Value {
    json!({"roleRef": binding["roleRef"], "subjects": binding["subjects"]})
}

fn wanted(namespace: &str, object: &impl Serialize, content: fn(&Value) -> Value) -> WantedObject {
    let mut body = serde_json::to_value(object).unwrap_or_default();
    body["metadata"]["labels"][names::MANAGED_BY] = json!(names::OPERATOR);
    let key = ObjectKey { namespace: namespace.to_owned(), name: access::NAME.to_owned() };
    WantedObject { key, content: Fingerprint::of(&content(&body)), body }
}

fn refusal(namespace: &NamespaceFacts, why: &str) -> EventNote {
    EventNote {
        regarding: ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Namespace".to_owned()),
            name: Some(namespace.name.clone()),
            uid: Some(namespace.uid.clone()),
            // So that `kubectl get events` shows it where the team looks.
            namespace: Some(namespace.name.clone()),
            ..ObjectReference::default()
        },
        topic: None,
        reason: INVALID_ACCESS.to_owned(),
        note: why.to_owned(),
        warning: true,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    fn namespace(name: &str, labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> Arc<NamespaceFacts> {
        let owned = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect())
        };
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            uid: Some(format!("uid-{name}")),
            labels: owned(labels),
            annotations: owned(annotations),
            ..ObjectMeta::default()
        };
        Arc::new(Namespace { metadata, ..Namespace::default() }.into())
    }

    fn own(namespace: &str, write: &ObjectWrite) -> OwnObject {
        let (ObjectWrite::Create(wanted) | ObjectWrite::Replace(wanted, _)) = write else {
            panic!("{write:?}")
        };
        OwnObject {
            key: ObjectKey { namespace: namespace.to_owned(), name: access::NAME.to_owned() },
            uid: "u".to_owned(),
            resource_version: "1".to_owned(),
            content: wanted.content,
            size: 0,
        }
    }

    const NAMED: &[(&str, &str)] = &[(names::PULL_ACCESS, "named")];
    const SECRETS: &[(&str, &str)] = &[(names::PULL_SECRETS, "mirror-login")];

    #[test]
    fn a_labelled_namespace_gets_both_objects_once() {
        let namespaces = [namespace("a", NAMED, SECRETS)];
        let first = plan(&namespaces, &[], &[]);
        let ([role @ ObjectWrite::Create(_)], [binding @ ObjectWrite::Create(_)]) =
            (first.roles.as_slice(), first.bindings.as_slice())
        else {
            panic!("{first:?}")
        };
        let ObjectWrite::Create(body) = role else { unreachable!() };
        assert_eq!(body.body["rules"][0]["resourceNames"], json!(["mirror-login"]));
        assert_eq!(body.body["kind"], "Role");
        assert_eq!(plan(&namespaces, &[own("a", role)], &[own("a", binding)]), NamespacesPlan::default());
    }

    #[test]
    fn without_the_label_both_go() {
        let first = plan(&[namespace("a", NAMED, SECRETS)], &[], &[]);
        let then = plan(&[], &[own("a", &first.roles[0])], &[own("a", &first.bindings[0])]);
        assert!(matches!(then.roles[..], [ObjectWrite::Delete(_)]), "{then:?}");
        assert!(matches!(then.bindings[..], [ObjectWrite::Delete(_)]), "{then:?}");
    }

    #[test]
    fn a_wish_that_cannot_be_granted_changes_nothing_and_is_told() {
        let first = plan(&[namespace("a", NAMED, SECRETS)], &[], &[]);
        let wrong = [namespace("a", NAMED, &[(names::PULL_SECRETS, "Not A Name")])];
        let then = plan(&wrong, &[own("a", &first.roles[0])], &[own("a", &first.bindings[0])]);
        assert_eq!((then.roles.len(), then.bindings.len()), (0, 0));
        let [event] = then.events.as_slice() else { panic!("{then:?}") };
        assert_eq!(event.reason, INVALID_ACCESS);
        assert!(event.note.contains("Not A Name"), "{}", event.note);
    }
}
