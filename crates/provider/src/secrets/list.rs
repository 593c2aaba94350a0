//! Lists all pull secrets of a namespace, in pages.

use std::io::BufRead;

use pullwright_engine::credentials::WantedRepositories;
use pullwright_engine::kubelet::Namespace;

use super::api::is_protobuf;
use super::protobuf::ListError;
use super::{Api, ApiError, FoundSecrets, SecretsError, json, protobuf};
use crate::http::{Body, HttpAnswer, HttpError};

/// How many Secrets to request at a time, as in `kubectl`.
const PAGE: usize = 500;
/// The types of pull secrets.
const TYPES: [&str; 2] = ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"];
/// The types to exclude. A field selector cannot say "this or that", only "none of these". A second list would cost
/// more than the few Secrets of rarer types that come along, because the server looks for the newest state each time.
const OTHER_TYPES: [&str; 7] = [
    "Opaque",
    "kubernetes.io/service-account-token",
    "kubernetes.io/tls",
    "kubernetes.io/basic-auth",
    "kubernetes.io/ssh-auth",
    "bootstrap.kubernetes.io/token",
    "helm.sh/release.v1",
];

/// How much of a list to read, all pages together: a hundred times the usual size of a thousand Secrets.
const LIST_MAX: u64 = 64 << 20;
/// The largest page in JSON, which is read at once; and a number of Secrets that always fit in one.
const JSON_MAX: u64 = 8 << 20;
const SMALL_PAGE: usize = 4;

/// Lists the namespace's pull secrets, sorted by name.
///
/// Secrets that cannot hold anything `wanted` are only counted: a large namespace has credentials for many registries,
/// and a pull uses few. However long the list is, only what is wanted stays in memory.
pub(crate) fn list(
    api: &Api<'_>,
    namespace: &Namespace,
    wanted: &WantedRepositories<'_>,
) -> Result<FoundSecrets, SecretsError> {
    let mut list =
        List { namespace, wanted, room: LIST_MAX, last: String::new(), found: FoundSecrets::default() };
    let what = format!("the list of pull secrets in namespace {namespace}");
    let selector = escaped(&OTHER_TYPES.map(|kind| format!("type!={kind}")).join(","));
    let (mut size, mut next) = (PAGE, String::new());
    loop {
        let path =
            format!("/api/v1/namespaces/{namespace}/secrets?fieldSelector={selector}&limit={size}{next}");
        match list.read_page(api.list(&path, &what)?) {
            Ok(token) if token.is_empty() => break,
            Ok(token) => next = format!("&continue={}", escaped(&token)),
            Err(PageError::Large) if size > SMALL_PAGE => size = SMALL_PAGE,
            Err(PageError::Large) => return Err(ApiError::TooLarge { what, most: JSON_MAX }.into()),
            Err(PageError::Full) => {
                list.leave_out_rest();
                break;
            }
            Err(PageError::Malformed) => return Err(api.content(&what).into()),
            Err(PageError::Http(error)) => return Err(api.transport(error, &what).into()),
        }
    }
    // The server already sorts by name, but the order of the Secrets must not depend on it.
    list.found.secrets.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(list.found)
}

/// A list that is being read.
struct List<'a> {
    namespace: &'a Namespace,
    wanted: &'a WantedRepositories<'a>,
    /// How many bytes of it may still be read.
    room: u64,
    /// The name of the last Secret that was read.
    last: String,
    found: FoundSecrets,
}

/// Why a page was not read to its end.
enum PageError {
    /// Nothing of it was read: it is too large to read at once.
    Large,
    /// The list is larger than its limit.
    Full,
    /// It is not a list.
    Malformed,
    /// It did not arrive.
    Http(HttpError),
}

impl From<HttpError> for PageError {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

impl List<'_> {
    fn leave_out_rest(&mut self) {
        let (last, most) = (&self.last, LIST_MAX >> 20);
        let rest = format!("all Secrets behind {last:?}, since the list has more than {most} MiB");
        self.found.leave_out_rest(rest);
    }

    /// Reads a page, and returns the token for the next one.
    fn read_page(&mut self, answer: HttpAnswer<'_>) -> Result<String, PageError> {
        if is_protobuf(&answer) { self.read_protobuf(answer) } else { self.read_json(answer) }
    }

    fn read_protobuf(&mut self, answer: HttpAnswer<'_>) -> Result<String, PageError> {
        answer.read(self.room, |body| self.read_as_it_comes(body))
    }

    /// Reads up to the body's limit, which is what is left of the list's.
    fn read_as_it_comes(&mut self, body: &mut Body<impl BufRead>) -> Result<String, PageError> {
        let Self { namespace, wanted, found, last, .. } = self;
        let read = protobuf::read_list(&mut *body, |item| match item {
            None => found.leave_out(),
            Some(item) => {
                item.name.clone_into(last);
                if TYPES.contains(&item.kind) {
                    found.add_read(item.read_secret(namespace, wanted));
                }
            }
        });
        self.room = body.room();
        read.map_err(|error| match error {
            ListError::Malformed => PageError::Malformed,
            ListError::Io(error) => match HttpError::from(error) {
                HttpError::TooLarge => PageError::Full,
                error => PageError::Http(error),
            },
        })
    }

    fn read_json(&mut self, answer: HttpAnswer<'_>) -> Result<String, PageError> {
        if self.room < JSON_MAX {
            return Err(PageError::Full);
        }
        let body = answer.whole(JSON_MAX).map_err(|error| match error {
            HttpError::TooLarge => PageError::Large,
            error => PageError::Http(error),
        })?;
        self.room -= body.len() as u64;
        let page: json::Page<'_> = serde_json::from_slice(&body).map_err(|_| PageError::Malformed)?;
        for sent in page.items {
            sent.name().clone_into(&mut self.last);
            if TYPES.contains(&&*sent.kind) {
                self.found.add(sent.into_secret(self.namespace), self.wanted);
            }
        }
        Ok(page.metadata.next)
    }
}

/// Percent-encodes text for a URL's query.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by kube-apiserver v1.36.
    const PAGE: &[u8] = include_bytes!("../../testdata/page-one-of-two-with-two-secrets.protobuf");

    /// Wherever the limit cuts, the Secrets that arrived whole are used, and the rest is reported as left out.
    #[test]
    fn a_list_is_read_up_to_its_bound_and_what_is_behind_it_is_told() {
        let (namespace, wanted) = ("with-10".parse().unwrap(), WantedRepositories::anything());
        for room in 0..PAGE.len() {
            let mut list = List {
                namespace: &namespace,
                wanted: &wanted,
                room: room as u64,
                last: String::new(),
                found: FoundSecrets::default(),
            };
            let mut body = crate::http::body_of(PAGE, list.room);
            assert!(matches!(list.read_as_it_comes(&mut body), Err(PageError::Full)), "{room}");
            assert_eq!(list.room, 0, "{room}");
            list.leave_out_rest();
            let names: Vec<_> = list.found.secrets.iter().map(|secret| secret.name().name.as_str()).collect();
            assert!(["pull-secret-0000", "pull-secret-0001"].starts_with(&names), "{room} {names:?}");
            let behind = names.last().copied().unwrap_or_default();
            let said: Vec<String> = list.found.lines().collect();
            assert_eq!(
                said,
                [format!(
                    "left out: all Secrets behind {behind:?}, since the list has more than 64 MiB; use --secrets named, or \
                     smaller Secrets"
                )]
            );
        }
    }

    #[test]
    fn what_a_server_gives_back_cannot_add_to_the_query() {
        assert_eq!(escaped("a&limit=0#é"), "a%26limit%3D0%23%C3%A9");
    }
}
