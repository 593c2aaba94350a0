//! A conversation with one registry about one repository: which protocol it uses and how the client authenticates
//! itself.
//!
//! The credential goes to this registry's host and to the token service that it names, and to nobody else.

use std::sync::{Mutex, PoisonError};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RANGE, RETRY_AFTER,
    USER_AGENT, WWW_AUTHENTICATE,
};
use hyper::{Method, Request, Response, StatusCode, Uri};
use pullwright_engine::credentials::{Credential, Sensitive};
use pullwright_engine::registries::{NotAsked, PullBy};

use crate::Source;
use crate::address::{Repository, Scheme};
use crate::challenge::{self, Challenge};
use crate::error::{Cause, FetchError, Operation, Shown};
use crate::redirect::{self, MAX_HOPS, RedirectError};
use crate::refusal;
use crate::retry::Retry;
use crate::token::{self, WantedAuth};
use crate::transport::{Transport, Trust, host};

/// The largest response to read from a token service or with an error.
const MAX_ANSWER: u64 = 1 << 20;
const AGENT: &str = concat!("pullwright/", env!("CARGO_PKG_VERSION"));

/// A conversation with one registry about one repository.
pub(crate) struct Session<'a> {
    transport: &'a Transport,
    retry: &'a Retry,
    repository: Repository,
    credential: Option<&'a Credential>,
    insecure: bool,
    scheme: Scheme,
    /// The value of `Authorization`, once the registry has asked for one.
    authorization: Mutex<Option<Sensitive>>,
}

/// What to request from a URL.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked {
    pub(crate) accept: Option<&'static str>,
    /// The first byte to return; 0 asks for everything.
    pub(crate) from: u64,
}

impl<'a> Session<'a> {
    /// Finds out which protocol the registry uses: TLS, or, if that fails for an insecure source, plain HTTP.
    pub(crate) async fn open(
        transport: &'a Transport,
        retry: &'a Retry,
        source: &'a Source,
    ) -> Result<Self, FetchError> {
        let (repository, credential) =
            choose(source).map_err(|cause| FetchError { operation: Operation::Choose, cause })?;
        let operation = Operation::Ping { host: repository.host().to_owned() };
        let mut session = Self {
            transport,
            retry,
            repository,
            credential,
            insecure: source.from.insecure,
            scheme: Scheme::Https,
            authorization: Mutex::new(None),
        };
        let opened = async {
            let challenges = match session.ping(Scheme::Https).await {
                Err(_) if session.insecure => {
                    session.scheme = Scheme::Http;
                    session.ping(Scheme::Http).await?
                }
                answer => answer?,
            };
            session.authorize(&challenges).await
        };
        match opened.await {
            Ok(()) => Ok(session),
            Err(cause) => Err(FetchError { operation, cause }),
        }
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(crate) fn transport(&self) -> &Transport {
        self.transport
    }

    pub(crate) fn retry(&self) -> &Retry {
        self.retry
    }

    /// Fetches a URL of this registry, following redirects, and returns the response with the host that sent it.
    pub(crate) async fn get(&self, first: Uri, asked: Asked) -> Result<(String, Response<Incoming>), Cause> {
        let mut uri = first.clone();
        let mut hops = 0;
        let mut renewed = false;
        loop {
            let own = redirect::same_origin(&first, &uri);
            let shown = if own { self.authorization() } else { None };
            let response = self.exchange(|| get(&uri, asked, shown.as_ref())).await?;
            match response.status() {
                status if status.is_success() => return Ok((host(&uri), response)),
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => {
                    hops += 1;
                    uri = self.follow(&uri, &response, hops)?;
                }
                // The token may have expired. Do not send again what was refused just now.
                StatusCode::UNAUTHORIZED if own && !renewed => {
                    renewed = true;
                    let challenges = challenges(response.headers());
                    self.authorize(&challenges).await?;
                    if self.authorization() == shown {
                        return Err(self.refused(&uri, response, shown.is_some()).await);
                    }
                }
                _ => return Err(self.refused(&uri, response, shown.is_some()).await),
            }
        }
    }

    fn follow(&self, uri: &Uri, response: &Response<Incoming>, hops: u32) -> Result<Uri, Cause> {
        let location = text(response.headers(), &LOCATION).unwrap_or_default();
        let plain_allowed = self.insecure;
        let followed = if hops > MAX_HOPS {
            Err(RedirectError::TooMany)
        } else {
            redirect::follow(uri, location, plain_allowed)
        };
        followed.map_err(|error| Cause::Redirect { host: host(uri), error })
    }

    /// Asks how the registry wants the client to authenticate; empty if it lets everybody in.
    async fn ping(&self, scheme: Scheme) -> Result<Vec<Challenge>, Cause> {
        let uri = self.repository.ping(scheme)?;
        let response = self.exchange(|| get(&uri, Asked::default(), None)).await?;
        match response.status() {
            StatusCode::OK | StatusCode::UNAUTHORIZED => Ok(challenges(response.headers())),
            _ => Err(self.refused(&uri, response, false).await),
        }
    }

    /// Prepares the authorization that the challenges ask for.
    async fn authorize(&self, challenges: &[Challenge]) -> Result<(), Cause> {
        let authorization = match token::wanted(challenges) {
            None => return Ok(()),
            Some(WantedAuth::Basic) => self.credential.and_then(token::basic),
            Some(WantedAuth::Token { realm, service }) => Some(self.token(&realm, service.as_deref()).await?),
        };
        *self.authorization.lock().unwrap_or_else(PoisonError::into_inner) = authorization;
        Ok(())
    }

    async fn token(&self, realm: &str, service: Option<&str>) -> Result<Sensitive, Cause> {
        let scope = self.repository.scope();
        let wanted = token::request(realm, service, &scope, self.credential, self.insecure)?;
        let within = |cause| Cause::TokenService(Box::new(cause));
        let request = || {
            let body = wanted.form.as_ref().map(|form| form.expose().clone());
            let method = if body.is_some() { Method::POST } else { Method::GET };
            let mut request = Request::new(Full::from(body.clone().unwrap_or_default()));
            *request.method_mut() = method;
            *request.uri_mut() = wanted.uri.clone();
            let headers = request.headers_mut();
            headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
            if body.is_some() {
                let form = HeaderValue::from_static("application/x-www-form-urlencoded");
                headers.insert(CONTENT_TYPE, form);
            }
            authorize(headers, wanted.authorization.as_ref());
            request
        };
        let response = self.exchange(request).await.map_err(within)?;
        if response.status() != StatusCode::OK {
            let shown = wanted.authorization.is_some() || wanted.form.is_some();
            return Err(within(self.refused(&wanted.uri, response, shown).await));
        }
        let body = self.transport.collect(&host(&wanted.uri), response.into_body(), MAX_ANSWER).await;
        Ok(token::answered(&body.map_err(within)?)?)
    }

    /// Sends a request and retries it while the failure is temporary. If the registry cannot be reached at all, there
    /// is no retry: the next source is asked.
    async fn exchange(
        &self,
        request: impl Fn() -> Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Cause> {
        let trust = if self.insecure { Trust::Unverified } else { Trust::Verified };
        let mut repeated = 0;
        loop {
            let answer = self.transport.send(trust, request()).await;
            let wait = match &answer {
                Ok(response) => {
                    let retry_after = text(response.headers(), &RETRY_AFTER);
                    self.retry.after_status(response.status(), retry_after, repeated)
                }
                Err(Cause::Broken { .. }) => self.retry.after_break(repeated),
                Err(_) => None,
            };
            let Some(wait) = wait else { return answer };
            drop(answer);
            tokio::time::sleep(wait).await;
            repeated += 1;
        }
    }

    /// The error for a response that does not deliver what was requested.
    async fn refused(&self, uri: &Uri, response: Response<Incoming>, shown: bool) -> Cause {
        let host = host(uri);
        let status = response.status().as_u16();
        // The body is only an explanation: if it cannot be read, the status is enough.
        let body = self.transport.collect(&host, response.into_body(), MAX_ANSWER).await;
        let authorization = self.authorization();
        // A password that is not UTF-8 can come back only as JSON writes it: with a replacement character for each bad
        // byte.
        let password = self.credential.map(|credential| {
            Sensitive::new(String::from_utf8_lossy(credential.password.expose()).into_owned())
        });
        let token = self.credential.and_then(|credential| credential.identity_token.as_ref());
        let secrets = password.iter().chain(token).chain(authorization.as_ref());
        Cause::Refused {
            host,
            status,
            detail: refusal::explain(&body.unwrap_or_default(), secrets),
            shown: if shown && self.credential.is_some() { Shown::Credential } else { Shown::Nothing },
        }
    }

    fn authorization(&self) -> Option<Sensitive> {
        self.authorization.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Decides, before anything is sent, where to go and which credential to use, or why not to contact the source at all.
fn choose(source: &Source) -> Result<(Repository, Option<&Credential>), Cause> {
    let from = &source.from;
    match from.not_asked(PullBy::of(&from.reference)) {
        Some(NotAsked::BlockedBy(prefix)) => return Err(Cause::Blocked(prefix.to_owned())),
        Some(NotAsked::ServesOnly(serves)) => return Err(Cause::ServesOnly(serves)),
        None => {}
    }
    let credential = source.credential.as_ref().map_err(Clone::clone)?;
    Ok((Repository::of(&from.reference, &from.namespace_proxy)?, credential.as_ref()))
}

fn get(uri: &Uri, asked: Asked, authorization: Option<&Sensitive>) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::default());
    *request.uri_mut() = uri.clone();
    let headers = request.headers_mut();
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    if let Some(accept) = asked.accept {
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
    }
    if asked.from > 0
        && let Ok(range) = HeaderValue::try_from(format!("bytes={}-", asked.from))
    {
        headers.insert(RANGE, range);
    }
    authorize(headers, authorization);
    request
}

fn authorize(headers: &mut HeaderMap, authorization: Option<&Sensitive>) {
    if let Some(Ok(mut value)) = authorization.map(|value| HeaderValue::try_from(value.expose())) {
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
}

fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let headers = headers.get_all(WWW_AUTHENTICATE);
    challenge::parse(headers.iter().filter_map(|value| value.to_str().ok()))
}

/// A header as text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
