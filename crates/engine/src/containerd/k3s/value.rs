//! Values of a YAML document as Go takes them: nothing at all is an empty map, list or text.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::ReadError;
use pullwright_findings::DocPath;

pub(super) fn refuse(at: DocPath, expected: &'static str) -> ReadError {
    ReadError { at, expected }
}

/// A map; nothing at all is an empty one, as in Go.
pub(super) fn map<'v>(value: &'v Value, at: &DocPath) -> Result<Cow<'v, Map<String, Value>>, ReadError> {
    match value {
        Value::Null => Ok(Cow::Owned(Map::new())),
        Value::Object(map) => Ok(Cow::Borrowed(map)),
        _ => Err(refuse(at.clone(), "a map")),
    }
}

pub(super) fn entries<'v>(
    value: Option<&'v Value>,
    at: &DocPath,
) -> Result<impl Iterator<Item = (&'v String, &'v Value)>, ReadError> {
    let map = match value {
        None | Some(Value::Null) => None,
        Some(Value::Object(map)) => Some(map),
        Some(_) => return Err(refuse(at.clone(), "a map")),
    };
    Ok(map.into_iter().flatten())
}

pub(super) fn list<'v>(value: Option<&'v Value>, at: &DocPath) -> Result<&'v [Value], ReadError> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(refuse(at.clone(), "a list")),
    }
}

pub(super) fn text(value: Option<&Value>, at: &DocPath) -> Result<Option<String>, ReadError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        // YAML scalars of other types are text to Go where text is wanted.
        Some(Value::Bool(flag)) => Ok(Some(flag.to_string())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(refuse(at.clone(), "text")),
    }
}
