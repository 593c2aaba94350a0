//! One entry of an auth document: the fields that readers use, and the text as it was written.

use super::credential::Credential;
use super::document::quoted;
use super::sensitive::Sensitive;
use pullwright_golang::json::{JsonKind, RawValue, names_field};

/// A string field of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Field {
    /// Missing, or `null`.
    #[default]
    Absent,
    /// A string.
    Text(Sensitive),
    /// A value of another type.
    Mismatch(JsonKind),
}

impl Field {
    /// Returns the text. If there is none, it is empty, like Go's zero value.
    pub(super) fn text(&self) -> &str {
        if let Self::Text(text) = self { text.expose() } else { "" }
    }

    /// Assigns as Go does: `null` keeps the previous value, and a later value does not repair a wrong type.
    fn assign(&mut self, value: RawValue) {
        match (value.kind(), value.text()) {
            (JsonKind::Null, _) => {}
            (_, Some(text)) if !matches!(self, Self::Mismatch(_)) => {
                *self = Self::Text(Sensitive::new(text.into_owned()));
            }
            (JsonKind::String, _) => {}
            (kind, _) => *self = Self::Mismatch(kind),
        }
    }
}

/// What a document holds for one key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct AuthEntry {
    pub(super) auth: Field,
    pub(super) identity_token: Field,
    pub(super) username: Field,
    pub(super) password: Field,
    /// The type of the value if it is not an object. `null` counts as an empty object.
    pub(super) mismatch: Option<JsonKind>,
    /// The text as written, including unknown fields.
    raw: Sensitive<Vec<u8>>,
}

impl AuthEntry {
    pub(super) fn read(value: RawValue) -> Self {
        Self { raw: Sensitive::new(value.bytes().to_vec()), ..Self::without_text(value) }
    }

    /// Reads only the fields, for callers that never write the entry back.
    pub(super) fn without_text(value: RawValue) -> Self {
        let mut entry = Self::default();
        if !matches!(value.kind(), JsonKind::Object | JsonKind::Null) {
            entry.mismatch = Some(value.kind());
        }
        for (name, value) in value.members() {
            let fields = [
                ("auth", &mut entry.auth),
                ("identitytoken", &mut entry.identity_token),
                ("username", &mut entry.username),
                ("password", &mut entry.password),
            ];
            for (field, place) in fields {
                if names_field(&name, field) {
                    place.assign(value);
                }
            }
        }
        entry
    }

    /// Returns the entry in which the runtime finds `credential`.
    pub(super) fn holding(credential: &Credential) -> Self {
        let auth = credential.auth_field();
        let token = credential.identity_token.clone();
        let mut raw = [br#"{"auth":"#.to_vec(), quoted(auth.expose())].concat();
        if let Some(token) = &token {
            raw.extend_from_slice(br#","identitytoken":"#);
            raw.extend(quoted(token.expose()));
        }
        raw.push(b'}');
        Self {
            auth: Field::Text(auth),
            identity_token: token.map_or(Field::Absent, Field::Text),
            raw: Sensitive::new(raw),
            ..Self::default()
        }
    }

    /// Returns an entry in which the runtime finds nothing and at which it stops searching.
    pub(super) fn nothing() -> Self {
        Self { raw: Sensitive::new(b"{}".to_vec()), ..Self::default() }
    }

    /// Returns the entry as it was written.
    pub(super) fn raw(&self) -> &[u8] {
        self.raw.expose()
    }
}
