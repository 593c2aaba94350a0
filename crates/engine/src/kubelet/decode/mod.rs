//! From JSON to the fields of a `CredentialProviderConfig`, as strictly as the kubelet's decoder.
//!
//! The decoder goes through the document in the order written. A wrong type is remembered, the first one is
//! reported in the end; a bad duration stops it at once; unknown and repeated fields are collected and reported
//! only when nothing else was wrong. Names must match to the letter, except that `kind` and `apiVersion` are
//! first looked for without regard to case.

use crate::credentials::Sensitive;
use crate::kubelet::header::{Header, HeaderError};
use pullwright_findings::DocPath;
use pullwright_golang::duration::Duration;
use pullwright_golang::json::{Kind, RawValue};

mod error;
mod raw;
mod version;

pub use error::{DecodeError, StrictFault, TypeFault};
pub(super) use raw::{RawEnvVar, RawProvider, RawTokenAttributes};
use version::ConfigVersion;

/// The providers of one document.
pub(super) fn decode(json: &[u8]) -> Result<Vec<RawProvider>, DecodeError> {
    let document = RawValue::parse(json).map_err(HeaderError::from)?;
    let version = ConfigVersion::of(Header::read(document)?)?;
    let mut decoder = Decoder { version, first_fault: None, strict: Vec::new() };
    let providers = decoder.config(document)?;
    if let Some(fault) = decoder.first_fault {
        return Err(DecodeError::Type(fault));
    }
    if !decoder.strict.is_empty() {
        return Err(DecodeError::Strict(decoder.strict));
    }
    Ok(providers)
}

/// Where the decoder is: in the document, and in the kubelet's types.
struct Place {
    at: DocPath,
    go_struct: &'static str,
    go_fields: String,
}

impl Place {
    fn root() -> Self {
        Self { at: DocPath::root(), go_struct: "", go_fields: String::new() }
    }

    fn field(&self, go_struct: &'static str, name: &str) -> Self {
        let separator = if self.go_fields.is_empty() { "" } else { "." };
        let go_fields = format!("{}{separator}{name}", self.go_fields);
        Self { at: self.at.key(name), go_struct, go_fields }
    }

    fn item(&self, index: usize) -> Self {
        Self { at: self.at.index(index), go_struct: self.go_struct, go_fields: self.go_fields.clone() }
    }

    fn fault(&self, found: Kind, go_type: String) -> TypeFault {
        let target = format!("struct field {}.{}", self.go_struct, self.go_fields);
        TypeFault { at: self.at.clone(), found, target, go_type }
    }
}

/// The kubelet stops collecting there.
const MAX_STRICT_FAULTS: usize = 100;

struct Decoder {
    version: ConfigVersion,
    first_fault: Option<TypeFault>,
    strict: Vec<StrictFault>,
}

impl Decoder {
    fn config(&mut self, value: RawValue<'_>) -> Result<Vec<RawProvider>, DecodeError> {
        let place = Place::root();
        let mut providers = Vec::new();
        let mut fields = Fields::new(&["kind", "apiVersion", "providers"]);
        for (name, value) in value.members() {
            if self.known(&mut fields, &place, &name) == Some("providers") {
                let place = place.field("CredentialProviderConfig", "providers");
                let item_type = self.go_type("CredentialProvider");
                let items = self.list(value, &place, &item_type, Self::provider);
                providers = items.into_iter().collect::<Result<_, _>>()?;
            }
        }
        Ok(providers)
    }

    fn provider(&mut self, value: RawValue<'_>, place: &Place) -> Result<RawProvider, DecodeError> {
        const GO: &str = "CredentialProvider";
        let mut provider = RawProvider::default();
        if !self.is_object(value, place, GO) {
            return Ok(provider);
        }
        let names =
            &["name", "matchImages", "defaultCacheDuration", "apiVersion", "args", "env", "tokenAttributes"];
        let known = if self.version == ConfigVersion::V1 { &names[..] } else { &names[..names.len() - 1] };
        let mut fields = Fields::new(known);
        for (name, value) in value.members() {
            let Some(field) = self.known(&mut fields, place, &name) else {
                continue;
            };
            let place = place.field(GO, field);
            match field {
                "name" => provider.name = self.text(value, &place, "string"),
                "apiVersion" => provider.api_version = self.text(value, &place, "string"),
                "matchImages" => provider.match_images = self.texts(value, &place),
                "args" => provider.args = self.texts(value, &place),
                "env" => {
                    let item_type = self.go_type("ExecEnvVar");
                    provider.env = self.list(value, &place, &item_type, Self::env_var);
                }
                "defaultCacheDuration" => provider.default_cache_duration = duration(value, &place)?,
                _ => provider.token_attributes = self.token_attributes(value, &place),
            }
        }
        Ok(provider)
    }

    fn env_var(&mut self, value: RawValue<'_>, place: &Place) -> RawEnvVar {
        const GO: &str = "ExecEnvVar";
        let mut env_var = RawEnvVar::default();
        if !self.is_object(value, place, GO) {
            return env_var;
        }
        let mut fields = Fields::new(&["name", "value"]);
        for (name, value) in value.members() {
            let Some(field) = self.known(&mut fields, place, &name) else {
                continue;
            };
            let text = self.text(value, &place.field(GO, field), "string");
            match field {
                "name" => env_var.name = text,
                _ => env_var.value = Sensitive::new(text),
            }
        }
        env_var
    }

    fn token_attributes(&mut self, value: RawValue<'_>, place: &Place) -> Option<RawTokenAttributes> {
        const GO: &str = "ServiceAccountTokenAttributes";
        if value.kind() == Kind::Null {
            return None;
        }
        let mut attributes = RawTokenAttributes::default();
        if !self.is_object(value, place, GO) {
            return Some(attributes);
        }
        let mut fields = Fields::new(&[
            "serviceAccountTokenAudience",
            "cacheType",
            "requireServiceAccount",
            "requiredServiceAccountAnnotationKeys",
            "optionalServiceAccountAnnotationKeys",
        ]);
        for (name, value) in value.members() {
            let Some(field) = self.known(&mut fields, place, &name) else {
                continue;
            };
            let place = place.field(GO, field);
            match field {
                "serviceAccountTokenAudience" => attributes.audience = self.text(value, &place, "string"),
                "cacheType" => {
                    let go_type = self.go_type("ServiceAccountTokenCacheType");
                    attributes.cache_type = self.text(value, &place, &go_type);
                }
                "requireServiceAccount" => attributes.require_service_account = self.bool(value, &place),
                "requiredServiceAccountAnnotationKeys" => {
                    attributes.required_keys = self.texts(value, &place);
                }
                _ => attributes.optional_keys = self.texts(value, &place),
            }
        }
        Some(attributes)
    }

    /// The known field that `name` is; notes it when it is none, or there before.
    fn known(&mut self, fields: &mut Fields, place: &Place, name: &str) -> Option<&'static str> {
        let found = fields.known.iter().find(|known| **known == name).copied();
        let repeated = found.is_some_and(|found| fields.seen.contains(&found));
        fields.seen.extend(found);
        if found.is_none() || repeated {
            let fault = StrictFault { at: place.at.key(name), repeated };
            if self.strict.len() < MAX_STRICT_FAULTS && !self.strict.contains(&fault) {
                self.strict.push(fault);
            }
        }
        found
    }

    /// Whether there is an object to read; a null is none and no fault.
    fn is_object(&mut self, value: RawValue<'_>, place: &Place, go_struct: &str) -> bool {
        if !matches!(value.kind(), Kind::Object | Kind::Null) {
            let go_type = self.go_type(go_struct);
            self.note(place.fault(value.kind(), go_type));
        }
        value.kind() == Kind::Object
    }

    fn list<T>(
        &mut self,
        value: RawValue<'_>,
        place: &Place,
        item_type: &str,
        item: impl Fn(&mut Self, RawValue<'_>, &Place) -> T,
    ) -> Vec<T> {
        if !matches!(value.kind(), Kind::Array | Kind::Null) {
            self.note(place.fault(value.kind(), format!("[]{item_type}")));
        }
        value.items().enumerate().map(|(index, value)| item(self, value, &place.item(index))).collect()
    }

    fn texts(&mut self, value: RawValue<'_>, place: &Place) -> Vec<String> {
        self.list(value, place, "string", |this, value, place| this.text(value, place, "string"))
    }

    fn text(&mut self, value: RawValue<'_>, place: &Place, go_type: &str) -> String {
        if !matches!(value.kind(), Kind::String | Kind::Null) {
            self.note(place.fault(value.kind(), go_type.to_owned()));
        }
        value.text().unwrap_or_default().into_owned()
    }

    fn bool(&mut self, value: RawValue<'_>, place: &Place) -> Option<bool> {
        match value.kind() {
            Kind::Bool => Some(value.bytes() == b"true"),
            Kind::Null => None,
            kind => {
                self.note(place.fault(kind, "bool".to_owned()));
                None
            }
        }
    }

    fn go_type(&self, name: &str) -> String {
        format!("{}.{name}", self.version.as_str())
    }

    fn note(&mut self, fault: TypeFault) {
        self.first_fault.get_or_insert(fault);
    }
}

/// The fields of a struct, and those seen so far.
struct Fields {
    known: &'static [&'static str],
    seen: Vec<&'static str>,
}

impl Fields {
    fn new(known: &'static [&'static str]) -> Self {
        Self { known, seen: Vec::new() }
    }
}

/// A duration reads itself, and the kubelet's decoder gives up where that fails.
fn duration(value: RawValue<'_>, place: &Place) -> Result<Option<Duration>, DecodeError> {
    if value.kind() == Kind::Null {
        return Ok(None);
    }
    let text =
        value.text().ok_or_else(|| DecodeError::Type(place.fault(value.kind(), "string".to_owned())))?;
    let fault = |fault| DecodeError::Duration { at: place.at.clone(), fault };
    Duration::parse(&text).map(Some).map_err(fault)
}
