//! A runtime that does not exist, to show what adding one takes: this module and one row in the table.

use pullwright_engine::containerd::{CertsD, host_of_folder};
use pullwright_engine::registries::{ConfFile, Notice, RegistriesConf};
use pullwright_nodeconfig::{
    ConfigChange, CurrentFile, CurrentFiles, EndpointsChange, FileChange, Layout, NodeFile, NodeFileError,
    RUNTIMES, Reload, Rendering, Runtime, RuntimeState,
};

const MIRRORS: &str = "/etc/podrunner/mirrors";

/// The row. The runtime reads one file with a line `REGISTRY MIRROR` for each mirror.
const PODRUNNER: Runtime = Runtime {
    name: "podrunner",
    about: "podrunner: a list of mirrors",
    folder: "/etc/podrunner",
    layout: Layout::OneFile { path: MIRRORS },
    policy: None,
    render,
    parse: |current| Ok(Box::new(Mirrors(current.text(MIRRORS.as_ref()).unwrap_or_default().to_owned()))),
    reload: Reload::Restart("podrunner"),
    takes_effect: "podrunner reads the file when it starts",
    machine_config: false,
};

fn render(conf: &RegistriesConf, _hosts: &[String]) -> Rendering {
    let mut content = String::new();
    for registry in conf.registries() {
        for mirror in &registry.mirrors {
            content += &format!("{} {}\n", registry.prefix, mirror.endpoint.location);
        }
    }
    Rendering { files: vec![NodeFile::config(MIRRORS, content)], unsupported: Vec::new() }
}

/// The text of the file.
struct Mirrors(String);

impl RuntimeState for Mirrors {
    fn changes(&self, files: &[NodeFile]) -> Result<Vec<FileChange>, NodeFileError> {
        let (before, after) = (certs_d(&self.0), certs_d(&files[0].content));
        let hosts = after.folders().filter_map(|(folder, _)| host_of_folder(folder));
        let changes = hosts.filter_map(|host| EndpointsChange::compare(&host, &before, &after));
        let changes: Vec<_> = changes.map(ConfigChange::Endpoints).collect();
        let file = FileChange { path: MIRRORS.into(), foreign: false, changes };
        Ok(Some(file).filter(|file| !file.changes.is_empty()).into_iter().collect())
    }
}

fn certs_d(text: &str) -> CertsD {
    let mut certs_d = CertsD::default();
    for (registry, mirror) in text.lines().filter_map(|line| line.split_once(' ')) {
        certs_d.insert(registry, Some(&format!("[host.'https://{mirror}']\n")));
    }
    certs_d
}

#[test]
fn a_runtime_is_one_module_and_one_row() {
    let table = [RUNTIMES, &[PODRUNNER]].concat();
    let runtime = Runtime::find(&table, "podrunner").unwrap();
    let text = "[[registry]]\nlocation = 'quay.io'\n[[registry.mirror]]\nlocation = 'mirror.example'\n";
    let conf = RegistriesConf::merge([("registries.conf".into(), ConfFile::parse(text).unwrap())]);

    let rendering = (runtime.render)(&conf, &[]);
    assert_eq!(runtime.only_file(&rendering).unwrap().content, "quay.io mirror.example\n");
    let missing = CurrentFiles { files: vec![CurrentFile { path: MIRRORS.into(), text: None }], main: None };
    let changes = (runtime.parse)(&missing).unwrap().changes(&rendering.files).unwrap();
    assert_eq!(changes[0].changes[0].notice(), Notice::Pulls);
    assert_eq!(runtime.reload_for(&changes), Reload::Restart("podrunner"));

    let text = Some(rendering.files[0].content.clone());
    let there = CurrentFiles { files: vec![CurrentFile { path: MIRRORS.into(), text }], main: None };
    let none = (runtime.parse)(&there).unwrap().changes(&rendering.files).unwrap();
    assert_eq!((none.len(), runtime.reload_for(&none)), (0, Reload::Nothing));
}
