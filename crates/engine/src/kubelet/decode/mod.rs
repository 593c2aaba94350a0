//! Decodes JSON into the fields of a `CredentialProviderConfig`, as strictly as the kubelet's decoder.
//!
//! The decoder reads the document in the order of the text. It remembers wrong types and reports the first at the end. An
//! invalid duration stops it at once. Unknown and repeated fields are collected and reported only if nothing else was wrong.
//! Names must match exactly, except that `kind` and `apiVersion` are first looked up ignoring case.

use crate::credentials::Sensitive;
use crate::kubelet::header::{Header, HeaderError};
use pullwright_findings::DocPath;
use pullwright_golang::duration::Duration;
use pullwright_golang::json::{JsonKind, RawValue};

mod error;
mod raw;
mod version;

pub use error::{DecodeError, StrictFault, TypeFault};
pub(super) use raw::{RawEnvVar, RawProvider, RawTokenAttributes};
use version::ConfigVersion;

/// Returns the providers of one document.
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

/// The position of the decoder, in the document and in the kubelet's types.
struct Location {
    at: DocPath,
    go_struct: &'static str,
    go_fields: String,
}

impl Location {
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

    fn fault(&self, found: JsonKind, go_type: String) -> TypeFault {
        let target = format!("struct field {}.{}", self.go_struct, self.go_fields);
        TypeFault { at: self.at.clone(), found, target, go_type }
    }
}

/// The number of faults after which the kubelet stops collecting.
const MAX_STRICT_FAULTS: usize = 100;

struct Decoder {
    version: ConfigVersion,
    first_fault: Option<TypeFault>,
    strict: Vec<StrictFault>,
}

/// The fields of one of the kubelet's structs, each with the function that reads it into `T`: every listed field is read.
type Fields<T> = [(&'static str, Read<T>)];
type Read<T> = fn(&mut Decoder, &mut T, RawValue<'_>, &Location) -> Result<(), DecodeError>;

const CONFIG: &Fields<Vec<RawProvider>> = &[
    // Already read with the header.
    ("kind", |_, _, _, _| Ok(())),
    ("apiVersion", |_, _, _, _| Ok(())),
    ("providers", |decoder, providers, value, at| {
        let item_type = decoder.go_type(PROVIDER);
        let items = decoder.list(value, at, &item_type, Decoder::provider);
        *providers = items.into_iter().collect::<Result<_, _>>()?;
        Ok(())
    }),
];

const PROVIDER: &str = "CredentialProvider";
/// The last field exists only in version 1.
const PROVIDER_FIELDS: &Fields<RawProvider> = &[
    ("name", |decoder, provider, value, at| {
        provider.name = decoder.text(value, at, "string");
        Ok(())
    }),
    ("matchImages", |decoder, provider, value, at| {
        provider.match_images = decoder.texts(value, at);
        Ok(())
    }),
    ("defaultCacheDuration", |_, provider, value, at| {
        provider.default_cache_duration = duration(value, at)?;
        Ok(())
    }),
    ("apiVersion", |decoder, provider, value, at| {
        provider.api_version = decoder.text(value, at, "string");
        Ok(())
    }),
    ("args", |decoder, provider, value, at| {
        provider.args = decoder.texts(value, at);
        Ok(())
    }),
    ("env", |decoder, provider, value, at| {
        let item_type = decoder.go_type(ENV_VAR);
        let items = decoder.list(value, at, &item_type, Decoder::env_var);
        provider.env = items.into_iter().collect::<Result<_, _>>()?;
        Ok(())
    }),
    ("tokenAttributes", |decoder, provider, value, at| {
        provider.token_attributes = decoder.token_attributes(value, at)?;
        Ok(())
    }),
];

const ENV_VAR: &str = "ExecEnvVar";
const ENV_VAR_FIELDS: &Fields<RawEnvVar> = &[
    ("name", |decoder, env_var, value, at| {
        env_var.name = decoder.text(value, at, "string");
        Ok(())
    }),
    ("value", |decoder, env_var, value, at| {
        env_var.value = Sensitive::new(decoder.text(value, at, "string"));
        Ok(())
    }),
];

const TOKEN_ATTRIBUTES: &str = "ServiceAccountTokenAttributes";
const TOKEN_ATTRIBUTES_FIELDS: &Fields<RawTokenAttributes> = &[
    ("serviceAccountTokenAudience", |decoder, attributes, value, at| {
        attributes.audience = decoder.text(value, at, "string");
        Ok(())
    }),
    ("cacheType", |decoder, attributes, value, at| {
        let go_type = decoder.go_type("ServiceAccountTokenCacheType");
        attributes.cache_type = decoder.text(value, at, &go_type);
        Ok(())
    }),
    ("requireServiceAccount", |decoder, attributes, value, at| {
        attributes.require_service_account = decoder.bool(value, at);
        Ok(())
    }),
    ("requiredServiceAccountAnnotationKeys", |decoder, attributes, value, at| {
        attributes.required_keys = decoder.texts(value, at);
        Ok(())
    }),
    ("optionalServiceAccountAnnotationKeys", |decoder, attributes, value, at| {
        attributes.optional_keys = decoder.texts(value, at);
        Ok(())
    }),
];

impl Decoder {
    fn config(&mut self, value: RawValue<'_>) -> Result<Vec<RawProvider>, DecodeError> {
        self.members(value, &Location::root(), "CredentialProviderConfig", CONFIG)
    }

    fn provider(&mut self, value: RawValue<'_>, at: &Location) -> Result<RawProvider, DecodeError> {
        let fields = match self.version {
            ConfigVersion::V1 => PROVIDER_FIELDS,
            ConfigVersion::V1Alpha1 | ConfigVersion::V1Beta1 => &PROVIDER_FIELDS[..PROVIDER_FIELDS.len() - 1],
        };
        self.object(value, at, PROVIDER, fields)
    }

    fn env_var(&mut self, value: RawValue<'_>, at: &Location) -> Result<RawEnvVar, DecodeError> {
        self.object(value, at, ENV_VAR, ENV_VAR_FIELDS)
    }

    fn token_attributes(
        &mut self,
        value: RawValue<'_>,
        at: &Location,
    ) -> Result<Option<RawTokenAttributes>, DecodeError> {
        if value.kind() == JsonKind::Null {
            return Ok(None);
        }
        self.object(value, at, TOKEN_ATTRIBUTES, TOKEN_ATTRIBUTES_FIELDS).map(Some)
    }

    /// Reads an object; any other value has no fields.
    fn object<T: Default>(
        &mut self,
        value: RawValue<'_>,
        at: &Location,
        go_struct: &'static str,
        fields: &Fields<T>,
    ) -> Result<T, DecodeError> {
        if self.is_object(value, at, go_struct) {
            self.members(value, at, go_struct, fields)
        } else {
            Ok(T::default())
        }
    }

    /// Reads the members of an object in the order of the text, and notes unknown and repeated ones.
    fn members<T: Default>(
        &mut self,
        value: RawValue<'_>,
        at: &Location,
        go_struct: &'static str,
        fields: &Fields<T>,
    ) -> Result<T, DecodeError> {
        let mut read_into = T::default();
        let mut seen: Vec<&str> = Vec::new();
        for (name, value) in value.members() {
            let field = fields.iter().find(|(known, _)| *known == name);
            let repeated = field.is_some_and(|(field, _)| seen.contains(field));
            if field.is_none() || repeated {
                self.note_strict(StrictFault { at: at.at.key(&*name), repeated });
            }
            if let Some((field, read)) = field {
                seen.push(field);
                read(self, &mut read_into, value, &at.field(go_struct, field))?;
            }
        }
        Ok(read_into)
    }

    fn note_strict(&mut self, fault: StrictFault) {
        if self.strict.len() < MAX_STRICT_FAULTS && !self.strict.contains(&fault) {
            self.strict.push(fault);
        }
    }

    /// Whether there is an object to read; null is not an object, but not a fault either.
    fn is_object(&mut self, value: RawValue<'_>, at: &Location, go_struct: &str) -> bool {
        if !matches!(value.kind(), JsonKind::Object | JsonKind::Null) {
            let go_type = self.go_type(go_struct);
            self.note(at.fault(value.kind(), go_type));
        }
        value.kind() == JsonKind::Object
    }

    fn list<T>(
        &mut self,
        value: RawValue<'_>,
        at: &Location,
        item_type: &str,
        item: impl Fn(&mut Self, RawValue<'_>, &Location) -> T,
    ) -> Vec<T> {
        if !matches!(value.kind(), JsonKind::Array | JsonKind::Null) {
            self.note(at.fault(value.kind(), format!("[]{item_type}")));
        }
        value.items().enumerate().map(|(index, value)| item(self, value, &at.item(index))).collect()
    }

    fn texts(&mut self, value: RawValue<'_>, at: &Location) -> Vec<String> {
        self.list(value, at, "string", |this, value, at| this.text(value, at, "string"))
    }

    fn text(&mut self, value: RawValue<'_>, at: &Location, go_type: &str) -> String {
        if !matches!(value.kind(), JsonKind::String | JsonKind::Null) {
            self.note(at.fault(value.kind(), go_type.to_owned()));
        }
        value.text().unwrap_or_default().into_owned()
    }

    fn bool(&mut self, value: RawValue<'_>, at: &Location) -> Option<bool> {
        match value.kind() {
            JsonKind::Bool => Some(value.bytes() == b"true"),
            JsonKind::Null => None,
            kind => {
                self.note(at.fault(kind, "bool".to_owned()));
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

/// A duration parses itself, and the kubelet's decoder stops if that fails.
fn duration(value: RawValue<'_>, at: &Location) -> Result<Option<Duration>, DecodeError> {
    if value.kind() == JsonKind::Null {
        return Ok(None);
    }
    let text = value.text().ok_or_else(|| DecodeError::Type(at.fault(value.kind(), "string".to_owned())))?;
    let fault = |fault| DecodeError::Duration { at: at.at.clone(), fault };
    Duration::parse(&text).map(Some).map_err(fault)
}
