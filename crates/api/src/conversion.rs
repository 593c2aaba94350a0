//! Converts objects of the API into the engine's values. The engine checks them and reports problems; nothing is checked
//! here.

use pullwright_engine::mirrors;

use crate::{
    Image, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet, MirrorRule, MirrorSourcePolicy,
    RegistrySources, RepositoryDigestMirrors, Scope,
};

impl From<ImageDigestMirrorSet> for mirrors::MirrorSet {
    fn from(object: ImageDigestMirrorSet) -> Self {
        Self {
            kind: mirrors::MirrorSetKind::ImageDigestMirrorSet,
            name: object.metadata.name.unwrap_or_default(),
            rules: object.spec.image_digest_mirrors.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<ImageTagMirrorSet> for mirrors::MirrorSet {
    fn from(object: ImageTagMirrorSet) -> Self {
        Self {
            kind: mirrors::MirrorSetKind::ImageTagMirrorSet,
            name: object.metadata.name.unwrap_or_default(),
            rules: object.spec.image_tag_mirrors.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<ImageContentSourcePolicy> for mirrors::MirrorSet {
    fn from(object: ImageContentSourcePolicy) -> Self {
        Self {
            kind: mirrors::MirrorSetKind::ImageContentSourcePolicy,
            name: object.metadata.name.unwrap_or_default(),
            rules: object.spec.repository_digest_mirrors.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<MirrorRule> for mirrors::MirrorSetRule {
    fn from(rule: MirrorRule) -> Self {
        Self { source: rule.source, mirrors: rule.mirrors, policy: rule.mirror_source_policy.map(Into::into) }
    }
}

impl From<RepositoryDigestMirrors> for mirrors::MirrorSetRule {
    fn from(rule: RepositoryDigestMirrors) -> Self {
        Self { source: rule.source, mirrors: rule.mirrors, policy: None }
    }
}

impl From<MirrorSourcePolicy> for mirrors::SourcePolicy {
    fn from(policy: MirrorSourcePolicy) -> Self {
        match policy {
            MirrorSourcePolicy::NeverContactSource => Self::NeverContactSource,
            MirrorSourcePolicy::AllowContactingSource => Self::AllowContactingSource,
        }
    }
}

/// Only the object named `cluster` has an effect. The caller has to pick it.
impl From<Image> for mirrors::RegistrySources {
    fn from(object: Image) -> Self {
        let RegistrySources {
            insecure_registries,
            blocked_registries,
            allowed_registries,
            container_runtime_search_registries,
        } = object.spec.registry_sources.unwrap_or_default();
        Self {
            insecure: texts(insecure_registries),
            blocked: texts(blocked_registries),
            allowed: texts(allowed_registries),
            search: container_runtime_search_registries,
        }
    }
}

fn texts(scopes: Option<Vec<Scope>>) -> Vec<String> {
    scopes.into_iter().flatten().map(|Scope(text)| text).collect()
}

#[cfg(test)]
mod tests {
    use pullwright_engine::mirrors::{
        MirrorSet, MirrorSetKind, MirrorSetRule, RegistrySources, SourcePolicy,
    };
    use serde_json::json;

    use super::*;

    fn rule(source: &str, mirrors: &[&str], policy: Option<SourcePolicy>) -> MirrorSetRule {
        let mirrors = mirrors.iter().map(|&mirror| mirror.to_owned()).collect();
        MirrorSetRule { source: source.to_owned(), mirrors, policy }
    }

    #[test]
    fn rules_keep_their_order_and_their_policy() {
        let object: ImageDigestMirrorSet = serde_json::from_value(json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet", "metadata": {"name": "ubi"},
            "spec": {"imageDigestMirrors": [
                {"source": "b.io", "mirrors": ["z.io", "a.io"], "mirrorSourcePolicy": "NeverContactSource"},
                {"source": "a.io", "mirrors": null},
            ]},
        }))
        .unwrap();
        let never = Some(SourcePolicy::NeverContactSource);
        assert_eq!(
            MirrorSet::from(object),
            MirrorSet {
                kind: MirrorSetKind::ImageDigestMirrorSet,
                name: "ubi".to_owned(),
                rules: vec![rule("b.io", &["z.io", "a.io"], never), rule("a.io", &[], None)],
            }
        );
    }

    #[test]
    fn lists_that_go_clients_write_as_null_are_empty() {
        let object: ImageContentSourcePolicy = serde_json::from_value(json!({
            "apiVersion": "operator.openshift.io/v1alpha1", "kind": "ImageContentSourcePolicy",
            "metadata": {"name": "none", "creationTimestamp": null}, "spec": {"repositoryDigestMirrors": null},
        }))
        .unwrap();
        assert_eq!(MirrorSet::from(object).rules, []);
    }

    #[test]
    fn no_search_list_is_not_an_empty_one() {
        let image = |spec| {
            let object = json!({"apiVersion": "config.openshift.io/v1", "kind": "Image", "metadata": {}, "spec": spec});
            RegistrySources::from(serde_json::from_value::<Image>(object).unwrap())
        };
        assert_eq!(image(json!({})), RegistrySources::default());
        let sources = image(json!({"registrySources": {
            "insecureRegistries": ["*.insecure.io"], "containerRuntimeSearchRegistries": ["quay.io"],
        }}));
        assert_eq!(sources.insecure, ["*.insecure.io"]);
        assert_eq!(sources.search.as_deref(), Some(["quay.io".to_owned()].as_slice()));
    }
}
