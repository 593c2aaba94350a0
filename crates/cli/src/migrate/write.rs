//! Writes the new files: each whole or not at all, and never over another file.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

use pullwright_golang::quote::quote;
use sha2::{Digest as _, Sha256};

use super::report::MigrationState;
use crate::diagnostic::Message;

/// The folder to write to, created if it does not exist.
pub(super) fn folder(named: Option<&Path>) -> Result<PathBuf, Message> {
    let Some(folder) = named else {
        return env::current_dir()
            .map_err(|error| Message::error(format!("cannot tell the current folder: {error}")));
    };
    if fs::metadata(folder).is_ok_and(|there| !there.is_dir()) {
        let shown = quote(&folder.display().to_string());
        return Err(Message::error(format!("{shown} exists and is a file")));
    }
    fs::create_dir_all(folder)
        .map_err(|error| Message::error(format!("cannot create {}: {error}", folder.display())))?;
    Ok(folder.to_owned())
}

/// Writes a file, unless it already exists.
pub(super) fn file(folder: &Path, name: &str, text: &str) -> io::Result<MigrationState> {
    let path = folder.join(file_name(name, text));
    match fs::read_to_string(&path) {
        Ok(there) if there == text => return Ok(MigrationState::AlreadyThere { path }),
        Ok(_) => {
            let message = format!("{} already exists with other content; move it away", path.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut temporary =
        tempfile::Builder::new().prefix(".pullwright-").permissions(as_umask_says()).tempfile_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist_noclobber(&path)?;
    Ok(MigrationState::Written { path })
}

/// Temporary files are private; a manifest gets the same mode as the user's other files.
fn as_umask_says() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    fs::Permissions::from_mode(0o666)
}

/// The name that oc would give it. Its number is random there; here it comes from the text, so that a second run finds the
/// file of the first instead of putting an equal one beside it.
fn file_name(name: &str, text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let number = digest.iter().take(8).fold(0, |number: u64, byte| number << 8 | u64::from(*byte)) >> 1;
    format!("imagedigestmirrorset_{name}.{number:06}.yaml")
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn a_name_is_ocs_and_comes_from_the_text() {
        let name = file_name("ubi", "a\n");
        assert_eq!(name, file_name("ubi", "a\n"));
        assert_ne!(name, file_name("ubi", "b\n"));
        let number =
            name.strip_prefix("imagedigestmirrorset_ubi.").and_then(|rest| rest.strip_suffix(".yaml"));
        assert!(number.unwrap().parse::<i64>().is_ok_and(|number| number > 99_999), "{name}");
    }
}
