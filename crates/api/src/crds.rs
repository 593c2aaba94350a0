//! The definitions of all kinds, as objects and as the files below `deploy/crds`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt as _;
use kube::core::crd::{MergeError, merge_crds};

use crate::{
    Image, ImageContentSourcePolicy, ImageDigestMirrorSet, ImageTagMirrorSet, NodeConfiguration, NodeState,
    v1, v1alpha1,
};

/// Distinguishes our definitions from OpenShift's.
const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "pullwright");

/// The definitions, in order of their names.
///
/// # Errors
/// If the versions of a kind do not fit together.
pub fn definitions() -> Result<Vec<CustomResourceDefinition>, MergeError> {
    let crio = [v1alpha1::CRIOCredentialProviderConfig::crd(), v1::CRIOCredentialProviderConfig::crd()];
    let mut definitions = vec![
        merge_crds(crio.into(), "v1")?,
        ImageContentSourcePolicy::crd(),
        ImageDigestMirrorSet::crd(),
        Image::crd(),
        ImageTagMirrorSet::crd(),
        NodeConfiguration::crd(),
        NodeState::crd(),
    ];
    definitions.iter_mut().for_each(finish);
    Ok(definitions)
}

/// What the derives cannot say, in one place.
fn finish(definition: &mut CustomResourceDefinition) {
    let labels = definition.metadata.labels.get_or_insert_default();
    labels.insert(PART_OF.0.to_owned(), PART_OF.1.to_owned());
    for version in &mut definition.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            // The title is the name of a Rust type, which users do not need.
            schema.title = None;
            no_nulls(schema);
        }
    }
}

/// `Option` becomes `nullable`, with which the API server would store a null. Without, it drops the field, as it does
/// with OpenShift's definitions: `has()` in a rule is false then, and no client ever reads a null.
fn no_nulls(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.properties.iter_mut().flat_map(|properties| properties.values_mut()).for_each(no_nulls);
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        no_nulls(items);
    }
}

/// A definition as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its name: the definition's, with `.yaml`.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// Why there are no files.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A definition cannot be made.
    #[error("making the definitions: {0}")]
    Definition(#[from] MergeError),
    /// A definition cannot be written.
    #[error("writing the definition {name}: {source}")]
    Write {
        /// Which.
        name: String,
        /// Why not.
        source: serde_saphyr::SerializeError,
    },
}

/// The definitions as files, in order of their names.
///
/// # Errors
/// If a definition cannot be made or written.
pub fn manifests() -> Result<Vec<Manifest>, ManifestError> {
    definitions()?.iter().map(manifest).collect()
}

fn manifest(definition: &CustomResourceDefinition) -> Result<Manifest, ManifestError> {
    let name = definition.metadata.name.clone().unwrap_or_default();
    match serde_saphyr::to_string(definition) {
        Ok(yaml) => Ok(Manifest {
            file: format!("{name}.yaml"),
            text: format!("# Made by `cargo xtask gen` from crates/api; do not edit.\n{yaml}"),
        }),
        Err(source) => Err(ManifestError::Write { name, source }),
    }
}
