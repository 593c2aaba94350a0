//! Image references: the grammar, the expansion of short forms, and how the kubelet's reading of them differs from the
//! runtime's.

mod digest;
mod grammar;

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

pub use digest::DigestError;
pub(crate) use grammar::{is_domain, is_path};

/// The name of Docker Hub in image names, and the default host for names without one.
pub const DOCKER_HUB: &str = "docker.io";
/// The old name of Docker Hub. [`DOCKER_HUB`] replaces it in image names, but keys of auth files still use it.
pub const DOCKER_HUB_INDEX: &str = "index.docker.io";
/// The host that serves the images of [`DOCKER_HUB`].
pub const DOCKER_HUB_REGISTRY: &str = "registry-1.docker.io";
/// The namespace in which Docker Hub keeps images named by a single word.
const OFFICIAL: &str = "library/";
/// The maximum length in bytes of the name (runtime) or path (kubelet).
const NAME_MAX: usize = 255;

/// The program whose reading of references to follow.
///
/// Both derive from the same Docker package. The runtime's copy (containers/image) is the older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// distribution/reference, as in the kubelet: an upper-case first component is a host, and so is `[::1]`.
    Kubelet,
    /// containers/image, as in CRI-O: neither of these is a host, and the length limit applies to the whole name.
    Runtime,
}

/// A normalised image reference: `docker.io/library/nginx:1@sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// `domain/path`, or only a path if the host has characters that are not valid in a host name (see
    /// [`Self::domain`]).
    name: String,
    /// The length of the domain within `name`, or 0 if there is none.
    domain: usize,
    tag: Option<String>,
    digest: Option<String>,
}

/// Why a text is not a reference, with the message of the library that would refuse it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// An image ID is not a name.
    #[error("invalid repository name ({0}), cannot specify 64-byte hexadecimal strings")]
    Hexadecimal(String),
    /// The kubelet's error for upper case, with the repository.
    #[error("invalid reference format: repository name ({0}) must be lowercase")]
    UppercaseRepository(String),
    /// The runtime's error for upper case.
    #[error("invalid reference format: repository name must be lowercase")]
    Uppercase,
    /// Upper case outside of the repository, in a text that would be a reference in lower case.
    #[error("repository name must be lowercase")]
    UppercaseElsewhere,
    /// An empty text.
    #[error("repository name must have at least one component")]
    Empty,
    /// Does not match the grammar.
    #[error("invalid reference format")]
    Format,
    /// Exceeds the limit of 255.
    #[error("repository name must not be more than {NAME_MAX} characters")]
    TooLong,
    /// A short form where none is accepted.
    #[error("repository name must be canonical")]
    NotCanonical,
    /// An invalid digest.
    #[error(transparent)]
    Digest(#[from] DigestError),
}

impl Reference {
    /// Parses and normalises a reference as written by a user or in a Pod: `nginx` becomes `docker.io/library/nginx`.
    ///
    /// # Errors
    /// The error that the library of this [`Dialect`] reports for the text.
    pub fn parse(dialect: Dialect, text: &str) -> Result<Self, ReferenceError> {
        if text.len() == 64 && text.bytes().all(|b| matches!(b, b'a'..=b'f' | b'0'..=b'9')) {
            return Err(ReferenceError::Hexadecimal(text.to_owned()));
        }
        let (domain, official, rest) = split_domain(dialect, text);
        let rest = if official { Cow::Owned(format!("{OFFICIAL}{rest}")) } else { Cow::Borrowed(rest) };
        let repository = rest.split(':').next().unwrap_or_default();
        if grammar::has_upper_case(repository) {
            return Err(match dialect {
                Dialect::Kubelet => ReferenceError::UppercaseRepository(repository.to_owned()),
                Dialect::Runtime => ReferenceError::Uppercase,
            });
        }
        let is_whole = text.strip_prefix(domain).and_then(|text| text.strip_prefix('/')) == Some(&*rest);
        let whole = if is_whole { Cow::Borrowed(text) } else { Cow::Owned(format!("{domain}/{rest}")) };
        Self::parse_exact(dialect, &whole)
    }

    /// Parses a text that must already be in normal form, as the runtime requires of rewritten locations.
    ///
    /// # Errors
    /// The same as [`Self::parse`], and [`ReferenceError::NotCanonical`] for a short form.
    pub fn parse_canonical(text: &str) -> Result<Self, ReferenceError> {
        let reference = Self::parse(Dialect::Runtime, text)?;
        if reference.is_written(text) { Ok(reference) } else { Err(ReferenceError::NotCanonical) }
    }

    /// Parses by the grammar alone, without expanding short forms.
    ///
    /// # Errors
    /// The error that the library of this [`Dialect`] reports for the text.
    pub(crate) fn parse_exact(dialect: Dialect, text: &str) -> Result<Self, ReferenceError> {
        let Some(parts) = grammar::parts(dialect, text) else {
            return Err(if text.is_empty() {
                ReferenceError::Empty
            } else if grammar::parts(dialect, &grammar::lower_case(text)).is_some() {
                ReferenceError::UppercaseElsewhere
            } else {
                ReferenceError::Format
            });
        };
        let measured = match dialect {
            Dialect::Kubelet if parts.domain > 0 => parts.name.len() - parts.domain - 1,
            Dialect::Kubelet | Dialect::Runtime => parts.name.len(),
        };
        if measured > NAME_MAX {
            return Err(ReferenceError::TooLong);
        }
        parts.digest.map(digest::validate).transpose()?;
        Ok(Self {
            name: parts.name.to_owned(),
            domain: parts.domain,
            tag: parts.tag.map(str::to_owned),
            digest: parts.digest.map(str::to_owned),
        })
    }

    /// Returns host and repository without tag and digest. The kubelet passes this to credential providers, and
    /// credentials are looked up by it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the host with its port. Empty for a host with characters that are not valid in a host name: both
    /// libraries then read `under_score.io/x` as a path, and no registry can be contacted for it.
    #[must_use]
    pub fn domain(&self) -> &str {
        &self.name[..self.domain]
    }

    /// Returns the tag, if there is one.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the digest, if there is one.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns the reference with `:latest` added if it has neither tag nor digest, which is what a pull requests.
    #[must_use]
    pub fn or_latest(mut self) -> Self {
        if self.tag.is_none() && self.digest.is_none() {
            self.tag = Some("latest".to_owned());
        }
        self
    }

    /// Returns the reference as CRI-O requests it: [`Self::or_latest`], and without the tag if there is a digest,
    /// because the digest alone decides and containers/image requests no reference that has both.
    #[must_use]
    pub(crate) fn asked(self) -> Self {
        let tag = self.tag.clone().filter(|_| self.digest.is_none());
        Self { tag, ..self }.or_latest()
    }

    /// Returns only the name, where tag and digest do not matter.
    #[must_use]
    pub fn repository(&self) -> Self {
        Self { name: self.name.clone(), domain: self.domain, tag: None, digest: None }
    }

    /// Returns this repository with the tag and digest of another reference.
    #[must_use]
    pub(crate) fn with_version_of(&self, other: &Self) -> Self {
        Self { tag: other.tag.clone(), digest: other.digest.clone(), ..self.repository() }
    }

    /// Returns whether `text` is exactly how this reference displays, without building that text.
    fn is_written(&self, text: &str) -> bool {
        let Some(rest) = text.strip_prefix(self.name.as_str()) else {
            return false;
        };
        let rest = match &self.tag {
            None => rest,
            Some(tag) => match rest.strip_prefix(':').and_then(|rest| rest.strip_prefix(tag.as_str())) {
                Some(rest) => rest,
                None => return false,
            },
        };
        match &self.digest {
            None => rest.is_empty(),
            Some(digest) => rest.strip_prefix('@') == Some(digest.as_str()),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl Serialize for Reference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns the canonical name of a host that has several. Docker Hub has three.
#[must_use]
pub fn canonical_host(host: &str) -> &str {
    match host {
        DOCKER_HUB_INDEX | DOCKER_HUB_REGISTRY => DOCKER_HUB,
        other => other,
    }
}

/// Returns the host to contact for the images of `host`.
#[must_use]
pub fn contacted_host(host: &str) -> &str {
    if host == DOCKER_HUB { DOCKER_HUB_REGISTRY } else { host }
}

/// Returns the host, whether `library/` must be put before the rest, and the rest.
fn split_domain(dialect: Dialect, text: &str) -> (&str, bool, &str) {
    let (domain, rest) = match text.split_once('/') {
        Some((first, rest)) if looks_like_host(dialect, first) => (first, rest),
        _ => (DOCKER_HUB, text),
    };
    let domain = if domain == DOCKER_HUB_INDEX { DOCKER_HUB } else { domain };
    (domain, domain == DOCKER_HUB && !rest.contains('/'), rest)
}

fn looks_like_host(dialect: Dialect, first: &str) -> bool {
    is_qualified(first) || (dialect == Dialect::Kubelet && grammar::has_upper_case(first))
}

/// Returns whether a first component is recognizable as a registry, so that the name is not short.
pub(crate) fn is_qualified(host: &str) -> bool {
    host == "localhost" || host.contains(['.', ':'])
}

#[cfg(test)]
mod tests;
