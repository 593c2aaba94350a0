//! `CredentialProviderConfig`: with which configurations the kubelet starts, and what it reads in them.

use pullwright_engine::kubelet::config::{ConfigError, config_files};
use pullwright_engine::kubelet::{
    ConfigFile, CredentialProviderConfig, ImagePattern, Provider, TokenAttributes, TokenCacheType,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::operation::{Operation, Report, fewer, up_to_the_character, without_a_character, without_a_part};
use crate::providers::config;
use crate::random::Random;

/// The operation.
pub(super) struct ProviderConfigs;

/// A file, or the files of a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Case {
    File(String),
    Directory(Vec<File>),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct File {
    name: String,
    text: String,
}

impl Operation for ProviderConfigs {
    const NAME: &'static str = "provider-config";
    const OP: &'static str = "providerconfig";
    const BATCH: usize = 16;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        if !random.one_in(8) {
            return Case::File(config(random));
        }
        let mut files = random.several(3, |random| File {
            name: random
                .pick(&["a.json", "b.yaml", "c.yml", "B.yaml", ".json", "d.txt", "e.json.bak", "f.JSON"])
                .to_owned(),
            text: config(random),
        });
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files.dedup_by(|a, b| a.name == b.name);
        Case::Directory(files)
    }

    fn questions(_: &Case) -> usize {
        1
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let ours = match load(case) {
            Err(error) => json!({ "error": up_to_the_character(&error.to_string()) }),
            Ok(_) if matches!(case, Case::Directory(_)) => json!({}),
            Ok(config) => json!({ "providers": config.providers.iter().map(described).collect::<Vec<_>>() }),
        };
        report.answer(|| "configuration".to_owned(), ours, &comparable(theirs));
    }

    fn shrink(case: &Case) -> Vec<Case> {
        match case {
            Case::File(text) => {
                let smaller = without_a_part(text, ',').into_iter().chain(without_a_character(text));
                smaller.filter(|text| text.starts_with('{')).map(Case::File).collect()
            }
            Case::Directory(files) => fewer(files).into_iter().map(Case::Directory).collect(),
        }
    }
}

fn load(case: &Case) -> Result<CredentialProviderConfig, ConfigError> {
    match case {
        Case::File(text) => {
            CredentialProviderConfig::load(&[ConfigFile { path: "$DIR/config.yaml", json: text.as_bytes() }])
        }
        Case::Directory(files) => {
            let names = config_files(files.iter().map(|file| file.name.as_str()));
            if names.is_empty() {
                return Err(ConfigError::NoFiles("$DIR/config.d".to_owned()));
            }
            let read: Vec<(String, &str)> = names
                .into_iter()
                .filter_map(|name| {
                    let file = files.iter().find(|file| file.name == name)?;
                    Some((format!("$DIR/config.d/{name}"), file.text.as_str()))
                })
                .collect();
            let files: Vec<ConfigFile<'_>> =
                read.iter().map(|(path, text)| ConfigFile { path, json: text.as_bytes() }).collect();
            CredentialProviderConfig::load(&files)
        }
    }
}

fn described(provider: &Provider) -> Value {
    let patterns: Vec<&str> = provider.match_images.iter().map(ImagePattern::as_str).collect();
    let env: Vec<Value> = provider.env.iter().map(|var| json!([var.name, var.value.expose()])).collect();
    json!({
        "name": provider.name,
        "match_images": patterns,
        "default_cache_duration": provider.default_cache_duration.to_string(),
        "api_version": provider.api_version.as_str(),
        "args": provider.args,
        "env": env,
        "token_attributes": provider.token_attributes.as_ref().map(described_token),
    })
}

fn described_token(token: &TokenAttributes) -> Value {
    json!({
        "audience": token.audience,
        "cache_type": match token.cache_type {
            TokenCacheType::ServiceAccount => "ServiceAccount",
            TokenCacheType::Token => "Token",
        },
        "require_service_account": token.require_service_account,
        "required_keys": token.required_annotation_keys,
        "optional_keys": token.optional_annotation_keys,
    })
}

/// The kubelet's answer without what the engine leaves out on purpose: the whole document, which may hold secrets, and
/// the place in Go source code; and with an absent list as an empty one.
fn comparable(theirs: &Value) -> Value {
    let mut theirs = theirs.clone();
    if let Some(error) = theirs["error"].as_str() {
        let error = ["' is missing in '", " in scheme \""]
            .iter()
            .fold(error, |error, cut| error.split_once(cut).map_or(error, |(before, _)| before));
        let end = if error.ends_with("Object 'Kind") || error.ends_with("Object 'apiVersion") {
            "' is missing"
        } else {
            ""
        };
        return json!({ "error": up_to_the_character(&format!("{error}{end}")) });
    }
    for provider in theirs.get_mut("providers").and_then(Value::as_array_mut).into_iter().flatten() {
        for list in ["/args", "/token_attributes/required_keys", "/token_attributes/optional_keys"] {
            if let Some(value) = provider.pointer_mut(list).filter(|value| value.is_null()) {
                *value = json!([]);
            }
        }
    }
    theirs
}
