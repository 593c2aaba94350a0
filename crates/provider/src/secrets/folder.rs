//! Secrets from manifests on the node, for static Pods and for nodes without an API server.

use std::path::Path;
use std::time::Instant;

use pullwright_documents::documents;
use pullwright_engine::credentials::{Secret, WantedRepositories};
use pullwright_engine::kubelet::Namespace;
use pullwright_nodefiles::NodeRoot;
use serde_json::Value;

use super::{FoundSecrets, SecretsError};

/// The largest file to read: a Secret has at most 1 MiB, and its manifest a third more.
const FILE_MAX: u64 = 4 << 20;
/// How much to read of all files together.
const FOLDER_MAX: u64 = 64 << 20;

/// Reads the Secrets of a namespace from the manifests in a folder: files that end in `.yaml`, `.yml` or `.json`, each
/// with one or more documents, in the order of their names. A manifest without a namespace is for every namespace.
pub(crate) fn from_folder(
    node: &NodeRoot,
    folder: &Path,
    namespace: &Namespace,
    wanted: &WantedRepositories<'_>,
    deadline: Instant,
) -> Result<FoundSecrets, SecretsError> {
    let mut names =
        node.list(folder).map_err(|source| SecretsError::Folder { path: folder.to_owned(), source })?;
    names.retain(|name| {
        matches!(Path::new(name).extension().and_then(|end| end.to_str()), Some("yaml" | "yml" | "json"))
    });
    names.sort_unstable();
    let (mut found, mut room) = (FoundSecrets::default(), FOLDER_MAX);
    for name in names {
        let path = folder.join(name);
        if room == 0 || Instant::now() >= deadline {
            let why = if room == 0 { "the folder has more than 64 MiB" } else { "time is up" };
            found.leave_out_rest(format!("{} and all files behind it, since {why}", path.display()));
            break;
        }
        let read = node.read_text_within(&path, room.min(FILE_MAX));
        let read = read.map_err(|error| error.to_string());
        room = room.saturating_sub(read.as_ref().map_or(0, |text| text.len() as u64));
        let read = read.and_then(|text| documents(&text).map_err(|error| error.message));
        match read {
            Ok(documents) => {
                for document in documents {
                    add(&mut found, &document.value(), namespace, wanted);
                }
            }
            Err(why) => found.tell(format_args!("{}: {why}", path.display())),
        }
    }
    Ok(found)
}

fn add(found: &mut FoundSecrets, manifest: &Value, namespace: &Namespace, wanted: &WantedRepositories<'_>) {
    if let Some(items) = manifest.get("items").and_then(Value::as_array) {
        for item in items {
            add(found, item, namespace, wanted);
        }
    } else if manifest.get("kind").and_then(Value::as_str) == Some("Secret") {
        match Secret::from_manifest(manifest, namespace.as_str()) {
            Ok(secret) if secret.name.namespace != namespace.as_str() => {}
            Ok(secret) => found.add(Ok(secret), wanted),
            Err(error) => found.tell(error),
        }
    }
}
