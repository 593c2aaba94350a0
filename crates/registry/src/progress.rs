//! What a pull tells while it is under way.

use pullwright_engine::reference::Reference;

use crate::digest::Digest;
use crate::error::{Cause, FetchError};

/// Hears what happens. Blobs come at the same time, so one listener hears of several at once.
pub trait Progress: Sync {
    /// Something happened.
    fn report(&self, event: Event<'_>);
}

/// Something that happened.
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
    /// A source gave the manifest; everything else comes from there.
    SourceChosen {
        /// The source.
        source: &'a Reference,
        /// The manifest.
        digest: &'a Digest,
    },
    /// How much there is to get.
    Planned {
        /// How many blobs.
        blobs: usize,
        /// Their bytes.
        bytes: u64,
    },
    /// A blob is being fetched.
    Begun {
        /// The digest of the blob.
        blob: &'a Digest,
        /// Its size.
        size: u64,
    },
    /// So many of its bytes are here. The number goes back when a download has to start over.
    Here {
        /// The digest of the blob.
        blob: &'a Digest,
        /// How many.
        bytes: u64,
    },
    /// Its download broke and goes on shortly.
    Interrupted {
        /// The digest of the blob.
        blob: &'a Digest,
        /// Why the attempt failed.
        cause: &'a Cause,
    },
    /// It is here and its digest is right.
    Done {
        /// The digest of the blob.
        blob: &'a Digest,
        /// Its size.
        size: u64,
        /// Whether it was here before.
        reused: bool,
    },
}

impl<F: Fn(Event<'_>) + Sync> Progress for F {
    fn report(&self, event: Event<'_>) {
        self(event);
    }
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn report(&self, _: Event<'_>) {}
}
