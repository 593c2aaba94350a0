//! Two provider configurations as one.

use serde_json::{Value, json};
use thiserror::Error;

/// Why they cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProvidersError {
    /// There is no list of providers.
    #[error("the file has no list `providers`")]
    NoList,
}

/// The configuration `existing` with the providers of `ours` behind its own. One of the same name is replaced where it stands; everything
/// else in `existing` stays as it is.
///
/// # Errors
/// If `existing` is not a provider configuration.
pub fn merge_providers(existing: &Value, ours: &Value) -> Result<Value, ProvidersError> {
    let mut merged = existing.clone();
    let providers =
        merged.get_mut("providers").and_then(Value::as_array_mut).ok_or(ProvidersError::NoList)?;
    for ours in ours["providers"].as_array().into_iter().flatten() {
        match providers.iter_mut().find(|provider| provider["name"] == ours["name"]) {
            Some(same) => *same = ours.clone(),
            None => providers.push(ours.clone()),
        }
    }
    Ok(json!(merged))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_comes_behind_and_replaces_only_itself() {
        let existing =
            json!({"kind": "CredentialProviderConfig", "providers": [{"name": "ecr", "env": [1]}]});
        let ours = |images: &str| json!({"providers": [{"name": "ours", "matchImages": [images]}]});
        let first = merge_providers(&existing, &ours("a")).unwrap();
        assert_eq!(
            first["providers"],
            json!([{"name": "ecr", "env": [1]}, {"name": "ours", "matchImages": ["a"]}])
        );
        let second = merge_providers(&first, &ours("b")).unwrap();
        assert_eq!(second["providers"][1]["matchImages"], json!(["b"]));
        assert_eq!(second["providers"].as_array().unwrap().len(), 2);
        assert_eq!(merge_providers(&json!({}), &ours("a")), Err(ProvidersError::NoList));
    }
}
