//! The decision: what becomes of each entry of `matchImages`, and the kubelet's `CredentialProviderConfig` with the plugin in it.

use std::collections::BTreeSet;

use pullwright_engine::kubelet::{ImagePattern, PLUGIN};
use serde_json::{Value, json};
use thiserror::Error;

/// What becomes of the entries of `matchImages`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderEntries {
    /// The entries that the kubelet asks the plugin for, sorted and each once.
    pub applied: Vec<String>,
    /// The entries that are left out because another provider is asked for the same images.
    pub conflicts: Vec<Conflict>,
    /// The entries that are left out because they cannot do what they say.
    pub invalid: Vec<InvalidEntry>,
}

/// How the kubelet runs the plugin: what the user of `matchImages` does not decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginSettings {
    /// For whom the kubelet makes the Pod's token: one of the API server's audiences.
    pub audience: String,
    /// The plugin's arguments.
    pub args: Vec<String>,
    /// The annotations of the service account that the plugin is told.
    pub annotation_keys: Vec<String>,
}

/// An entry that another provider claims too. With two providers for one image the kubelet runs both, and which credential it
/// tries first depends on the order of keys; so the provider that was there keeps it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// The entry.
    pub entry: String,
    /// The other provider.
    pub provider: String,
    /// The first of its patterns that can match an image that the entry matches.
    pub pattern: String,
}

/// An entry that the API accepts and that is still wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InvalidEntry {
    /// The entry.
    pub entry: String,
    /// What is wrong.
    pub why: WhyInvalid,
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum WhyInvalid {
    /// The kubelet would not start with it.
    #[error("the kubelet refuses it: {0}")]
    Refused(String),
    /// `*:5000` or `*/path`: the API refuses `*` alone, and this is the same again.
    #[error("it matches every host of one label; name the host")]
    EveryHost,
}

/// Decides about each entry. `existing` are the files as they are without us, with the clouds' own providers in them, as JSON.
#[must_use]
pub fn entries(match_images: &[String], existing: &[&Value]) -> ProviderEntries {
    let others: Vec<_> = existing.iter().flat_map(|file| other_patterns(file)).collect();
    let mut entries = ProviderEntries::default();
    for entry in match_images.iter().collect::<BTreeSet<_>>() {
        match judge(entry, &others) {
            Ok(None) => entries.applied.push(entry.clone()),
            Ok(Some(conflict)) => entries.conflicts.push(conflict),
            Err(why) => entries.invalid.push(InvalidEntry { entry: entry.clone(), why }),
        }
    }
    entries
}

/// The kubelet's file with the plugin in it; `None` if the plugin is asked for nothing, so that the file stays as it was without it.
/// What `existing` holds is kept as it is, and the plugin comes behind it.
#[must_use]
pub fn provider_file(
    existing: Option<&Value>,
    applied: &[String],
    settings: &PluginSettings,
) -> Option<Value> {
    (!applied.is_empty()).then(|| with_plugin(existing, applied, settings))
}

/// A provider that is not ours, and one of its patterns.
struct OtherPattern<'a> {
    provider: &'a str,
    pattern: ImagePattern,
}

fn other_patterns(existing: &Value) -> Vec<OtherPattern<'_>> {
    let mut patterns = Vec::new();
    let providers = existing["providers"].as_array().into_iter().flatten();
    for provider in providers.filter(|provider| provider["name"] != PLUGIN) {
        let name = provider["name"].as_str().unwrap_or_default();
        for pattern in provider["matchImages"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            // One that the kubelet refuses matches nothing, and is the business of whoever wrote it.
            let parsed = ImagePattern::parse(pattern).ok();
            patterns.extend(parsed.map(|pattern| OtherPattern { provider: name, pattern }));
        }
    }
    patterns
}

fn judge(entry: &str, others: &[OtherPattern<'_>]) -> Result<Option<Conflict>, WhyInvalid> {
    let pattern = ImagePattern::parse(entry).map_err(|error| WhyInvalid::Refused(error.to_string()))?;
    if pattern.url().split_host().0 == b"*" {
        return Err(WhyInvalid::EveryHost);
    }
    let conflict = others.iter().find(|other| other.pattern.overlaps(&pattern));
    Ok(conflict.map(|other| Conflict {
        entry: entry.to_owned(),
        provider: other.provider.to_owned(),
        pattern: other.pattern.shown().to_owned(),
    }))
}

/// The file with the plugin behind all that it has. A plugin that is in it already keeps its place and its settings, so that an
/// administrator may have changed those.
fn with_plugin(existing: Option<&Value>, match_images: &[String], settings: &PluginSettings) -> Value {
    let mut file = existing.cloned().unwrap_or_else(|| {
        json!({"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig", "providers": []})
    });
    let mut plugin = json!({
        "name": PLUGIN,
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        "matchImages": match_images,
        // The answer is empty, or holds for one pull only: there is nothing to keep.
        "defaultCacheDuration": "0s",
        "tokenAttributes": {
            "serviceAccountTokenAudience": settings.audience,
            "cacheType": "Token",
            "requireServiceAccount": false,
        },
    });
    if !settings.args.is_empty() {
        plugin["args"] = json!(settings.args);
    }
    if !settings.annotation_keys.is_empty() {
        plugin["tokenAttributes"]["optionalServiceAccountAnnotationKeys"] = json!(settings.annotation_keys);
    }
    if !file["providers"].is_array() {
        file["providers"] = json!([]);
    }
    if let Some(providers) = file["providers"].as_array_mut() {
        match providers.iter_mut().find(|provider| provider["name"] == PLUGIN) {
            Some(present) => present["matchImages"] = json!(match_images),
            None => providers.push(plugin),
        }
    }
    file
}
