//! What the tests of `openshift/runtime-utils` and of the Machine Config Operator hold them to, and where we differ.

use std::fs;
use std::path::{Path, PathBuf};

use super::notation::{Upstream, Vector, written};
use super::*;

fn files(folder: &str) -> Vec<(PathBuf, Vector)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/mirrors").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let vector = Vector::parse(&fs::read_to_string(&path).unwrap());
            (path, vector)
        })
        .collect()
}

fn entries(vector: &Vector) -> Vec<String> {
    merged(&vector.sets, &vector.sources).registries.iter().map(written).collect()
}

#[test]
fn entries_are_those_of_runtime_utils() {
    let files = files("as-runtime-utils");
    assert!(files.len() >= 37, "{}", files.len());
    for (path, vector) in files {
        assert_eq!(entries(&vector), vector.expected, "{}", path.display());
        assert_eq!(vector.upstream, None, "{}", path.display());
    }
}

/// Each file says why. That the other result would be another one is part of the claim.
#[test]
fn entries_differ_from_those_of_runtime_utils_on_purpose_here() {
    let files = files("unlike-runtime-utils");
    assert!(files.len() >= 12, "{}", files.len());
    for (path, vector) in files {
        assert_eq!(entries(&vector), vector.expected, "{}", path.display());
        match &vector.upstream {
            Some(Upstream::Entries(theirs)) => assert_ne!(*theirs, vector.expected, "{}", path.display()),
            Some(Upstream::Fails) => {}
            None => panic!("{} does not say what the difference is", path.display()),
        }
    }
}

#[test]
fn the_library_reads_the_file_as_the_entries_are_meant() {
    for (path, vector) in files("as-runtime-utils").into_iter().chain(files("unlike-runtime-utils")) {
        let merged = merged(&vector.sets, &vector.sources);
        let conf = merged.registries_conf("/etc/containers/registries.conf".into()).unwrap();
        let mut entries: Vec<_> = merged.registries.iter().collect();
        entries.sort_by_key(|entry| &entry.prefix);
        assert_eq!(conf.registries(), entries, "{}", path.display());
    }
}
