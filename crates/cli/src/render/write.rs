//! Writing the files: whole or not at all, and never over what somebody else wrote.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{Rendering, Runtime, SEARCH_DROP_IN};
use crate::diagnostic::Message;

/// What a file shall be: a text, or not there.
struct Target<'r> {
    path: PathBuf,
    text: Option<&'r str>,
}

/// Writes all files, removes what an earlier run wrote and nothing wants any more, and says what was done, a line for each.
///
/// All are looked at before the first is written, so that a refusal leaves everything as it was.
pub(super) fn to(to: &Path, rendering: &Rendering, force: bool) -> Result<Vec<String>, Message> {
    if is_file(to) && rendering.only().is_none() {
        let text = format!("{} is one file, and there may be several to write", to.display());
        return Err(Message::error(text).with_help("name a folder, which need not be there yet"));
    }
    let mut planned = Vec::new();
    for target in targets(to, rendering).map_err(|error| failed("list", to, &error))? {
        let before = match fs::read_to_string(&target.path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read", &target.path, &error)),
        };
        if before.as_deref() == target.text {
            continue;
        }
        if !force && before.is_some_and(|text| !Rendering::is_ours(&text)) {
            let wanted = if target.text.is_some() { "says something else" } else { "is not wanted any more" };
            return Err(Message::error(format!("{} is there and {wanted}", target.path.display()))
                .with_help("look at the difference with `pullwright diff`, then use --force"));
        }
        planned.push(target);
    }
    let mut done = Vec::new();
    for Target { path, text } in planned {
        let (verb, past) = if text.is_some() { ("write", "wrote") } else { ("remove", "removed") };
        match text {
            Some(text) => replace(&path, text),
            None => fs::remove_file(&path),
        }
        .map_err(|error| failed(verb, &path, &error))?;
        if let (None, Some(folder)) = (text, path.parent()) {
            // Certificates beside it are somebody's, and keep the folder.
            let _ = fs::remove_dir(folder);
        }
        done.push(format!("{past} {}", path.display()));
    }
    Ok(done)
}

/// Whether a path means a file, the same for every runtime. One that is not there yet is a folder, unless it is named like
/// the files that runtimes read.
fn is_file(to: &Path) -> bool {
    let like_one = || {
        to.extension()
            .is_some_and(|it| ["conf", "json", "toml", "yaml", "yml"].iter().any(|name| it == *name))
    };
    to.is_file() || (!to.exists() && like_one())
}

/// What the files shall be: below a folder that stands for the runtime's own, or in the one file that is named.
fn targets<'r>(to: &Path, rendering: &'r Rendering) -> io::Result<Vec<Target<'r>>> {
    if let Some(only) = rendering.only().filter(|_| is_file(to)) {
        return Ok(vec![Target { path: to.to_owned(), text: Some(only) }]);
    }
    let below = |path: &Path| to.join(path.strip_prefix(rendering.folder()).unwrap_or(path));
    let files = rendering.files.iter();
    let mut targets: Vec<_> =
        files.map(|file| Target { path: below(&file.path), text: Some(file.text.as_str()) }).collect();
    let perhaps_stale = match rendering.runtime {
        Runtime::Crio => vec![below(Path::new(SEARCH_DROP_IN))],
        Runtime::Containerd => earlier(to)?,
        Runtime::K3s => Vec::new(),
    };
    for path in perhaps_stale {
        if targets.iter().all(|target| target.path != path) {
            targets.push(Target { path, text: None });
        }
    }
    Ok(targets)
}

/// The `hosts.toml` files that an earlier run wrote, in order.
fn earlier(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path().join("hosts.toml");
        if fs::read_to_string(&path).is_ok_and(|text| Rendering::is_ours(&text)) {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// A reader sees the old text or the new one.
fn replace(target: &Path, text: &str) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut temporary = tempfile::Builder::new().prefix(".pullwright-").tempfile_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    set_readable(temporary.as_file())?;
    temporary.as_file().sync_all()?;
    temporary.persist(target)?;
    Ok(())
}

/// Temporary files are private; these are read by services of other users.
fn set_readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> Message {
    Message::error(format!("cannot {verb} {}: {error}", path.display()))
}
