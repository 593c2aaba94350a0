//! Which files make up a node's configuration, and in what order.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use pullwright_engine::registries::{LoaderEnv, MainFile, SearchPath};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::operation::{Operation, Report};
use crate::random::Random;

/// The operation.
pub(super) struct Locations;

/// A node's files and the loader's surroundings. The texts do not matter here: each file names itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Case {
    files: Vec<String>,
    main: String,
    dropins: String,
    environment: BTreeMap<String, String>,
}

const MAIN: &[&str] = &[
    "/etc/containers/registries.conf",
    "/usr/share/containers/registries.conf",
    "/home/u/.config/containers/registries.conf",
    "/home/u/xdg/containers/registries.conf",
    "/containers/registries.conf",
    "/rel/containers/registries.conf",
    "/opt/main.conf",
    "/opt/override.conf",
];
const FOLDERS: &[&str] = &[
    "/etc/containers/registries.conf.d",
    "/etc/containers/registries.rootful.conf.d",
    "/etc/containers/registries.rootless.conf.d",
    "/etc/containers/registries.rootless.conf.d/1000",
    "/usr/share/containers/registries.conf.d",
    "/usr/share/containers/registries.rootful.conf.d",
    "/usr/share/containers/registries.rootless.conf.d/1000",
    "/home/u/.config/containers/registries.conf.d",
    "/home/u/xdg/containers/registries.conf.d",
    "/containers/registries.conf.d",
    "/opt/conf.d",
];
const NAMES: &[&str] =
    &["10-a.conf", "20-b.conf", "30-c.conf", "README.md", "backup.conf~", ".conf", "Z.conf", "x.conf.conf"];

impl Operation for Locations {
    const NAME: &'static str = "locations";
    const OP: &'static str = "locations";
    const BATCH: usize = 1;

    type Case = Case;

    fn generate(random: &mut Random) -> Case {
        let mut files: Vec<String> =
            MAIN.iter().filter(|_| random.one_in(2)).map(|&path| path.to_owned()).collect();
        for folder in FOLDERS {
            files.extend(NAMES.iter().filter(|_| random.one_in(6)).map(|name| format!("{folder}/{name}")));
        }
        let mut environment = BTreeMap::from([("HOME".to_owned(), "/home/u".to_owned())]);
        for (name, rarity, values) in [
            ("XDG_CONFIG_HOME", 3, &["/home/u/xdg", "", "rel", "/nowhere"][..]),
            ("CONTAINERS_REGISTRIES_CONF", 5, &["/opt/main.conf", "/nowhere.conf", ""]),
            ("CONTAINERS_REGISTRIES_CONF_OVERRIDE", 4, &["/opt/override.conf", "/nowhere.conf", ""]),
            ("_CONTAINERS_ROOTLESS_UID", 2, &["1000", "0", "99", "", "-1", "x", "+1000"]),
        ] {
            if random.one_in(rarity) {
                environment.insert(name.to_owned(), random.pick(values).to_owned());
            }
        }
        Case {
            files,
            main: if random.one_in(5) { random.pick(&["/opt/main.conf", "/nowhere.conf"]) } else { "" }
                .to_owned(),
            dropins: if random.one_in(5) { random.pick(&["/opt/conf.d", "/nowhere.d"]) } else { "" }
                .to_owned(),
            environment,
        }
    }

    fn request(case: &Case) -> Value {
        let files: BTreeMap<&String, &str> = case.files.iter().map(|path| (path, "")).collect();
        json!({
            "files": files, "main": case.main, "dropins": case.dropins, "environment": case.environment,
            "queries": [], "short_names": [],
        })
    }

    fn questions(_: &Case) -> usize {
        1
    }

    fn compare(case: &Case, theirs: &Value, report: &mut Report) {
        let (read, missing) = files_read(case);
        let read: Vec<String> = read.iter().map(|path| on_node(path)).collect();
        let missing = missing.map(|path| format!("open {}: no such file or directory", on_node(&path)));
        let ours = json!({ "read": read, "error": missing });
        let theirs = json!({ "read": theirs["read"], "error": theirs["result"]["error"] });
        report.answer(|| "files".to_owned(), ours, &theirs);
    }

    fn shrink(case: &Case) -> Vec<Case> {
        let files =
            crate::operation::fewer(&case.files).into_iter().map(|files| Case { files, ..case.clone() });
        let environment = case.environment.keys().filter(|name| *name != "HOME").map(|name| {
            let mut case = case.clone();
            case.environment.remove(name);
            case
        });
        let explicit =
            [Case { main: String::new(), ..case.clone() }, Case { dropins: String::new(), ..case.clone() }]
                .into_iter()
                .filter(|smaller| smaller.main != case.main || smaller.dropins != case.dropins);
        files.chain(environment).chain(explicit).collect()
    }
}

/// The files that a loader reads by the engine's rules, up to the one that has to be there and is not.
fn files_read(case: &Case) -> (Vec<PathBuf>, Option<PathBuf>) {
    // Of this process, and so of the Go program.
    let uid = std::fs::metadata("/proc/self").map_or(0, |process| process.uid());
    let mut env = LoaderEnv::from_vars(|name| case.environment.get(name).map(OsString::from), uid);
    let named = |path: &String| (!path.is_empty()).then(|| PathBuf::from(path));
    env.conf = named(&case.main);
    env.conf_dir = named(&case.dropins);
    let search = env.search_path();

    let mut read = Vec::new();
    match search.main {
        MainFile::Named(path) if exists(case, &path) => read.push(path),
        MainFile::Named(path) => return (read, Some(path)),
        MainFile::FirstOf(paths) => read.extend(paths.into_iter().find(|path| exists(case, path))),
    }
    let listings = search.drop_in_dirs.iter().map(|dir| (dir.as_path(), names_in(case, dir)));
    read.extend(SearchPath::drop_ins(listings));
    match search.extra {
        Some(path) if !exists(case, &path) => (read, Some(path)),
        extra => {
            read.extend(extra);
            (read, None)
        }
    }
}

fn exists(case: &Case, path: &Path) -> bool {
    case.files.iter().any(|file| Path::new(file) == absolute(path))
}

fn names_in(case: &Case, dir: &Path) -> Vec<OsString> {
    let dir = absolute(dir);
    let here = case.files.iter().map(Path::new).filter(|file| file.parent() == Some(&dir));
    here.filter_map(|file| file.file_name().map(OsString::from)).collect()
}

/// The node's root is also its working directory.
fn absolute(path: &Path) -> PathBuf {
    Path::new("/").join(path)
}

/// As the Go program shows a path: absolute ones below the case's folder.
fn on_node(path: &Path) -> String {
    if path.is_absolute() { format!("$DIR{}", path.display()) } else { path.display().to_string() }
}
