//! The kubelet's rules for a `CredentialProviderConfig`, in its order and with its messages.

use std::collections::BTreeSet;

use super::config::{CredentialProviderConfig, EnvVar, Provider, TokenAttributes, TokenCacheType};
use super::decode::{RawProvider, RawTokenAttributes};
use super::exec::ApiVersion;
use super::label_key::label_key_faults;
use super::matching::ImagePattern;
use pullwright_findings::DocPath;
use pullwright_golang::marshal::{marshal_text, marshal_texts};
use pullwright_golang::quote::quote;

/// A broken rule. The kubelet's message does not name the provider; the path does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The path, counting the providers of all files together.
    pub at: DocPath,
    /// The kubelet's message.
    pub message: String,
}

/// Combines all violations as the kubelet does: each message once, in brackets if there are several.
pub(super) fn summary(violations: &[Violation]) -> String {
    let mut seen = BTreeSet::new();
    let texts = violations.iter().map(|violation| violation.message.as_str());
    let texts: Vec<_> = texts.filter(|text| seen.insert(*text)).collect();
    match texts[..] {
        [text] => text.to_owned(),
        _ => format!("[{}]", texts.join(", ")),
    }
}

/// Returns the configuration if no rule is broken.
pub(super) fn validate(raw: Vec<RawProvider>) -> Result<CredentialProviderConfig, Vec<Violation>> {
    let root = FieldPlace { at: DocPath::root().key("providers"), field: "providers".to_owned() };
    let mut violations = Violations::default();
    if raw.is_empty() {
        violations.required(&root, "at least 1 item in plugins is required");
    }
    let mut names = BTreeSet::new();
    let mut providers = Vec::new();
    for (index, provider) in raw.into_iter().enumerate() {
        let place = FieldPlace { at: root.at.index(index), field: root.field.clone() };
        violations.name(&place.child("name"), &provider.name, !names.insert(provider.name.clone()));
        providers.extend(violations.provider(&place, provider));
    }
    if violations.0.is_empty() { Ok(CredentialProviderConfig { providers }) } else { Err(violations.0) }
}

/// A field: its path, and the kubelet's name for it.
struct FieldPlace {
    at: DocPath,
    field: String,
}

impl FieldPlace {
    fn child(&self, name: &str) -> Self {
        Self { at: self.at.key(name), field: format!("{}.{name}", self.field) }
    }

    fn item(&self, index: usize) -> Self {
        Self { at: self.at.index(index), field: self.field.clone() }
    }
}

#[derive(Default)]
struct Violations(Vec<Violation>);

impl Violations {
    /// Returns `None` only if it reported a violation.
    fn provider(&mut self, place: &FieldPlace, raw: RawProvider) -> Option<Provider> {
        let api_version = self.api_version(&place.child("apiVersion"), &raw.api_version);
        let match_images = self.match_images(&place.child("matchImages"), raw.match_images);
        let default_cache_duration = raw.default_cache_duration;
        let duration_place = place.child("defaultCacheDuration");
        match default_cache_duration {
            None => self.required(&duration_place, ""),
            Some(duration) if duration.as_nanos() < 0 => {
                let shown = marshal_text(&duration.to_string());
                self.invalid(&duration_place, &shown, "must be greater than or equal to 0");
            }
            Some(_) => {}
        }
        let token_attributes = match raw.token_attributes {
            None => None,
            Some(attributes) => {
                Some(self.token_attributes(&place.child("tokenAttributes"), &raw.api_version, attributes)?)
            }
        };
        Some(Provider {
            name: raw.name,
            match_images,
            default_cache_duration: default_cache_duration?,
            api_version: api_version?,
            args: raw.args,
            env: raw.env.into_iter().map(|var| EnvVar { name: var.name, value: var.value }).collect(),
            token_attributes,
        })
    }

    /// An empty name is accepted: the kubelet only fails when it looks for the executable.
    fn name(&mut self, place: &FieldPlace, name: &str, again: bool) {
        for (broken, detail) in [
            (name.contains('/'), "provider name cannot contain '/'"),
            (name.contains(' '), "provider name cannot contain spaces"),
            (name == ".", "provider name cannot be '.'"),
            (name == "..", "provider name cannot be '..'"),
        ] {
            if broken {
                self.invalid(place, &quote(name), detail);
            }
        }
        if again {
            self.duplicate(place, name);
        }
    }

    fn api_version(&mut self, place: &FieldPlace, text: &str) -> Option<ApiVersion> {
        let version = ApiVersion::from_text(text);
        if text.is_empty() {
            self.required(place, "");
        } else if version.is_none() {
            self.unsupported(place, &quote(text), &ApiVersion::ALL.map(ApiVersion::as_str));
        }
        version
    }

    fn match_images(&mut self, place: &FieldPlace, texts: Vec<String>) -> Vec<ImagePattern> {
        if texts.is_empty() {
            self.required(place, "at least 1 item in matchImages is required");
        }
        let mut patterns = Vec::new();
        for (index, text) in texts.into_iter().enumerate() {
            let shown = quote(&text);
            match ImagePattern::parse(text) {
                Ok(pattern) => patterns.push(pattern),
                Err(error) => {
                    self.invalid(&place.item(index), &shown, &format!("match image is invalid: {error}"));
                }
            }
        }
        patterns
    }

    fn token_attributes(
        &mut self,
        place: &FieldPlace,
        api_version: &str,
        raw: RawTokenAttributes,
    ) -> Option<TokenAttributes> {
        if raw.audience.is_empty() {
            self.required(&place.child("serviceAccountTokenAudience"), "");
        }
        if raw.require_service_account.is_none() {
            self.required(&place.child("requireServiceAccount"), "");
        }
        let v1 = ApiVersion::V1.as_str();
        if api_version != v1 {
            self.forbidden(place, &format!("tokenAttributes is only supported for {v1} API version"));
        }
        let required_place = place.child("requiredServiceAccountAnnotationKeys");
        if raw.require_service_account == Some(false) && !raw.required_keys.is_empty() {
            let detail =
                "requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set";
            self.forbidden(&required_place, detail);
        }
        self.annotation_keys(&required_place, &raw.required_keys);
        self.annotation_keys(&place.child("optionalServiceAccountAnnotationKeys"), &raw.optional_keys);
        let required: BTreeSet<_> = raw.required_keys.iter().map(String::as_str).collect();
        let optional: BTreeSet<_> = raw.optional_keys.iter().map(String::as_str).collect();
        let both: Vec<_> = required.intersection(&optional).copied().collect();
        if !both.is_empty() {
            self.invalid(place, &marshal_texts(both), "annotation keys cannot be both required and optional");
        }
        Some(TokenAttributes {
            cache_type: self.cache_type(&place.child("cacheType"), &raw.cache_type)?,
            audience: raw.audience,
            require_service_account: raw.require_service_account?,
            required_annotation_keys: raw.required_keys,
            optional_annotation_keys: raw.optional_keys,
        })
    }

    fn annotation_keys(&mut self, place: &FieldPlace, keys: &[String]) {
        let mut seen = BTreeSet::new();
        for (index, key) in keys.iter().enumerate() {
            let place = place.item(index);
            // Annotations are compared ignoring case. Go converts character by character.
            let lower: String = key.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect();
            for fault in label_key_faults(&lower) {
                self.invalid(&place, &quote(key), &fault);
            }
            if !seen.insert(key) {
                self.duplicate(&place, key);
            }
        }
    }

    fn cache_type(&mut self, place: &FieldPlace, text: &str) -> Option<TokenCacheType> {
        match text {
            "ServiceAccount" => Some(TokenCacheType::ServiceAccount),
            "Token" => Some(TokenCacheType::Token),
            "" => {
                let detail = "cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token";
                self.required(place, detail);
                None
            }
            // The only value that the kubelet shows as JSON.
            other => {
                self.unsupported(place, &marshal_text(other), &["ServiceAccount", "Token"]);
                None
            }
        }
    }

    fn required(&mut self, place: &FieldPlace, detail: &str) {
        self.push(place, "Required value", detail);
    }

    fn forbidden(&mut self, place: &FieldPlace, detail: &str) {
        self.push(place, "Forbidden", detail);
    }

    fn invalid(&mut self, place: &FieldPlace, shown: &str, detail: &str) {
        self.push(place, &format!("Invalid value: {shown}"), detail);
    }

    fn duplicate(&mut self, place: &FieldPlace, value: &str) {
        self.push(place, &format!("Duplicate value: {}", quote(value)), "");
    }

    fn unsupported(&mut self, place: &FieldPlace, shown: &str, supported: &[&str]) {
        let supported: Vec<_> = supported.iter().map(|value| quote(value)).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        self.push(place, &format!("Unsupported value: {shown}"), &detail);
    }

    fn push(&mut self, place: &FieldPlace, what: &str, detail: &str) {
        let separator = if detail.is_empty() { "" } else { ": " };
        let message = format!("{}: {what}{separator}{detail}", place.field);
        self.0.push(Violation { at: place.at.clone(), message });
    }
}
