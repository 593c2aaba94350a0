//! Fetches one blob: downloads it to a temporary file, resumes after a broken connection, and keeps it once its digest
//! is right.

use std::io::{Seek as _, SeekFrom, Write as _};

use hyper::StatusCode;
use hyper::header::{CONTENT_LENGTH, CONTENT_RANGE};
use tempfile::NamedTempFile;

use crate::digest::{Digest, Hasher};
use crate::error::Cause;
use crate::layout::{Layout, LayoutError, is_good};
use crate::manifest::Descriptor;
use crate::progress::{Event, Progress};
use crate::resume::{Resume, judge};
use crate::session::{Asked, Session, text};

/// After this many bytes, a broken connection counts as one that had worked, so large blobs get through on bad lines.
const WORTH_IT: u64 = 1 << 20;

/// Fetches a blob into the layout, unless it is already there.
pub(crate) async fn fetch(
    session: &Session<'_>,
    layout: &Layout,
    blob: &Descriptor,
    progress: &dyn Progress,
) -> Result<(), Cause> {
    let Descriptor { digest, size, .. } = blob;
    if is_here(layout, digest, *size).await {
        progress.report(Event::Done { blob: digest, size: *size, reused: true });
        return Ok(());
    }
    progress.report(Event::Begun { blob: digest, size: *size });
    let mut download = Download::begin(layout, blob)?;
    let mut repeated = 0;
    loop {
        let before = download.here;
        let Err(cause) = download.advance(session, progress).await else {
            break;
        };
        if download.here >= before + WORTH_IT {
            repeated = 0;
        }
        match &cause {
            Cause::Broken { .. } | Cause::Silent { .. } => {}
            // The registry has no such range: its blob may be shorter, or it counts wrong.
            Cause::Refused { status, .. }
                if download.here > 0 && *status == StatusCode::RANGE_NOT_SATISFIABLE =>
            {
                download.start_over()?;
            }
            _ => return Err(cause),
        }
        let Some(wait) = session.retry().after_break(repeated) else {
            return Err(cause);
        };
        progress.report(Event::Interrupted { blob: digest, cause: &cause });
        tokio::time::sleep(wait).await;
        repeated += 1;
    }
    download.keep(layout)?;
    progress.report(Event::Done { blob: digest, size: *size, reused: false });
    Ok(())
}

/// Whether the layout has the blob, complete and unchanged. Reads it on another thread, because it may be gigabytes.
async fn is_here(layout: &Layout, digest: &Digest, size: u64) -> bool {
    let (path, digest) = (layout.blob(digest), digest.clone());
    if !path.exists() {
        return false;
    }
    let check = tokio::task::spawn_blocking(move || is_good(&path, &digest, size));
    check.await.unwrap_or(false)
}

/// A blob that is being downloaded.
struct Download<'a> {
    blob: &'a Descriptor,
    file: NamedTempFile,
    hasher: Hasher,
    here: u64,
}

impl<'a> Download<'a> {
    fn begin(layout: &Layout, blob: &'a Descriptor) -> Result<Self, Cause> {
        Ok(Self { blob, file: layout.begin()?, hasher: blob.digest.hasher(), here: 0 })
    }

    fn start_over(&mut self) -> Result<(), Cause> {
        self.hasher = self.blob.digest.hasher();
        self.here = 0;
        let file = self.file.as_file_mut();
        let emptied = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        emptied.map(drop).map_err(|source| self.failed(source))
    }

    /// Requests the missing part and stores what arrives.
    async fn advance(&mut self, session: &Session<'_>, progress: &dyn Progress) -> Result<(), Cause> {
        let Descriptor { digest, size, .. } = self.blob;
        if self.here == *size {
            return Ok(());
        }
        let uri = session.repository().blob(session.scheme(), digest)?;
        let asked = Asked { accept: None, from: self.here };
        let (host, response) = session.get(uri, asked).await?;
        let content_range = text(response.headers(), &CONTENT_RANGE);
        match judge(response.status(), content_range, self.here, *size) {
            Resume::Append => {}
            Resume::StartOver => self.start_over()?,
            Resume::Refused => return Err(Cause::OtherPart(host)),
        }
        let length = text(response.headers(), &CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        if let Some(found) =
            length.map(|length| self.here.saturating_add(length)).filter(|found| found > size)
        {
            return Err(Cause::Size { expected: *size, found });
        }
        let whole = response.status() == StatusCode::OK;
        if let Some(found) = length.filter(|length| whole && length < size) {
            return Err(Cause::Size { expected: *size, found });
        }
        let mut body = response.into_body();
        while let Some(data) = session.transport().next(&host, &mut body).await? {
            let here = self.here + data.len() as u64;
            if here > *size {
                return Err(Cause::Size { expected: *size, found: here });
            }
            self.file.write_all(&data).map_err(|source| self.failed(source))?;
            self.hasher.update(&data);
            self.here = here;
            progress.report(Event::Here { blob: digest, bytes: here });
        }
        if self.here < *size {
            let reason = format!("it ended after {} of {size} bytes", self.here);
            return Err(Cause::Broken { host, reason });
        }
        Ok(())
    }

    /// Moves the blob into place if its digest is right.
    fn keep(self, layout: &Layout) -> Result<(), Cause> {
        let found = self.hasher.finish();
        if found != self.blob.digest {
            let expected = self.blob.digest.clone();
            return Err(Cause::Digest { expected, found });
        }
        Ok(layout.keep(self.file, &found)?)
    }

    fn failed(&self, source: std::io::Error) -> Cause {
        LayoutError::Io { doing: "writing to", path: self.file.path().to_owned(), source }.into()
    }
}
