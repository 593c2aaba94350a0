//! A small Kubernetes API server in this process: Secrets and ServiceAccounts of namespaces, tokens, and permissions to read
//! them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pullwright_golang::base64;
use serde_json::{Map, Value, json};

use super::fault::Fault;
use super::http::{Request, Response};
use super::protobuf;
use super::server::{Access, Server, Service, lock};
use crate::Error;
use crate::certificates::Identity;
use crate::process::Place;

/// A permission in a namespace.
#[derive(Debug, Clone, Copy)]
pub struct Rule<'a> {
    /// The user.
    pub user: &'a str,
    /// The verbs: `get`, `list`.
    pub verbs: &'a [&'a str],
    /// The resource: `secrets`, `serviceaccounts`.
    pub resource: &'a str,
    /// The namespace.
    pub namespace: &'a str,
    /// The names of the objects; empty for all. As in a real API server, a rule with names does not allow lists.
    pub names: &'a [&'a str],
}

/// An API server that runs until it is dropped. It supports only TLS.
#[derive(Debug)]
pub struct ApiServer {
    server: Server,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    tokens: Mutex<Vec<(String, String)>>,
    rules: Mutex<Vec<OwnedRule>>,
    /// With resource and namespace, in the order in which they were added.
    objects: Mutex<Vec<(String, String, Value)>>,
    protobuf: AtomicBool,
}

#[derive(Debug)]
struct OwnedRule {
    user: String,
    verbs: Vec<String>,
    resource: String,
    namespace: String,
    names: Vec<String>,
}

impl From<&Rule<'_>> for OwnedRule {
    fn from(rule: &Rule<'_>) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Self {
            user: rule.user.to_owned(),
            verbs: owned(rule.verbs),
            resource: rule.resource.to_owned(),
            namespace: rule.namespace.to_owned(),
            names: owned(rule.names),
        }
    }
}

impl ApiServer {
    /// Starts an API server with this certificate on a free port of the loopback. It has no users and no objects yet.
    pub fn start(identity: &Identity) -> Result<Self, Error> {
        let state = Arc::new(State::default());
        let server = Server::start((Place::Host, 0), Some(identity), Arc::clone(&state))?;
        Ok(Self { server, state })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.server.address())
    }

    /// Every access so far, in order.
    #[must_use]
    pub fn log(&self) -> Vec<Access> {
        self.server.log()
    }

    /// Injects a fault.
    pub fn inject(&self, fault: Fault) {
        self.server.inject(fault);
    }

    /// Removes all faults.
    pub fn mend(&self) {
        self.server.mend();
    }

    /// From now on, sends lists of Secrets in protobuf to clients that accept it, like a real API server.
    pub fn speak_protobuf(&self) {
        self.state.protobuf.store(true, Ordering::Relaxed);
    }

    /// Accepts `token` as a token of `user`.
    pub fn know(&self, token: &str, user: &str) {
        lock(&self.state.tokens).push((token.to_owned(), user.to_owned()));
    }

    /// Adds a permission.
    pub fn allow(&self, rule: Rule<'_>) {
        lock(&self.state.rules).push(OwnedRule::from(&rule));
    }

    /// Adds a Secret with one field of data.
    pub fn put_secret(&self, namespace: &str, name: &str, kind: &str, field: &str, content: &[u8]) {
        let mut data = Map::new();
        data.insert(field.to_owned(), base64::encode(content).into());
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace, "resourceVersion": "1"},
            "type": kind,
            "data": data,
        });
        self.put("secrets", secret);
    }

    /// Adds an object as it is, in the namespace that it names.
    pub fn put(&self, resource: &str, object: Value) {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        lock(&self.state.objects).push((resource.to_owned(), namespace, object));
    }
}

impl Service for State {
    fn answer(&self, request: &Request) -> (Option<String>, Response) {
        let user = match request.bearer() {
            // A real API server accepts everybody as this user, and then allows next to nothing.
            None => "system:anonymous".to_owned(),
            Some(token) => {
                let tokens = lock(&self.tokens);
                match tokens.iter().find(|(known, _)| known == token) {
                    Some((_, user)) => user.clone(),
                    None => return (None, failure(401, "Unauthorized", "Unauthorized", &json!({}))),
                }
            }
        };
        let parts: Vec<&str> = request.path().trim_matches('/').split('/').collect();
        let ["api", "v1", "namespaces", namespace, resource, name @ ..] = parts.as_slice() else {
            let message = "the server could not find the requested resource";
            return (Some(user), failure(404, "NotFound", message, &json!({})));
        };
        let name = name.first().copied();
        let verb = match (request.method.as_str(), name) {
            ("GET", Some(_)) => "get",
            ("GET", None) => "list",
            (other, _) => {
                let message = format!("the stand-in does not {other}");
                return (Some(user), failure(405, "MethodNotAllowed", &message, &json!({})));
            }
        };
        let response = if self.allows(&user, verb, resource, namespace, name) {
            match name {
                Some(name) => self.get(resource, namespace, name),
                None => self.list(resource, namespace, request),
            }
        } else {
            let subject = name.map_or_else(|| (*resource).to_owned(), |name| format!("{resource} {name:?}"));
            let message = format!(
                "{subject} is forbidden: User {user:?} cannot {verb} resource {resource:?} in API group \"\" in the namespace {namespace:?}"
            );
            failure(403, "Forbidden", &message, &json!({"kind": resource, "name": name}))
        };
        (Some(user), response)
    }
}

impl State {
    fn allows(&self, user: &str, verb: &str, resource: &str, namespace: &str, name: Option<&str>) -> bool {
        lock(&self.rules).iter().any(|rule| {
            rule.user == user
                && rule.resource == resource
                && rule.namespace == namespace
                && rule.verbs.iter().any(|allowed| allowed == verb)
                && (rule.names.is_empty()
                    || name.is_some_and(|name| rule.names.iter().any(|allowed| allowed == name)))
        })
    }

    fn get(&self, resource: &str, namespace: &str, name: &str) -> Response {
        let objects = lock(&self.objects);
        let found = objects.iter().find(|(kind, place, object)| {
            kind == resource && place == namespace && object["metadata"]["name"] == name
        });
        if let Some((_, _, object)) = found {
            Response::json(200, object)
        } else {
            let message = format!("{resource} {name:?} not found");
            failure(404, "NotFound", &message, &json!({"kind": resource, "name": name}))
        }
    }

    fn list(&self, resource: &str, namespace: &str, request: &Request) -> Response {
        let selector = request.parameter("fieldSelector").unwrap_or_default();
        let number = |name| request.parameter(name).and_then(|text| text.parse::<usize>().ok());
        // In a real API server it is opaque; here it is the position to continue at.
        let from = number("continue").unwrap_or(0);
        let limit = number("limit").filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let objects = lock(&self.objects);
        let mut selected: Vec<&Value> = objects
            .iter()
            .filter(|(kind, place, object)| {
                kind == resource && place == namespace && selects(&selector, object)
            })
            .map(|(_, _, object)| object)
            .collect();
        selected.sort_by_key(|object| object["metadata"]["name"].as_str().unwrap_or_default());
        let page: Vec<&Value> = selected.iter().copied().skip(from).take(limit).collect();
        let next = from + page.len();
        let mut metadata = json!({"resourceVersion": "1"});
        if next < selected.len() {
            metadata["continue"] = next.to_string().into();
            metadata["remainingItemCount"] = (selected.len() - next).into();
        }
        let accepts = request.header("accept").is_some_and(|kinds| kinds.contains(protobuf::MEDIA_TYPE));
        if accepts && resource == "secrets" && self.protobuf.load(Ordering::Relaxed) {
            let list = protobuf::secret_list(&metadata, &page);
            return Response::new(200, list).with("Content-Type", protobuf::MEDIA_TYPE);
        }
        let kind = if resource == "secrets" { "SecretList" } else { "ServiceAccountList" };
        Response::json(200, &json!({"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": page}))
    }
}

/// Whether all terms of a field selector hold: `type=x`, `type!=x`, `metadata.name=x`.
fn selects(selector: &str, object: &Value) -> bool {
    let value = |field: &str| {
        let found = field.split('.').try_fold(object, |object, key| object.get(key));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    selector.split(',').filter(|term| !term.is_empty()).all(|term| {
        if let Some((field, unwanted)) = term.split_once("!=") {
            value(field) != unwanted
        } else {
            let (field, wanted) = term.split_once('=').unwrap_or((term, ""));
            value(field) == wanted.trim_start_matches('=')
        }
    })
}

/// Returns an error in the format of the API.
fn failure(code: u16, reason: &str, message: &str, details: &Value) -> Response {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
        "code": code,
    });
    Response::json(code, &status)
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// What a server with Secrets `a`, `b`, `c` in namespace `team` answers: status and body.
    fn ask(rules: &[Rule<'_>], token: &str, path: &str) -> (u16, Value) {
        let state = State::default();
        lock(&state.tokens).push(("good".to_owned(), "robot".to_owned()));
        lock(&state.rules).extend(rules.iter().map(OwnedRule::from));
        for name in ["c", "a", "b"] {
            let secret = json!({"metadata": {"name": name}, "type": format!("type-{name}")});
            lock(&state.objects).push(("secrets".to_owned(), "team".to_owned(), secret));
        }
        let mut wire = format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n\r\n").into_bytes();
        let request = Request::read(&mut io::empty(), &mut wire).unwrap().unwrap();
        let (_, response) = state.answer(&request);
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }

    fn may<'a>(verbs: &'a [&'a str], names: &'a [&'a str]) -> Rule<'a> {
        Rule { user: "robot", verbs, resource: "secrets", namespace: "team", names }
    }

    fn names(list: &Value) -> Vec<&str> {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
    }

    const SECRETS: &str = "/api/v1/namespaces/team/secrets";

    #[test]
    fn a_list_comes_in_pages_ordered_by_name() {
        let rules = [may(&["list"], &[])];
        let (status, first) = ask(&rules, "good", &format!("{SECRETS}?limit=2"));
        assert_eq!((status, names(&first)), (200, vec!["a", "b"]));
        let next = first["metadata"]["continue"].as_str().unwrap();
        let (_, last) = ask(&rules, "good", &format!("{SECRETS}?limit=2&continue={next}"));
        assert_eq!((names(&last), last["metadata"].get("continue")), (vec!["c"], None));
        let (_, one) = ask(&rules, "good", &format!("{SECRETS}?fieldSelector=type%3Dtype-b"));
        assert_eq!(names(&one), ["b"]);
    }

    #[test]
    fn only_what_a_rule_allows_is_given() {
        let rules = [may(&["get", "list"], &["a"])];
        assert_eq!(ask(&rules, "bad", SECRETS).0, 401);
        let (status, refused) = ask(&rules, "good", SECRETS);
        assert_eq!(status, 403, "a list shows more than the one that is allowed");
        assert_eq!(
            refused["message"],
            "secrets is forbidden: User \"robot\" cannot list resource \"secrets\" in API group \"\" in the namespace \"team\""
        );
        assert_eq!(ask(&rules, "good", &format!("{SECRETS}/a")).0, 200);
        assert_eq!(ask(&rules, "good", &format!("{SECRETS}/b")).0, 403);
        assert_eq!(ask(&[may(&["get"], &[])], "good", &format!("{SECRETS}/x")).0, 404);
        assert_eq!(ask(&rules, "good", "/api/v1/namespaces/other/secrets/a").0, 403);
    }

    #[test]
    fn field_selectors_choose_by_type_and_name() {
        let secret = json!({"metadata": {"name": "a"}, "type": "kubernetes.io/dockercfg"});
        for (selector, selected) in [
            ("", true),
            ("type=kubernetes.io/dockercfg", true),
            ("type==kubernetes.io/dockercfg,metadata.name=a", true),
            ("type!=kubernetes.io/dockercfg", false),
            ("type=Opaque", false),
        ] {
            assert_eq!(selects(selector, &secret), selected, "{selector}");
        }
    }
}
