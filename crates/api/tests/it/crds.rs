//! The committed definitions: the same as the generated ones, and nothing besides.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pullwright_api::crds::manifests;

#[test]
fn the_committed_definitions_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    let committed: BTreeMap<_, _> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(&path).unwrap())
        })
        .collect();
    let generated: BTreeMap<_, _> =
        manifests().unwrap().into_iter().map(|manifest| (manifest.file, manifest.text)).collect();
    assert!(
        committed.keys().eq(generated.keys()),
        "{:?} are committed, {:?} are generated",
        committed.keys(),
        generated.keys()
    );
    for (file, text) in generated {
        assert_eq!(committed[&file], text, "{file} is out of date: run `cargo xtask gen`");
    }
}
