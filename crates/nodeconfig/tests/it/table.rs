//! What holds for every row of the table.

use std::path::Path;

use pullwright_engine::mirrors::ObjectOutcome;
use pullwright_engine::registries::{ConfFile, RegistriesConf};
use pullwright_nodeconfig::{
    CurrentFile, CurrentFiles, Layout, NodeFileError, RUNTIMES, Reload, any_usable, crio, k3s,
};

fn conf() -> RegistriesConf {
    let text = "[[registry]]\nlocation = 'quay.io'\n[[registry.mirror]]\nlocation = 'mirror.example'\n";
    RegistriesConf::merge([("/etc/containers/registries.conf".into(), ConfFile::parse(text).unwrap())])
}

#[test]
fn every_file_of_a_runtime_is_below_its_folder_and_readable() {
    for runtime in RUNTIMES {
        let rendering = (runtime.render)(&conf(), &[]);
        assert!(!rendering.files.is_empty(), "{}", runtime.name);
        for file in &rendering.files {
            assert!(file.path.starts_with(runtime.folder), "{file:?}");
            assert_eq!(file.mode, 0o644, "{file:?}");
        }
        assert!(runtime.policy.is_none_or(|path| Path::new(path).starts_with(runtime.folder)));
    }
}

#[test]
fn a_rendering_that_is_on_the_node_changes_nothing_and_needs_no_reload() {
    for runtime in RUNTIMES {
        let rendering = (runtime.render)(&conf(), &[]);
        let nothing = (runtime.parse)(&CurrentFiles::default()).unwrap().changes(&rendering.files).unwrap();
        assert_eq!(runtime.reload_for(&nothing), runtime.reload, "{}: on an empty node", runtime.name);
        let file = |file: &pullwright_nodeconfig::NodeFile| CurrentFile {
            path: file.path.clone(),
            text: Some(file.content.clone()),
        };
        let current = CurrentFiles { files: rendering.files.iter().map(file).collect(), main: None };
        let changes = (runtime.parse)(&current).unwrap().changes(&rendering.files).unwrap();
        assert_eq!((changes.as_slice(), runtime.reload_for(&changes)), (&[][..], Reload::Nothing));
    }
}

#[test]
fn names_and_services_are_those_that_people_type() {
    let rows: Vec<_> = RUNTIMES.iter().map(|runtime| (runtime.name, runtime.reload)).collect();
    let expected =
        [("crio", Reload::Reload("crio")), ("containerd", Reload::Nothing), ("k3s", Reload::Restart("k3s"))];
    assert_eq!(rows, expected);
}

#[test]
fn an_error_names_the_file_and_shows_none_of_its_text() {
    let current = |path: &str, text: &str| CurrentFiles {
        files: vec![CurrentFile { path: path.into(), text: Some(text.to_owned()) }],
        main: None,
    };
    let yaml = current(k3s::REGISTRIES_YAML, "configs:\n  quay.io: hunter2\n");
    assert_eq!(k3s::RUNTIME.layout, Layout::OneFile { path: k3s::REGISTRIES_YAML });
    let error = (k3s::RUNTIME.parse)(&yaml).err().unwrap();
    assert_eq!(error.path(), Path::new(k3s::REGISTRIES_YAML));
    assert!(!format!("{error} {error:?} {yaml:?}").contains("hunter2"), "{error:?} {yaml:?}");
    let toml = current(crio::REGISTRIES_CONF, "[[registry]]\nlocation = 1\n");
    let error = (crio::RUNTIME.parse)(&toml).err().unwrap();
    assert!(matches!(error, NodeFileError::RegistriesConf { .. }), "{error:?}");
}

#[test]
fn a_nodes_files_stay_when_every_object_is_rejected() {
    assert!(any_usable([]));
    assert!(any_usable([ObjectOutcome::Rejected, ObjectOutcome::Partly]));
    assert!(!any_usable([ObjectOutcome::Rejected, ObjectOutcome::Rejected]));
}
