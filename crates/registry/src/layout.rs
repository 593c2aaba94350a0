//! An OCI image layout: a folder of blobs named by their digests, with an index of the images in it.

use std::fmt::Display;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::digest::Digest;

const MARKER: &str = "oci-layout";
const INDEX: &str = "index.json";
const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// The prefix of our unfinished files, which are not part of the layout.
const UNFINISHED: &str = ".pullwright-";

/// A layout that nobody else writes to while this value lives.
///
/// Blobs are not flushed to disk one by one: the next pull detects what a crash left behind by its digest.
#[derive(Debug)]
pub struct Layout {
    root: PathBuf,
    /// Kept open to hold its lock.
    _folder: File,
}

/// Why a folder cannot be used as a layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A system call failed.
    #[error("{doing} {path:?}: {source}")]
    Io {
        /// The operation.
        doing: &'static str,
        /// The path it was applied to.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Another process is writing to the folder.
    #[error("{0:?} is being written by another pull; wait for it or choose another folder")]
    Busy(PathBuf),
    /// The folder holds something else.
    #[error("{0:?} is not empty and no OCI layout; choose another folder")]
    Foreign(PathBuf),
    /// The layout has an unknown version, or its index is broken.
    #[error("{path:?} is not what an OCI layout has there: {reason}")]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// Adds the operation and the path to an I/O error.
trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, LayoutError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, LayoutError> {
        self.map_err(|source| LayoutError::Io { doing, path: path.to_owned(), source })
    }
}

impl Layout {
    /// Opens the layout in `root`, or creates one if the folder is empty or missing.
    ///
    /// # Errors
    /// If the folder holds something else, is broken, or is in use.
    pub fn open(root: &Path) -> Result<Self, LayoutError> {
        fs::create_dir_all(root).doing("creating", root)?;
        let folder = File::open(root).doing("opening", root)?;
        match folder.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LayoutError::Busy(root.to_owned())),
            Err(TryLockError::Error(error)) => return Err(error).doing("locking", root),
        }
        let layout = Self { root: root.to_owned(), _folder: folder };
        let empty = layout.remove_unfinished()?;
        let marker = root.join(MARKER);
        match fs::read(&marker) {
            Ok(text) => check_version(&marker, &text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound && empty => {
                let content = json!({"imageLayoutVersion": "1.0.0"}).to_string();
                layout.write(&marker, content.as_bytes())?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LayoutError::Foreign(root.to_owned()));
            }
            Err(error) => return Err(error).doing("reading", &marker),
        }
        // Report a broken index before anything is pulled.
        layout.index()?;
        Ok(layout)
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of a blob, whether it exists or not.
    #[must_use]
    pub fn blob(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs").join(digest.algorithm()).join(digest.hex())
    }

    /// Creates a file that is removed unless it is [kept](Self::keep).
    pub(crate) fn begin(&self) -> Result<NamedTempFile, LayoutError> {
        tempfile::Builder::new()
            .prefix(UNFINISHED)
            // Others may read the layout, as far as the umask allows.
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(&self.root)
            .doing("creating a file in", &self.root)
    }

    /// Moves a finished file into place as the blob with that digest.
    pub(crate) fn keep(&self, file: NamedTempFile, digest: &Digest) -> Result<(), LayoutError> {
        let path = self.blob(digest);
        let folder = self.root.join("blobs").join(digest.algorithm());
        fs::create_dir_all(&folder).doing("creating", &folder)?;
        file.persist(&path).map(drop).map_err(|error| error.error).doing("writing", &path)
    }

    /// Stores bytes whose digest has been checked.
    pub(crate) fn store(&self, digest: &Digest, bytes: &[u8]) -> Result<(), LayoutError> {
        let mut file = self.begin()?;
        file.write_all(bytes).doing("writing to", file.path())?;
        self.keep(file, digest)
    }

    /// Gives `manifest` a name in the index, replacing the previous holder of that name. Until then nobody sees that
    /// anything was pulled.
    pub(crate) fn publish(
        &self,
        name: &str,
        media_type: &str,
        manifest: &Digest,
        size: u64,
    ) -> Result<(), LayoutError> {
        let mut index = self.index()?;
        let path = self.root.join(INDEX);
        let manifests = index.get_mut("manifests").and_then(Value::as_array_mut);
        let manifests = manifests.ok_or_else(|| broken(&path, "it has no list of manifests"))?;
        manifests.retain(|entry| entry["annotations"][REF_NAME] != name);
        manifests.push(json!({
            "mediaType": media_type,
            "digest": manifest,
            "size": size,
            "annotations": {REF_NAME: name},
        }));
        self.write(&path, index.to_string().as_bytes())
    }

    /// The current index, or an empty one if there is none yet.
    fn index(&self) -> Result<Value, LayoutError> {
        let path = self.root.join(INDEX);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(json!({
                    "schemaVersion": 2,
                    "mediaType": "application/vnd.oci.image.index.v1+json",
                    "manifests": [],
                }));
            }
            Err(error) => return Err(error).doing("reading", &path),
        };
        let index: Value = serde_json::from_slice(&text).map_err(|error| broken(&path, error))?;
        if index["manifests"].is_array() {
            Ok(index)
        } else {
            Err(broken(&path, "it has no list of manifests"))
        }
    }

    fn write(&self, path: &Path, content: &[u8]) -> Result<(), LayoutError> {
        let mut file = self.begin()?;
        file.write_all(content).doing("writing to", file.path())?;
        file.as_file().sync_all().doing("writing to", file.path())?;
        file.persist(path).map(drop).map_err(|error| error.error).doing("writing", path)
    }

    /// Removes the files that a killed pull left, and returns whether the folder is otherwise empty. Since we hold the
    /// lock, nobody uses these files any more.
    fn remove_unfinished(&self) -> Result<bool, LayoutError> {
        let mut empty = true;
        for entry in fs::read_dir(&self.root).doing("listing", &self.root)? {
            let entry = entry.doing("listing", &self.root)?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_file(entry.path()).doing("removing", &entry.path())?;
            } else {
                empty = false;
            }
        }
        Ok(empty)
    }
}

/// Whether `path` is a file with that size and digest. Anything else counts as missing.
pub(crate) fn is_good(path: &Path, digest: &Digest, size: u64) -> bool {
    let check = || -> io::Result<bool> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() != size {
            return Ok(false);
        }
        let mut hasher = digest.hasher();
        let mut buffer = vec![0; 256 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hasher.finish() == *digest),
                read => hasher.update(&buffer[..read]),
            }
        }
    };
    check().unwrap_or(false)
}

fn check_version(path: &Path, text: &[u8]) -> Result<(), LayoutError> {
    let marker: Value = serde_json::from_slice(text).map_err(|error| broken(path, error))?;
    match marker["imageLayoutVersion"].as_str() {
        Some(version) if version.starts_with("1.") => Ok(()),
        Some(version) => Err(broken(path, format!("version {version:?} is not known"))),
        None => Err(broken(path, "it says no imageLayoutVersion")),
    }
}

fn broken(path: &Path, reason: impl Display) -> LayoutError {
    LayoutError::Broken { path: path.to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(layout: &Layout) -> Vec<String> {
        let index = layout.index().unwrap();
        let entries = index["manifests"].as_array().unwrap().iter();
        entries.map(|entry| entry["annotations"][REF_NAME].as_str().unwrap_or("-").to_owned()).collect()
    }

    #[test]
    fn a_name_is_replaced_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::open(folder.path()).unwrap();
        let index = r#"{"schemaVersion": 2, "manifests": [{"digest": "x"}], "annotations": {"kept": "yes"}}"#;
        fs::write(folder.path().join(INDEX), index).unwrap();
        for (name, content) in [("a:1", "1"), ("b:1", "2"), ("a:1", "3")] {
            let digest = Digest::of(content.as_bytes());
            layout.publish(name, "type", &digest, 1).unwrap();
        }
        assert_eq!(names(&layout), ["-", "b:1", "a:1"]);
        let index = layout.index().unwrap();
        assert_eq!(index["manifests"][2]["digest"], Digest::of(b"3").as_str());
        assert_eq!(index["annotations"]["kept"], "yes");
    }

    #[test]
    fn one_writer_at_a_time_and_what_a_killed_one_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::open(folder.path()).unwrap();
        let (_, left) = layout.begin().unwrap().keep().unwrap();
        assert!(matches!(Layout::open(folder.path()), Err(LayoutError::Busy(_))));
        drop(layout);
        Layout::open(folder.path()).unwrap();
        assert!(!left.exists());
    }

    #[test]
    fn a_folder_with_other_things_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("letter.txt"), "dear").unwrap();
        assert!(matches!(Layout::open(folder.path()), Err(LayoutError::Foreign(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_layout_of_another_version_or_with_a_broken_index_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join(MARKER);
        for text in ["", "{}", r#"{"imageLayoutVersion": "2.0.0"}"#] {
            fs::write(&marker, text).unwrap();
            assert!(matches!(Layout::open(folder.path()), Err(LayoutError::Broken { .. })));
        }
        fs::write(&marker, r#"{"imageLayoutVersion": "1.0.0"}"#).unwrap();
        fs::write(folder.path().join(INDEX), "[]").unwrap();
        assert!(matches!(Layout::open(folder.path()), Err(LayoutError::Broken { .. })));
    }

    #[test]
    fn only_a_whole_and_unchanged_blob_is_good() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::open(folder.path()).unwrap();
        let digest = Digest::of(b"content");
        let path = layout.blob(&digest);
        assert!(!is_good(&path, &digest, 7));
        layout.store(&digest, b"content").unwrap();
        assert!(is_good(&path, &digest, 7));
        assert!(!is_good(&path, &digest, 8));
        fs::write(&path, b"CONTENT").unwrap();
        assert!(!is_good(&path, &digest, 7));
    }
}
