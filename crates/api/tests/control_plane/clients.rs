//! What clients made for OpenShift rely on: names and short names, and objects that come back as the types read them.

use pullwright_api::{
    ImageContentSourcePolicy, ImageDigestMirrorSet, ImageDigestMirrorSetSpec, MirrorRule, MirrorSourcePolicy,
    v1,
};
use serde_json::json;

use crate::world::WORLD;

#[test]
fn kinds_have_the_names_that_openshift_gives_them() {
    let config =
        WORLD.kubectl(&["api-resources", "--api-group=config.openshift.io", "--no-headers"]).unwrap();
    let operator =
        WORLD.kubectl(&["api-resources", "--api-group=operator.openshift.io", "--no-headers"]).unwrap();
    let mut lines: Vec<_> = config
        .lines()
        .chain(operator.lines())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "criocredentialproviderconfigs config.openshift.io/v1 false CRIOCredentialProviderConfig",
            "imagecontentsourcepolicies operator.openshift.io/v1alpha1 false ImageContentSourcePolicy",
            "imagedigestmirrorsets idms config.openshift.io/v1 false ImageDigestMirrorSet",
            "images config.openshift.io/v1 false Image",
            "imagetagmirrorsets itms config.openshift.io/v1 false ImageTagMirrorSet",
        ]
    );
}

#[test]
fn the_api_gives_back_what_the_types_wrote() {
    let mut object = ImageDigestMirrorSet::new(
        "types",
        ImageDigestMirrorSetSpec {
            image_digest_mirrors: vec![
                MirrorRule {
                    source: "*.redhat.io".to_owned(),
                    mirrors: vec!["z.example.io/redhat".to_owned(), "a.example.io".to_owned()],
                    mirror_source_policy: Some(MirrorSourcePolicy::NeverContactSource),
                },
                MirrorRule { source: "quay.io".to_owned(), ..MirrorRule::default() },
            ],
        },
    );
    object.metadata.labels = Some([("team".to_owned(), "a".to_owned())].into());
    WORLD.with(&["create"], &serde_json::to_value(&object).unwrap()).unwrap();
    let stored: ImageDigestMirrorSet = serde_json::from_value(WORLD.get("idms", "types")).unwrap();
    assert_eq!(stored.spec, object.spec);
    assert_eq!(stored.metadata.labels, object.metadata.labels);
}

#[test]
fn the_least_object_reads_as_the_types_have_it() {
    let object = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "CRIOCredentialProviderConfig", "metadata": {"name": "cluster"},
        "spec": {},
    });
    let read: v1::CRIOCredentialProviderConfig = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), object);
}

#[test]
fn a_policy_that_is_migrated_from_the_cluster_can_be_created_beside_the_old_one() {
    let policy = json!({
        "apiVersion": "operator.openshift.io/v1alpha1", "kind": "ImageContentSourcePolicy",
        "metadata": {"name": "migrated", "labels": {"team": "a"}},
        "spec": {"repositoryDigestMirrors": [{"source": "*.redhat.io", "mirrors": ["z.io", "a.io/b"]}]},
    });
    WORLD.with(&["apply"], &policy).unwrap();
    let stored: ImageContentSourcePolicy =
        serde_json::from_value(WORLD.get("imagecontentsourcepolicy", "migrated")).unwrap();
    assert!(stored.metadata.resource_version.is_some(), "with which nothing can be created");
    let set = ImageDigestMirrorSet::from(stored);
    WORLD.with(&["create"], &serde_json::to_value(&set).unwrap()).unwrap();
    let created: ImageDigestMirrorSet = serde_json::from_value(WORLD.get("idms", "migrated")).unwrap();
    assert_eq!(created.spec, set.spec);
    assert_eq!(created.metadata.annotations, None, "what kubectl remembers of the old object stays with it");
}
