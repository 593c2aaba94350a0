//! Reads values of a YAML document as Go does: null and absent values are an empty map, list or string.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::ReadError;
use pullwright_findings::DocPath;

pub(super) fn refuse(at: DocPath, expected: &'static str) -> ReadError {
    ReadError { at, expected }
}

/// Returns a map; null is an empty one, as in Go.
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
        // Go accepts YAML scalars of other types where it expects text.
        Some(Value::Bool(flag)) => Ok(Some(flag.to_string())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(refuse(at.clone(), "text")),
    }
}
