//! The objects that carry files to the nodes.

use pullwright_api::openshift::{self, machine_config_name};
use pullwright_api::{ConfigurationFile, NodeConfigurationSpec, NodeRuntime, names};
use pullwright_nodeconfig::NodeFile;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cache::ObjectKey;
use crate::category::Category;
use crate::write::{Fingerprint, WantedObject};

/// The longest request that etcd takes, and what the Machine Config Operator takes for a rendered configuration.
const LARGEST_OBJECT: usize = 1_572_864;
/// What the API server adds to an object before it stores it.
const ROOM_FOR_METADATA: usize = 16_384;
/// The longest file and the most files that the schema of `NodeConfiguration` takes.
const LARGEST_FILE: usize = 1_048_576;
const MOST_FILES: usize = 8_192;

type Refused = (Category, String);

/// What is compared of a `NodeConfiguration`.
pub(crate) fn node_configuration_content(object: &Value) -> Value {
    object["spec"].clone()
}

/// What is compared of a `MachineConfig`.
pub(crate) fn machine_config_content(object: &Value) -> Value {
    json!({
        "config": object["spec"]["config"],
        "role": object["metadata"]["labels"][openshift::ROLE],
    })
}

/// The `NodeConfiguration` with these files; `None` if there is nothing to bring.
pub(crate) fn node_configuration(
    runtime: NodeRuntime,
    files: &[NodeFile],
    provider: Option<&Value>,
) -> Result<Option<WantedObject>, Refused> {
    if files.is_empty() && provider.is_none() {
        return Ok(None);
    }
    if files.len() > MOST_FILES {
        let why = format!(
            "nodes with {} need {} files, and a NodeConfiguration holds {MOST_FILES}: use fewer sources",
            runtime.name(),
            files.len()
        );
        return Err((Category::TooLarge, why));
    }
    if let Some(file) = files.iter().find(|file| file.content.len() > LARGEST_FILE) {
        return Err(too_large(&file.path.display().to_string(), file.content.len(), LARGEST_FILE));
    }
    let spec = NodeConfigurationSpec {
        runtime,
        files: files.iter().map(configuration_file).collect(),
        credential_provider_config: provider.map(yaml),
    };
    let mut object = spec.into_object();
    object.metadata.labels = Some([(names::MANAGED_BY.to_owned(), names::OPERATOR.to_owned())].into());
    let name = object.metadata.name.clone().unwrap_or_default();
    wanted(name, &object, node_configuration_content, 0).map(Some)
}

/// The `MachineConfig` with these files for a pool; `None` if there is nothing to bring. `beside` is the size of everything else that the
/// pool gets, which ends up in one object with it.
pub(crate) fn machine_config(
    pool: &str,
    files: &[NodeFile],
    beside: usize,
) -> Result<Option<WantedObject>, Refused> {
    if files.is_empty() {
        return Ok(None);
    }
    let files: Vec<_> = files.iter().map(configuration_file).collect();
    let files = files.iter().map(|file| (file.path.as_str(), file.mode, file.content.as_str()));
    let object = openshift::machine_config(pool, files);
    wanted(machine_config_name(pool), &object, machine_config_content, beside).map(Some)
}

fn wanted(
    name: String,
    object: &impl Serialize,
    content: fn(&Value) -> Value,
    beside: usize,
) -> Result<WantedObject, Refused> {
    let refused = |error: serde_json::Error| (Category::Refused, format!("writing {name} as JSON: {error}"));
    let body = serde_json::to_value(object).map_err(refused)?;
    let size = body.to_string().len() + beside;
    let limit = LARGEST_OBJECT - ROOM_FOR_METADATA;
    if size > limit {
        return Err(too_large(&name, size, limit));
    }
    let content = Fingerprint::of(&content(&body));
    Ok(WantedObject { key: ObjectKey { namespace: String::new(), name }, body, content })
}

fn too_large(what: &str, size: usize, limit: usize) -> Refused {
    let why = format!(
        "{what} would have {size} bytes, and at most {limit} fit: use fewer or shorter mirror sets; the nodes keep what they have"
    );
    (Category::TooLarge, why)
}

fn configuration_file(file: &NodeFile) -> ConfigurationFile {
    ConfigurationFile {
        path: file.path.to_string_lossy().into_owned(),
        mode: i32::try_from(file.mode).unwrap_or_default(),
        content: file.content.clone(),
    }
}

/// A document as YAML. JSON is YAML too, so this also holds should the library ever refuse.
pub(crate) fn yaml(document: &Value) -> String {
    serde_saphyr::to_string(document).unwrap_or_else(|_| document.to_string())
}
