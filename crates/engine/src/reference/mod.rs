//! Image references: the grammar, what short forms stand for, and where the kubelet's reading of them differs
//! from the runtime's.

mod digest;
mod grammar;

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

pub use digest::DigestError;
pub(crate) use grammar::{is_domain, is_path};

/// Docker Hub as image names call it: the host that names without one stand for.
pub const DOCKER_HUB: &str = "docker.io";
/// The old name of [`DOCKER_HUB`], replaced by it wherever it is the host of an image; keys of auth files still have it.
pub const DOCKER_HUB_INDEX: &str = "index.docker.io";
/// The host that serves the images of [`DOCKER_HUB`].
pub const DOCKER_HUB_REGISTRY: &str = "registry-1.docker.io";
/// Where Docker Hub keeps images named by one word.
const OFFICIAL: &str = "library/";
/// The longest name (runtime) or path (kubelet) in bytes.
const NAME_MAX: usize = 255;

/// The program whose reading of references is followed.
///
/// Both descend from the same Docker package. The runtime's copy (containers/image) is the older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// distribution/reference, as in the kubelet: an upper-case first component is a host, so is `[::1]`.
    Kubelet,
    /// containers/image, as in CRI-O: neither of the two; the whole name counts for the length limit.
    Runtime,
}

/// A normalised image reference: `docker.io/library/nginx:1@sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// `domain/path`, or only a path if the host has characters that no host name has (see [`Self::domain`]).
    name: String,
    /// Length of the domain within `name`; 0 if there is none.
    domain: usize,
    tag: Option<String>,
    digest: Option<String>,
}

/// Why a text is no reference, in the words of the library that would say so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// An image ID is no name.
    #[error("invalid repository name ({0}), cannot specify 64-byte hexadecimal strings")]
    Hexadecimal(String),
    /// The kubelet's complaint about upper case, with the repository.
    #[error("invalid reference format: repository name ({0}) must be lowercase")]
    UppercaseRepository(String),
    /// The runtime's complaint about upper case.
    #[error("invalid reference format: repository name must be lowercase")]
    Uppercase,
    /// Upper case outside of the repository where only lower case is a reference.
    #[error("repository name must be lowercase")]
    UppercaseElsewhere,
    /// Nothing at all.
    #[error("repository name must have at least one component")]
    Empty,
    /// Not of the grammar.
    #[error("invalid reference format")]
    Format,
    /// Over the limit of 255.
    #[error("repository name must not be more than {NAME_MAX} characters")]
    TooLong,
    /// Short forms are not accepted here, and this is one.
    #[error("repository name must be canonical")]
    NotCanonical,
    /// The part behind `@`.
    #[error(transparent)]
    Digest(#[from] DigestError),
}

impl Reference {
    /// Parses and normalises what a person or a Pod writes: `nginx` becomes `docker.io/library/nginx`.
    ///
    /// # Errors
    /// What the library of that [`Dialect`] says about the text.
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

    /// Parses a text that must be in normal form already, as the runtime demands of rewritten locations.
    ///
    /// # Errors
    /// As [`Self::parse`], and [`ReferenceError::NotCanonical`] for a short form.
    pub fn parse_canonical(text: &str) -> Result<Self, ReferenceError> {
        let reference = Self::parse(Dialect::Runtime, text)?;
        if reference.is_written(text) { Ok(reference) } else { Err(ReferenceError::NotCanonical) }
    }

    /// Parses by the grammar alone, without turning short forms into long ones.
    ///
    /// # Errors
    /// What the library of that [`Dialect`] says about the text.
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

    /// Host and repository without tag and digest: what the kubelet hands to credential providers and what
    /// credentials are looked up by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The host with its port. Empty for a host with characters that no host name has: `under_score.io/x` is
    /// then a path to both libraries, and no registry can be asked for it.
    #[must_use]
    pub fn domain(&self) -> &str {
        &self.name[..self.domain]
    }

    /// The tag, if one is written.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, if one is written.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The same reference with `:latest` if it has neither tag nor digest, which is what a pull asks for.
    #[must_use]
    pub fn or_latest(mut self) -> Self {
        if self.tag.is_none() && self.digest.is_none() {
            self.tag = Some("latest".to_owned());
        }
        self
    }

    /// The reference as CRI-O asks for it: [`Self::or_latest`], and without the tag where there is a digest, which decides
    /// alone; containers/image asks for none that has both.
    #[must_use]
    pub(crate) fn asked(self) -> Self {
        let tag = self.tag.clone().filter(|_| self.digest.is_none());
        Self { tag, ..self }.or_latest()
    }

    /// Only the name, for questions that do not depend on tag or digest.
    #[must_use]
    pub fn repository(&self) -> Self {
        Self { name: self.name.clone(), domain: self.domain, tag: None, digest: None }
    }

    /// This repository with the tag and digest of another reference.
    #[must_use]
    pub(crate) fn with_version_of(&self, other: &Self) -> Self {
        Self { tag: other.tag.clone(), digest: other.digest.clone(), ..self.repository() }
    }

    /// Whether `text` is exactly what this reference displays as; saves building the text.
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

/// The one name of a host that has several: Docker Hub has three.
#[must_use]
pub fn canonical_host(host: &str) -> &str {
    match host {
        DOCKER_HUB_INDEX | DOCKER_HUB_REGISTRY => DOCKER_HUB,
        other => other,
    }
}

/// The host that is contacted for the images of `host`.
#[must_use]
pub fn contacted_host(host: &str) -> &str {
    if host == DOCKER_HUB { DOCKER_HUB_REGISTRY } else { host }
}

/// Host, whether `library/` is to be put before the rest, and the rest.
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

/// Whether a first component says by itself that it is a registry, which is what makes a name not short.
pub(crate) fn is_qualified(host: &str) -> bool {
    host == "localhost" || host.contains(['.', ':'])
}

#[cfg(test)]
mod tests;
