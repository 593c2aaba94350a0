//! A registry in this process: images from memory, users with passwords or tokens, and a log of who pulled what.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pullwright_golang::base64;
use serde_json::{Value, json};

use super::fault::Fault;
use super::http::{Request, Response};
use super::image::{Image, digest};
use super::server::{Access, Server, Service, lock};
use crate::Error;
use crate::certificates::Identity;
use crate::error::Doing as _;
use crate::process::Place;

/// The configuration of a registry.
#[derive(Debug, Clone, Copy, Default)]
pub struct Setup<'a> {
    /// The place whose loopback it listens on.
    pub place: Place,
    /// The port; 0 for a free one.
    pub port: u16,
    /// The certificate; without one it uses plain HTTP.
    pub identity: Option<&'a Identity>,
    /// How users log in.
    pub login: Login,
    /// The users that may pull, with their passwords.
    pub users: &'a [(&'a str, &'a str)],
    /// Identity tokens with their users.
    pub identity_tokens: &'a [(&'a str, &'a str)],
    /// The token service to announce instead of its own.
    pub realm: Option<&'a str>,
}

/// How users log in to a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Login {
    /// No login is needed.
    #[default]
    Anybody,
    /// With user name and password.
    Basic,
    /// With a token that its token service issues for them.
    Token,
}

/// A registry that runs until it is dropped.
#[derive(Debug)]
pub struct Registry {
    server: Server,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    login: Login,
    users: Vec<(String, String)>,
    identity_tokens: Vec<(String, String)>,
    realm: Mutex<String>,
    /// The number of issued tokens.
    tokens: AtomicU64,
    blobs: Mutex<HashMap<(String, String), Vec<u8>>>,
    /// By repository and tag or digest.
    manifests: Mutex<HashMap<(String, String), Manifest>>,
}

#[derive(Debug, Clone)]
struct Manifest {
    media_type: String,
    content: Vec<u8>,
}

#[expect(clippy::must_use_candidate, reason = "what is put has a digest that is often known or not needed")]
impl Registry {
    /// Starts a registry on the loopback.
    pub fn start(setup: Setup<'_>) -> Result<Self, Error> {
        let owned = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned()));
            pairs.collect()
        };
        let state = Arc::new(State {
            login: setup.login,
            users: owned(setup.users),
            identity_tokens: owned(setup.identity_tokens),
            realm: Mutex::default(),
            tokens: AtomicU64::new(0),
            blobs: Mutex::default(),
            manifests: Mutex::default(),
        });
        let server = Server::start((setup.place, setup.port), setup.identity, Arc::clone(&state))?;
        let scheme = if setup.identity.is_some() { "https" } else { "http" };
        let own = format!("{scheme}://{}/token", server.address());
        *lock(&state.realm) = setup.realm.map_or(own, str::to_owned);
        Ok(Self { server, state })
    }

    /// Host and port, as in an image's name.
    pub fn address(&self) -> String {
        self.server.address().to_string()
    }

    /// Every access so far, in order.
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

    /// The number of clients that are waiting for an answer that never comes.
    pub fn outwaited(&self) -> usize {
        self.server.outwaited()
    }

    /// Adds an image, under a tag if there is one, and returns the digest of its manifest.
    pub fn put(&self, repository: &str, tag: Option<&str>, image: &Image) -> String {
        for content in image.layers.iter().chain([&image.config()]) {
            self.put_blob(repository, content);
        }
        self.put_manifest(repository, tag, image.media_type(), &image.manifest())
    }

    /// Adds the image of an OCI layout under a tag, and returns the digest of its manifest.
    pub fn put_layout(&self, repository: &str, tag: &str, layout: &Path) -> Result<String, Error> {
        let blob = |descriptor: &Value| {
            let name = descriptor["digest"].as_str().unwrap_or_default().replace(':', "/");
            let path = layout.join("blobs").join(name);
            fs::read(&path).doing("reading", &path)
        };
        let parse = |bytes: &[u8]| {
            let from = layout.display().to_string();
            serde_json::from_slice::<Value>(bytes).map_err(|source| Error::Json { from, source })
        };
        let index = layout.join("index.json");
        let index = parse(&fs::read(&index).doing("reading", &index)?)?;
        let content = blob(&index["manifests"][0])?;
        let manifest = parse(&content)?;
        for descriptor in manifest["layers"].as_array().into_iter().flatten().chain([&manifest["config"]]) {
            self.put_blob(repository, &blob(descriptor)?);
        }
        let media_type = manifest["mediaType"].as_str().unwrap_or_default();
        Ok(self.put_manifest(repository, Some(tag), media_type, &content))
    }

    /// Adds images and an index of them, and returns the digest of the index.
    pub fn put_index(&self, repository: &str, tag: &str, images: &[Image]) -> String {
        for image in images {
            self.put(repository, None, image);
        }
        let media_type = "application/vnd.oci.image.index.v1+json";
        let entries: Vec<_> = images.iter().map(Image::listed).collect();
        let index = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": entries});
        self.put_manifest(repository, Some(tag), media_type, index.to_string().as_bytes())
    }

    /// Adds a blob and returns its digest.
    pub fn put_blob(&self, repository: &str, content: &[u8]) -> String {
        let digest = digest(content);
        let key = (repository.to_owned(), digest.clone());
        lock(&self.state.blobs).insert(key, content.to_vec());
        digest
    }

    /// Adds a manifest as it is, under a tag if there is one, and returns its digest.
    pub fn put_manifest(
        &self,
        repository: &str,
        tag: Option<&str>,
        media_type: &str,
        content: &[u8],
    ) -> String {
        let digest = digest(content);
        let mut manifests = lock(&self.state.manifests);
        for version in tag.into_iter().chain([digest.as_str()]) {
            let key = (repository.to_owned(), version.to_owned());
            manifests.insert(key, Manifest { media_type: media_type.to_owned(), content: content.to_vec() });
        }
        drop(manifests);
        digest
    }
}

impl Service for State {
    fn answer(&self, request: &Request) -> (Option<String>, Response) {
        if request.path() == "/token" {
            return self.token(request);
        }
        let path = request.path().strip_prefix("/v2/").unwrap_or_default();
        let place = ["/manifests/", "/blobs/"].iter().find_map(|kind| {
            let (repository, version) = path.split_once(kind)?;
            Some((*kind, repository, version))
        });
        let user = self.user(request, place.map(|(_, repository, _)| repository));
        if user.is_none() && self.login != Login::Anybody {
            return (None, self.challenge());
        }
        let response = match place {
            None if request.path() == "/v2/" => Response::json(200, &json!({})),
            None => error(404, "PAGE_NOT_FOUND", "no such page"),
            Some(("/manifests/", repository, version)) => self.manifest(repository, version),
            Some((_, repository, version)) => self.blob(repository, version),
        };
        (user, response)
    }
}

impl State {
    fn manifest(&self, repository: &str, version: &str) -> Response {
        let key = (repository.to_owned(), version.to_owned());
        match lock(&self.manifests).get(&key) {
            Some(Manifest { media_type, content }) => Response::new(200, content.as_slice())
                .with("Content-Type", media_type.as_str())
                .with("Docker-Content-Digest", digest(content)),
            None => error(404, "MANIFEST_UNKNOWN", "manifest unknown"),
        }
    }

    fn blob(&self, repository: &str, version: &str) -> Response {
        let key = (repository.to_owned(), version.to_owned());
        match lock(&self.blobs).get(&key) {
            Some(content) => Response::new(200, content.as_slice())
                .with("Content-Type", "application/octet-stream")
                .with("Accept-Ranges", "bytes"),
            None => error(404, "BLOB_UNKNOWN", "blob unknown to registry"),
        }
    }

    fn challenge(&self) -> Response {
        let challenge = match self.login {
            Login::Token => format!(r#"Bearer realm="{}",service="stand-in""#, lock(&self.realm)),
            Login::Basic | Login::Anybody => r#"Basic realm="stand-in""#.to_owned(),
        };
        error(401, "UNAUTHORIZED", "authentication required").with("WWW-Authenticate", challenge)
    }

    /// Returns the user, if the credential is valid for this repository.
    fn user(&self, request: &Request, repository: Option<&str>) -> Option<String> {
        match self.login {
            Login::Anybody => None,
            Login::Basic => self.known(&request.basic()?),
            Login::Token => {
                let token = String::from_utf8(base64::decode(request.bearer()?).ok()?).ok()?;
                let mut parts = token.split(' ');
                let (user, scope) = (parts.next()?, parts.next()?);
                let good =
                    repository.is_none_or(|repository| scope == format!("repository:{repository}:pull"));
                good.then(|| user.to_owned())
            }
        }
    }

    fn known(&self, login: &(String, String)) -> Option<String> {
        self.users.contains(login).then(|| login.0.clone())
    }

    /// A token consists of the user, the scope, and a number that makes it unique. It is not signed: a stand-in needs no
    /// protection.
    fn token(&self, request: &Request) -> (Option<String>, Response) {
        let (user, scope) = if request.method == "POST" {
            let refresh = request.form("refresh_token").unwrap_or_default();
            let known = self.identity_tokens.iter().find(|(token, _)| *token == refresh);
            (known.map(|(_, user)| user.clone()), request.form("scope"))
        } else {
            let user = request.basic().and_then(|login| self.known(&login));
            (user, request.parameter("scope"))
        };
        let Some(user) = user else {
            return (None, error(401, "UNAUTHORIZED", "incorrect username or password"));
        };
        let number = self.tokens.fetch_add(1, Ordering::Relaxed);
        let token = format!("{user} {} {number}", scope.unwrap_or_default());
        let token = base64::encode(token.as_bytes());
        (Some(user), Response::json(200, &json!({"token": token})))
    }
}

fn error(status: u16, code: &str, message: &str) -> Response {
    Response::json(status, &json!({"errors": [{"code": code, "message": message}]}))
}
