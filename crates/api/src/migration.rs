//! Converts an `ImageContentSourcePolicy` into the equivalent `ImageDigestMirrorSet`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::{
    ImageContentSourcePolicy, ImageDigestMirrorSet, ImageDigestMirrorSetSpec, MirrorRule,
    RepositoryDigestMirrors,
};

/// What `kubectl apply` remembers about the old object, as text of the old kind.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Name, labels and annotations stay. What the API server gave the old object goes: with its `resourceVersion`, for one, the
/// new one could not be created.
impl From<ImageContentSourcePolicy> for ImageDigestMirrorSet {
    fn from(policy: ImageContentSourcePolicy) -> Self {
        let rules = policy.spec.repository_digest_mirrors.into_iter().map(MirrorRule::from).collect();
        Self {
            metadata: without_history(policy.metadata),
            spec: ImageDigestMirrorSetSpec { image_digest_mirrors: rules },
            status: None,
        }
    }
}

impl From<RepositoryDigestMirrors> for MirrorRule {
    fn from(rule: RepositoryDigestMirrors) -> Self {
        Self { source: rule.source, mirrors: rule.mirrors, mirror_source_policy: None }
    }
}

fn without_history(metadata: ObjectMeta) -> ObjectMeta {
    let annotations = metadata.annotations.map(|mut annotations| {
        annotations.remove(LAST_APPLIED);
        annotations
    });
    ObjectMeta {
        annotations: annotations.filter(|annotations| !annotations.is_empty()),
        creation_timestamp: None,
        deletion_grace_period_seconds: None,
        deletion_timestamp: None,
        generation: None,
        managed_fields: None,
        resource_version: None,
        self_link: None,
        uid: None,
        ..metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn migrated(policy: Value) -> Value {
        let policy: ImageContentSourcePolicy = serde_json::from_value(policy).unwrap();
        serde_json::to_value(ImageDigestMirrorSet::from(policy)).unwrap()
    }

    #[test]
    fn what_people_wrote_stays_and_what_the_api_server_wrote_goes() {
        let exported = json!({
            "apiVersion": "operator.openshift.io/v1alpha1", "kind": "ImageContentSourcePolicy",
            "metadata": {
                "name": "ubi", "labels": {"team": "a"},
                "annotations": {"owner": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
                "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 3, "resourceVersion": "12345",
                "uid": "0b0c", "selfLink": "/x", "managedFields": [{"manager": "kubectl", "operation": "Update"}],
            },
            "spec": {"repositoryDigestMirrors": [
                {"source": "b.io/b", "mirrors": ["z.io", "a.io"]}, {"source": "a.io"},
            ]},
            "status": {"conditions": []},
        });
        assert_eq!(
            migrated(exported),
            json!({
                "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet",
                "metadata": {"name": "ubi", "labels": {"team": "a"}, "annotations": {"owner": "b"}},
                "spec": {"imageDigestMirrors": [
                    {"source": "b.io/b", "mirrors": ["z.io", "a.io"]}, {"source": "a.io"},
                ]},
            })
        );
    }

    #[test]
    fn annotations_that_are_all_gone_leave_nothing_behind() {
        let applied = json!({
            "apiVersion": "operator.openshift.io/v1alpha1", "kind": "ImageContentSourcePolicy",
            "metadata": {"name": "ubi", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}},
            "spec": {},
        });
        assert_eq!(migrated(applied)["metadata"], json!({"name": "ubi"}));
    }
}
