//! The files to migrate: their objects, and every reason why one cannot be migrated.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::ptr;

use pullwright_api::ImageContentSourcePolicy;
use pullwright_documents::{DocumentNode, NodeContent};
use pullwright_findings::{DocPath, Finding, Rule, Severity, rules};
use serde_json::Value;

use crate::diagnostic::{File, Message, Visibility};
use crate::inputs::manifests::{self, ManifestFile, Object, objects_of};
use crate::inputs::{mirror_sets, object_name};

const API_VERSION: &str = "operator.openshift.io/v1alpha1";
const KIND: &str = "ImageContentSourcePolicy";

/// The rules about objects that cannot be decoded; oc gives up at these too.
const NOT_DECODED: [&Rule; 4] = [
    &rules::mirrors::TYPE,
    &rules::mirrors::REQUIRED,
    &rules::mirrors::UNKNOWN_FIELD,
    &rules::mirrors::DUPLICATE_FIELD,
];
/// The rules about values that the API accepts in the old object but not in the new one, and about two objects of one name.
const NOT_ACCEPTED: [&Rule; 3] =
    [&rules::mirrors::INVALID_SOURCE, &rules::mirrors::INVALID_MIRROR, &rules::mirrors::REPLACED];

/// A file.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) policies: Vec<ImageContentSourcePolicy>,
    /// Why it cannot be migrated.
    pub(super) messages: Vec<Message>,
}

impl Source {
    pub(super) fn is_good(&self) -> bool {
        self.messages.is_empty()
    }
}

/// Reads all files. One that cannot be migrated does not stop the others.
pub(super) fn read(paths: &[PathBuf]) -> Vec<Source> {
    let (files, mut messages): (Vec<_>, Vec<_>) = paths.iter().map(|path| open(path)).unzip();
    let places: HashMap<_, _> =
        files.iter().enumerate().map(|(at, file)| (ptr::from_ref(file), at)).collect();
    // All at once, since objects of one name get in each other's way across files.
    for judged in mirror_sets::judge(mirror_sets::read(&files), None).verdicts {
        let of_this = places.get(&ptr::from_ref(judged.object.file));
        if let Some(messages) = of_this.and_then(|at| messages.get_mut(*at)) {
            messages.extend(
                judged.messages.into_iter().filter_map(|message| refusal(judged.object.file, message)),
            );
        }
    }
    let sources = paths.iter().zip(&files).zip(messages);
    sources.map(|((path, file), messages)| Source::new(path, file, messages)).collect()
}

/// The file, empty if it cannot be read.
fn open(path: &Path) -> (ManifestFile, Vec<Message>) {
    let shown = path.display();
    match manifests::read_text(path) {
        Err(error) => {
            let message = Message::error(format!("unable to read ImageContentSourceFile {shown}: {error}"));
            (ManifestFile::new(String::new(), path.to_owned()), vec![message])
        }
        Ok(text) => {
            let file = ManifestFile::new(text, path.to_owned());
            let messages = unreadable(&file);
            (file, messages)
        }
    }
}

/// Why the file is not migrated: it would lose a document.
fn unreadable(file: &ManifestFile) -> Vec<Message> {
    let shown = file.path.display();
    let told = |message: &Message| {
        let text = format!("error reading ImageContentSourcePolicy from {shown}: {}", message.text);
        Message { text, rule: None, ..message.clone() }
    };
    file.unreadable.iter().map(told).collect()
}

/// What is between two separators with nothing between them.
fn is_empty(document: &DocumentNode) -> bool {
    matches!(document.content, NodeContent::Leaf(Value::Null))
}

/// The findings of a mirror set that stop a migration. The others are true of the new object as well.
fn refusal(file: &ManifestFile, message: Message) -> Option<Message> {
    let message = Message { severity: Severity::Error, ..message };
    match message.rule? {
        rule if *rule == rules::mirrors::DUPLICATE_MIRROR => Some(message.with_help(
            "list the mirror once: the API rejects an ImageDigestMirrorSet with duplicate mirrors",
        )),
        rule if NOT_ACCEPTED.contains(&rule) => Some(message),
        rule if NOT_DECODED.contains(&rule) => {
            let text = not_decoded(&file.path, &message.text);
            Some(Message { text, ..message })
        }
        _ => None,
    }
}

fn not_decoded(path: &Path, why: &str) -> String {
    format!("error decoding ImageContentSourcePolicy from {}: {why}", path.display())
}

impl Source {
    fn new(path: &Path, file: &ManifestFile, mut messages: Vec<Message>) -> Self {
        let mut objects = Vec::new();
        for document in file.documents.iter().filter(|document| !is_empty(document)) {
            if document.get("kind").is_none() {
                let text = not_decoded(path, "Object 'Kind' is missing");
                messages.push(file.file().written(document).error(document.span.clone(), &text));
            }
            objects.extend(objects_of(document));
        }
        messages.extend(objects.iter().filter_map(|object| other_kind(file, *object)));
        if objects.is_empty() && messages.is_empty() {
            messages
                .push(Message::error(format!("no data found in ImageContentSourceFile {}", path.display())));
        }
        let mut policies = Vec::new();
        // Of a file that is refused anyway, there would be nothing new to tell.
        if messages.is_empty() {
            for object in objects {
                match policy(file, object) {
                    Ok(policy) => policies.push(policy),
                    Err(message) => messages.push(message),
                }
            }
        }
        Self { path: path.to_owned(), policies, messages }
    }
}

/// A message about an object, at its place.
fn told(file: &ManifestFile, object: Object<'_>, finding: &Finding) -> Message {
    File { visibility: Visibility::MirrorSet, ..file.file() }.written(object.node).finding(finding)
}

/// The object as the API's own type. Its rules are checked already.
fn policy(file: &ManifestFile, object: Object<'_>) -> Result<ImageContentSourcePolicy, Message> {
    let metadata = DocPath::root().key("metadata");
    let mut value = object.node.value();
    // Items of a typed list need not repeat what they are.
    if let Value::Object(members) = &mut value {
        members.insert("apiVersion".to_owned(), API_VERSION.into());
        members.insert("kind".to_owned(), KIND.into());
    }
    let policy: ImageContentSourcePolicy = serde_json::from_value(value).map_err(|_| {
        let text = not_decoded(&file.path, "metadata has a value of another type than the API's");
        let finding = Finding::new(&rules::migrate::METADATA, metadata.clone(), text);
        told(file, object, &finding)
    })?;
    let name = policy.metadata.name.as_deref().unwrap_or_default();
    if object_name::is_valid(name) {
        return Ok(policy);
    }
    let finding = Finding::new(&rules::migrate::NAME, metadata.key("name"), object_name::refusal(name));
    Err(told(file, object, &finding.with_help(object_name::HELP)))
}

/// The error for objects of other kinds, in oc's words: it knows some kinds and rejects all others.
fn other_kind(file: &ManifestFile, object: Object<'_>) -> Option<Message> {
    let Object { api_version, kind, .. } = object;
    if kind == KIND && api_version == API_VERSION {
        return None;
    }
    let text = if api_version.starts_with("operator.openshift.io/") {
        format!("could not decode ImageContentSourcePolicy from {}", file.path.display())
    } else {
        not_decoded(&file.path, &format!("no kind {kind:?} is registered for version {api_version:?}"))
    };
    let help = match kind {
        KIND => format!("write apiVersion: {API_VERSION}"),
        "ImageDigestMirrorSet" => "it needs no migration; remove it from the file".to_owned(),
        "ImageContentPolicy" => "this kind is not ImageContentSourcePolicy, and no node uses it".to_owned(),
        _ => "a file to migrate can hold only ImageContentSourcePolicy objects".to_owned(),
    };
    let finding = Finding::new(&rules::migrate::KIND, DocPath::root().key("kind"), text);
    Some(told(file, object, &finding.with_help(help)))
}
