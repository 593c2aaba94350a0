//! Secrets from manifests on the node, for static Pods and for nodes without an API server.

use std::path::Path;

use pullwright_documents::documents;
use pullwright_engine::credentials::Secret;
use pullwright_engine::kubelet::Namespace;
use pullwright_nodefiles::NodeRoot;
use serde_json::Value;

use super::{Found, SecretsError};

/// Reads the Secrets of a namespace from the manifests in a folder: files that end in `.yaml`, `.yml` or `.json`, each with
/// one or several documents, in the order of file names. A manifest without namespace is for every namespace.
pub(crate) fn from_folder(
    node: &NodeRoot,
    folder: &Path,
    namespace: &Namespace,
) -> Result<Found, SecretsError> {
    let mut names =
        node.list(folder).map_err(|source| SecretsError::Folder { path: folder.to_owned(), source })?;
    names.retain(|name| {
        matches!(Path::new(name).extension().and_then(|end| end.to_str()), Some("yaml" | "yml" | "json"))
    });
    names.sort_unstable();
    let mut found = Found::default();
    for name in names {
        let path = folder.join(name);
        let read = node.read_text(&path).map_err(|error| error.to_string());
        let read = read.and_then(|text| documents(&text).map_err(|error| error.message));
        match read {
            Ok(documents) => {
                for document in documents {
                    add(&mut found, &document.value(), namespace);
                }
            }
            Err(why) => found.unusable.push(format!("{}: {why}", path.display())),
        }
    }
    Ok(found)
}

fn add(found: &mut Found, manifest: &Value, namespace: &Namespace) {
    if let Some(items) = manifest.get("items").and_then(Value::as_array) {
        for item in items {
            add(found, item, namespace);
        }
    } else if manifest.get("kind").and_then(Value::as_str) == Some("Secret") {
        match Secret::from_manifest(manifest, namespace.as_str()) {
            Ok(secret) if secret.name.namespace != namespace.as_str() => {}
            Ok(secret) => found.add(Ok(secret)),
            Err(error) => found.unusable.push(error.to_string()),
        }
    }
}
