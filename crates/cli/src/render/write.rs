//! Writes the rendered files: each whole or not at all, and never over somebody else's file without `--force`.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use pullwright_nodeconfig::crio::SEARCH_DROP_IN;
use pullwright_nodeconfig::{Layout, NodeFile, Rendering, Runtime, is_ours};
use pullwright_nodefiles::NodeRoot;

use crate::diagnostic::Message;

/// A path, and the file that it should hold; `None` to remove what is there.
struct Target<'r> {
    path: PathBuf,
    file: Option<&'r NodeFile>,
}

/// Writes all files and removes those of an earlier run that are no longer needed. Returns one line for each.
///
/// All files are checked before the first is written, so an error leaves everything as it was.
pub(super) fn to(
    to: &Path,
    runtime: &Runtime,
    rendering: &Rendering,
    force: bool,
) -> Result<Vec<String>, Message> {
    if is_file(to) && runtime.only_file(rendering).is_none() {
        let text = format!("{} is a file, but there may be several files to write", to.display());
        return Err(Message::error(text).with_help("name a folder; it is created if it does not exist"));
    }
    let mut planned = Vec::new();
    for target in targets(to, runtime, rendering).map_err(|error| failed("list", to, &error))? {
        let before = match fs::read_to_string(&target.path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed("read", &target.path, &error)),
        };
        if before.as_deref() == target.file.map(|file| file.content.as_str()) {
            continue;
        }
        if !force && before.is_some_and(|text| !is_ours(&text)) {
            let wanted = if target.file.is_some() { "has other content" } else { "is no longer needed" };
            return Err(Message::error(format!("{} already exists and {wanted}", target.path.display()))
                .with_help("compare with `pullwright diff`, then use --force"));
        }
        planned.push(target);
    }
    let mut done = Vec::new();
    for Target { path, file } in planned {
        let (verb, past) = if file.is_some() { ("write", "wrote") } else { ("remove", "removed") };
        match file {
            Some(file) => replace(&path, file),
            None => fs::remove_file(&path),
        }
        .map_err(|error| failed(verb, &path, &error))?;
        if let (None, Some(folder)) = (file, path.parent()) {
            // This fails, and should, if there are certificates in the folder.
            let _ = fs::remove_dir(folder);
        }
        done.push(format!("{past} {}", path.display()));
    }
    Ok(done)
}

/// Whether a path means a file, for every runtime alike. A path that does not exist is a folder, unless it ends like the files
/// that runtimes read.
fn is_file(to: &Path) -> bool {
    let like_one = || {
        to.extension()
            .is_some_and(|it| ["conf", "json", "toml", "yaml", "yml"].iter().any(|name| it == *name))
    };
    to.is_file() || (!to.exists() && like_one())
}

/// Where each file goes: below a folder that stands for the runtime's own, or to the one file that the path names.
fn targets<'r>(to: &Path, runtime: &Runtime, rendering: &'r Rendering) -> io::Result<Vec<Target<'r>>> {
    if let Some(only) = runtime.only_file(rendering).filter(|_| is_file(to)) {
        return Ok(vec![Target { path: to.to_owned(), file: Some(only) }]);
    }
    let below = |path: &Path| to.join(path.strip_prefix(runtime.folder).unwrap_or(path));
    let files = rendering.files.iter();
    let mut targets: Vec<_> =
        files.map(|file| Target { path: below(&file.path), file: Some(file) }).collect();
    let perhaps_stale = match runtime.layout {
        Layout::RegistriesConf => vec![below(Path::new(SEARCH_DROP_IN))],
        Layout::CertsD => earlier(to)?,
        Layout::OneFile { .. } => Vec::new(),
    };
    for path in perhaps_stale {
        if targets.iter().all(|target| target.path != path) {
            targets.push(Target { path, file: None });
        }
    }
    Ok(targets)
}

/// The `hosts.toml` files that an earlier run wrote, in order.
fn earlier(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let folders = match NodeRoot::this_machine().certs_d(folder) {
        Ok(folders) => folders,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    // A file that cannot be read is not known to be ours, and stays.
    let ours = folders.into_iter().filter(|folder| matches!(&folder.text, Ok(Some(text)) if is_ours(text)));
    Ok(ours.map(|folder| folder.path).collect())
}

/// Replaces a file at once: a reader sees the old text or the new one.
fn replace(target: &Path, file: &NodeFile) -> io::Result<()> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut temporary = tempfile::Builder::new().prefix(".pullwright-").tempfile_in(folder)?;
    temporary.write_all(file.content.as_bytes())?;
    temporary.as_file().set_permissions(fs::Permissions::from_mode(file.mode))?;
    temporary.as_file().sync_all()?;
    temporary.persist(target)?;
    Ok(())
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> Message {
    Message::error(format!("cannot {verb} {}: {error}", path.display()))
}
