//! Reports the progress of a pull.

use pullwright_engine::reference::Reference;

use crate::digest::Digest;
use crate::error::{Cause, FetchError};

/// Receives events. Blobs are fetched in parallel, so events for several of them interleave.
pub trait Progress: Sync {
    /// Called for each event.
    fn report(&self, event: Event<'_>);
}

/// A step of a pull.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A source did not give the manifest; the next one is asked.
    SourceFailed {
        /// The source.
        source: &'a Reference,
        /// The error.
        error: &'a FetchError,
    },
    /// A source gave the manifest; everything else comes from it.
    SourceChosen {
        /// The source.
        source: &'a Reference,
        /// The digest of the manifest.
        digest: &'a Digest,
    },
    /// How much there is to fetch.
    Planned {
        /// The number of blobs.
        blobs: usize,
        /// Their total size in bytes.
        bytes: u64,
    },
    /// The download of a blob begins.
    Begun {
        /// The digest of the blob.
        blob: &'a Digest,
        /// Its size.
        size: u64,
    },
    /// This many bytes of the blob have arrived. The number goes back when a download has to start over.
    Here {
        /// The digest of the blob.
        blob: &'a Digest,
        /// How many.
        bytes: u64,
    },
    /// The download broke off and resumes shortly.
    Interrupted {
        /// The digest of the blob.
        blob: &'a Digest,
        /// Why the attempt failed.
        cause: &'a Cause,
    },
    /// The blob is complete and its digest is right.
    Done {
        /// The digest of the blob.
        blob: &'a Digest,
        /// Its size.
        size: u64,
        /// Whether it was in the layout before.
        reused: bool,
    },
}

impl<F: Fn(Event<'_>) + Sync> Progress for F {
    fn report(&self, event: Event<'_>) {
        self(event);
    }
}

/// Ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn report(&self, _: Event<'_>) {}
}
