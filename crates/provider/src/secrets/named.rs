//! Gets only the Secrets that the Pod's ServiceAccount names, one by one, so that a Role with `resourceNames` is
//! enough.

use std::borrow::Cow;
use std::collections::HashSet;

use pullwright_engine::credentials::WantedRepositories;
use serde::Deserialize;

use super::json::Sent;
use super::{Api, ApiError, Asker, FoundSecrets, SecretsError, checked};

/// How many Secrets to request. An annotation has room for a hundred thousand names, and each costs a request every
/// time a Pod starts.
const MOST: usize = 64;

/// Gets the named Secrets, in the order in which they are named.
///
/// The annotation is for people who want another list than `imagePullSecrets`, which the kubelet itself offers to the
/// image's registry. It also saves a request, because the kubelet passes it along.
pub(crate) fn named(
    api: &Api<'_>,
    asker: Asker<'_>,
    annotation: &str,
    wanted: &WantedRepositories<'_>,
) -> Result<FoundSecrets, SecretsError> {
    let claims = asker.claims;
    let namespace = &claims.namespace;
    let names = match asker.request.service_account_annotations().get(annotation) {
        Some(names) => first(names.split(',').map(|name| Cow::Borrowed(name.trim()))),
        None => image_pull_secrets(api, asker)?,
    };
    let mut found = FoundSecrets::default();
    if names.more > 0 {
        found.tell(format_args!("only the first {MOST} of {} names are used", MOST + names.more));
    }
    for name in &names.first {
        let result = checked("Secret", name).and_then(|name| {
            let what = format!("Secret {namespace}/{name}");
            let body = api.get(&format!("/api/v1/namespaces/{namespace}/secrets/{name}"), &what)?;
            let sent: Sent<'_> = serde_json::from_slice(&body).map_err(|_| api.content(&what))?;
            found.add(sent.into_secret(namespace), wanted);
            Ok(())
        });
        match result {
            Ok(()) => {}
            // Every other Secret would fail in the same way.
            Err(SecretsError::Api(
                error @ (ApiError::Deadline { .. }
                | ApiError::Transport { .. }
                | ApiError::Untrusted { .. }
                | ApiError::Unauthorized { .. }),
            )) => return Err(error.into()),
            Err(error) => found.tell(error),
        }
    }
    if found.count() == 0 && !names.first.is_empty() {
        let service_account = format!("{namespace}/{}", claims.service_account.name);
        return Err(SecretsError::NoneOfNamed { service_account, why: found.into_told() });
    }
    Ok(found)
}

fn image_pull_secrets(api: &Api<'_>, asker: Asker<'_>) -> Result<Names, SecretsError> {
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
    Ok(first(account.image_pull_secrets.into_iter().map(|named| named.name)))
}

/// The names to use, and how many more there are.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    first: Vec<String>,
    more: usize,
}

/// The first of `names`, each once. The rest is counted and not kept.
fn first<'a>(names: impl Iterator<Item = Cow<'a, str>>) -> Names {
    let (mut first, mut seen, mut more) = (Vec::new(), HashSet::new(), 0);
    for name in names.filter(|name| !name.is_empty()) {
        if seen.contains(&name) {
            continue;
        }
        if first.len() == MOST {
            more += 1;
        } else {
            first.push(name.clone().into_owned());
            seen.insert(name);
        }
    }
    Names { first, more }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(names: &str) -> Names {
        first(names.split(',').map(|name| Cow::Borrowed(name.trim())))
    }

    #[test]
    fn names_are_separated_by_commas() {
        assert_eq!(split(" a, b ,,a,"), Names { first: vec!["a".to_owned(), "b".to_owned()], more: 0 });
        assert_eq!(split(""), Names { first: vec![], more: 0 });
    }

    #[test]
    fn of_many_names_the_first_are_kept_and_the_others_counted() {
        let many: Vec<String> = (0..100_000).map(|number| number.to_string()).collect();
        let names = split(&many.join(","));
        assert_eq!((names.first.as_slice(), names.more), (&many[..MOST], 100_000 - MOST));
    }
}
