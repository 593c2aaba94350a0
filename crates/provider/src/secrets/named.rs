//! Only the Secrets that the Pod's ServiceAccount names, each by `get`, so that a Role with `resourceNames` suffices.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;

use super::list::Sent;
use super::{Api, ApiError, Asker, Found, SecretsError, checked};

/// How many are asked for. An annotation has room for a hundred thousand names, and each is a request on every start of a
/// Pod.
const MOST: usize = 64;

/// Gets the named Secrets, in the order in which they are named.
///
/// Names in the annotation are for those who want another list than `imagePullSecrets`, which the kubelet itself
/// offers to the image's registry; and they spare a request, because the kubelet passes them along.
pub(crate) fn named(api: &Api<'_>, asker: Asker<'_>, annotation: &str) -> Result<Found, SecretsError> {
    let claims = asker.claims;
    let namespace = &claims.namespace;
    let names = match asker.request.service_account_annotations().get(annotation) {
        Some(names) => split(names),
        None => image_pull_secrets(api, asker)?,
    };
    let mut found = Found::default();
    if names.len() > MOST {
        found.unusable.push(format!("only the first {MOST} of {} names are used", names.len()));
    }
    for name in names.iter().take(MOST) {
        let result = checked("Secret", name).and_then(|name| {
            let what = format!("Secret {namespace}/{name}");
            let body = api.get(&format!("/api/v1/namespaces/{namespace}/secrets/{name}"), &what)?;
            let sent: Sent<'_> = serde_json::from_slice(&body).map_err(|_| api.content(&what))?;
            found.add(sent.into_secret(namespace));
            Ok(())
        });
        match result {
            Ok(()) => {}
            // The same would come of every other one.
            Err(SecretsError::Api(
                error @ (ApiError::Deadline { .. }
                | ApiError::Transport { .. }
                | ApiError::Untrusted { .. }
                | ApiError::Unauthorized { .. }),
            )) => return Err(error.into()),
            Err(error) => found.unusable.push(error.to_string()),
        }
    }
    if found.secrets.is_empty() && !names.is_empty() {
        let service_account = format!("{namespace}/{}", claims.service_account.name);
        return Err(SecretsError::NoneOfNamed { service_account, why: found.unusable });
    }
    Ok(found)
}

fn image_pull_secrets(api: &Api<'_>, asker: Asker<'_>) -> Result<Vec<String>, SecretsError> {
    #[derive(Deserialize)]
    struct ServiceAccount<'a> {
        #[serde(borrow, default, rename = "imagePullSecrets")]
        image_pull_secrets: Vec<Named<'a>>,
    }
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        name: Cow<'a, str>,
    }
    let (namespace, name) = (&asker.claims.namespace, &asker.claims.service_account.name);
    let name = checked("ServiceAccount", name)?;
    let what = format!("ServiceAccount {namespace}/{name}");
    let body = api.get(&format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}"), &what)?;
    let account: ServiceAccount<'_> = serde_json::from_slice(&body).map_err(|_| api.content(&what))?;
    Ok(account.image_pull_secrets.into_iter().map(|named| named.name.into_owned()).collect())
}

/// Names separated by commas, each once.
fn split(names: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let names = names.split(',').map(str::trim);
    names.filter(|name| !name.is_empty() && seen.insert(*name)).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn names_are_separated_by_commas() {
        assert_eq!(split(" a, b ,,a,"), ["a", "b"]);
        assert_eq!(split(""), Vec::<String>::new());
    }
}
