//! A pull: the first source that gives the manifest gives everything, and the layout names the image once all of it is
//! there.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hyper::header::{CONTENT_TYPE, HeaderName};
use pullwright_engine::reference::Reference;

use crate::blob;
use crate::digest::Digest;
use crate::error::{Cause, FetchError, Operation, PullError, SourcesFailed};
use crate::layout::Layout;
use crate::manifest::{self, Content, Descriptor, Manifest};
use crate::platform::{Platform, Platforms};
use crate::progress::{Event, Progress};
use crate::session::{Asked, Session, text};
use crate::{Client, Request};

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// What was pulled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// The source that it came from.
    pub source: Reference,
    /// The position of that source in the request.
    pub position: usize,
    /// The digest of what the reference names: an image, or an index of several.
    pub digest: Digest,
    /// The digest of what the layout names: the same, or the image that was chosen from the index.
    pub stored: Digest,
}

/// A manifest with the bytes it was read from.
struct Fetched {
    digest: Digest,
    bytes: Vec<u8>,
    manifest: Manifest,
}

/// Pulls the requested image into the layout.
pub(crate) async fn pull(
    client: &Client,
    request: &Request<'_>,
    layout: &Layout,
    progress: &dyn Progress,
) -> Result<Pulled, PullError> {
    let (position, session, top) = first_that_answers(client, request, progress).await?;
    let reference = &request.sources[position].from.reference;
    let rest = Rest {
        session,
        repository: reference.name(),
        layout,
        progress,
        parallel: client.options.parallel.get(),
    };
    let digest = top.digest.clone();
    let stored = match rest.get(top, &request.platforms).await {
        Ok(stored) => stored,
        Err(FetchError { cause: Cause::Layout(error), .. }) => return Err(error.into()),
        Err(error) => {
            let reference = reference.clone();
            return Err(PullError::Rest { reference, error: Box::new(error) });
        }
    };
    let size = stored.bytes.len() as u64;
    layout.publish(request.name, &stored.manifest.media_type, &stored.digest, size)?;
    Ok(Pulled { source: reference.clone(), position, digest, stored: stored.digest })
}

/// Finds the first source that gives a manifest. The runtime accepts any bytes as one. Here a source fails if its bytes
/// are not a manifest, or not the one that the digest names, and the next source is asked.
async fn first_that_answers<'a>(
    client: &'a Client,
    request: &Request<'a>,
    progress: &dyn Progress,
) -> Result<(usize, Session<'a>, Fetched), PullError> {
    let mut attempts = Vec::new();
    for (position, source) in request.sources.iter().enumerate() {
        let reference = &source.from.reference;
        let attempt = async {
            let session = Session::open(&client.transport, &client.options.retry, source).await?;
            // A digest takes precedence over a tag.
            let version = reference.digest().or(reference.tag()).unwrap_or("latest");
            let top = fetch_manifest(&session, reference.name(), version).await?;
            Ok((session, top))
        };
        match attempt.await {
            Ok((session, top)) => {
                progress.report(Event::SourceChosen { source: reference, digest: &top.digest });
                return Ok((position, session, top));
            }
            Err(error) => {
                progress.report(Event::SourceFailed { source: reference, error: &error });
                attempts.push((reference.clone(), error));
            }
        }
    }
    if attempts.is_empty() {
        return Err(PullError::NoSource);
    }
    Err(SourcesFailed { attempts }.into())
}

/// Fetches everything after the first manifest, all from the source that gave it.
struct Rest<'a> {
    session: Session<'a>,
    repository: &'a str,
    layout: &'a Layout,
    progress: &'a dyn Progress,
    parallel: usize,
}

impl Rest<'_> {
    /// Fetches everything wanted from `top` into the layout, and returns the manifest to name there.
    async fn get(&self, top: Fetched, platforms: &Platforms) -> Result<Fetched, FetchError> {
        let within = |cause| FetchError {
            operation: Operation::Manifest {
                version: top.digest.to_string(),
                repository: self.repository.to_owned(),
            },
            cause,
        };
        let (images, named) = match &top.manifest.content {
            Content::Image(_) => (Vec::new(), top),
            Content::Index(entries) => {
                let wanted = wanted(entries, platforms).map_err(within)?;
                let mut images = Vec::new();
                for entry in wanted {
                    images.push(self.listed(entry).await?);
                }
                match platforms {
                    Platforms::All => (images, top),
                    Platforms::This | Platforms::One(_) => match images.pop() {
                        Some(image) => (images, image),
                        None => (images, top),
                    },
                }
            }
        };
        let all = || images.iter().chain([&named]);
        self.blobs(all()).await?;
        for fetched in all() {
            let stored = self.layout.store(&fetched.digest, &fetched.bytes);
            stored.map_err(|error| FetchError { operation: Operation::Choose, cause: error.into() })?;
        }
        Ok(named)
    }

    /// Fetches a manifest that an index lists.
    async fn listed(&self, entry: &Descriptor) -> Result<Fetched, FetchError> {
        let version = entry.digest.as_str();
        let fetched = fetch_manifest(&self.session, self.repository, version).await?;
        let found = fetched.bytes.len() as u64;
        let cause = match fetched.manifest.content {
            Content::Index(_) => Cause::Nested,
            Content::Image(_) if found != entry.size => Cause::Size { expected: entry.size, found },
            Content::Image(_) => return Ok(fetched),
        };
        Err(FetchError {
            operation: Operation::Manifest {
                version: version.to_owned(),
                repository: self.repository.to_owned(),
            },
            cause,
        })
    }

    /// Fetches the blobs of all images, each once, several at a time.
    async fn blobs(&self, images: impl Iterator<Item = &Fetched>) -> Result<(), FetchError> {
        let mut blobs = BTreeMap::new();
        for image in images {
            if let Content::Image(listed) = &image.manifest.content {
                blobs.extend(listed.iter().map(|blob| ((&blob.digest, blob.size), blob)));
            }
        }
        self.progress.report(Event::Planned {
            blobs: blobs.len(),
            bytes: blobs.keys().map(|(_, size)| size).fold(0, |sum, size| sum.saturating_add(*size)),
        });
        let fetch = async |blob: &Descriptor| {
            let fetched = blob::fetch(&self.session, self.layout, blob, self.progress).await;
            fetched.map_err(|cause| FetchError {
                operation: Operation::Blob { digest: blob.digest.clone() },
                cause,
            })
        };
        stream::iter(blobs.into_values().map(fetch)).buffer_unordered(self.parallel).try_collect().await
    }
}

/// The entries of an index to pull.
fn wanted<'a>(entries: &'a [Descriptor], platforms: &Platforms) -> Result<Vec<&'a Descriptor>, Cause> {
    let platform = match platforms {
        Platforms::All => return Ok(entries.iter().collect()),
        Platforms::This => Platform::this(),
        Platforms::One(platform) => platform.clone(),
    };
    let position = platform.choose(entries.iter().map(|entry| entry.platform.as_ref()));
    let chosen = position.and_then(|position| entries.get(position));
    chosen.map(|entry| vec![entry]).ok_or_else(|| {
        let offered = entries.iter().filter_map(|entry| entry.platform.as_ref());
        let offered: Vec<String> = offered.map(ToString::to_string).collect();
        Cause::Platform { wanted: platform, offered: offered.join(", ") }
    })
}

/// Fetches a manifest, checks it against every known digest, and parses it.
async fn fetch_manifest(
    session: &Session<'_>,
    repository: &str,
    version: &str,
) -> Result<Fetched, FetchError> {
    let mut repeated = 0;
    loop {
        let cause = match try_manifest(session, version).await {
            Ok(fetched) => return Ok(fetched),
            Err(cause) => cause,
        };
        let wait = match cause {
            Cause::Broken { .. } => session.retry().after_break(repeated),
            _ => None,
        };
        let Some(wait) = wait else {
            let operation =
                Operation::Manifest { version: version.to_owned(), repository: repository.to_owned() };
            return Err(FetchError { operation, cause });
        };
        tokio::time::sleep(wait).await;
        repeated += 1;
    }
}

async fn try_manifest(session: &Session<'_>, version: &str) -> Result<Fetched, Cause> {
    let uri = session.repository().manifest(session.scheme(), version)?;
    let asked = Asked { accept: Some(manifest::ACCEPTED), from: 0 };
    let (host, response) = session.get(uri, asked).await?;
    let content_type = text(response.headers(), &CONTENT_TYPE).map(str::to_owned);
    let claimed = match text(response.headers(), &CONTENT_DIGEST) {
        Some(text) => Some(Digest::parse(text).map_err(|_| Cause::DigestHeader)?),
        None => None,
    };
    let body = response.into_body();
    let bytes = session.transport().collect(&host, body, manifest::MAX_BYTES).await?;
    let asked_for = Digest::parse(version).ok();
    for expected in [&asked_for, &claimed].into_iter().flatten() {
        let found = expected.same_kind_of(&bytes);
        if found != *expected {
            let expected = expected.clone();
            return Err(Cause::Digest { expected, found });
        }
    }
    Ok(Fetched {
        digest: asked_for.unwrap_or_else(|| Digest::of(&bytes)),
        manifest: Manifest::parse(&bytes, content_type.as_deref())?,
        bytes,
    })
}
