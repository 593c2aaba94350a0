//! The fixtures of `testdata/containerd/render`: a `registries.conf`, the `certs.d` that it becomes, and what cannot
//! be said.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::endpoints::certs_d;
use crate::containerd::{CertsD, disagreements, render};
use crate::registries::{ConfFile, RegistriesConf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/containerd/render")
}

pub(super) fn conf(text: &str) -> RegistriesConf {
    RegistriesConf::merge([(PathBuf::from("registries.conf"), ConfFile::parse(text).unwrap())])
}

fn written(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        files.insert(format!("{name}/hosts.toml"), fs::read_to_string(folder.join("hosts.toml")).unwrap());
    }
    files
}

#[test]
fn every_configuration_becomes_these_files_and_findings() {
    let mut count = 0;
    for entry in fs::read_dir(fixtures()).unwrap() {
        let folder = entry.unwrap().path();
        let text = fs::read_to_string(folder.join("registries.conf")).unwrap();
        let hosts = fs::read_to_string(folder.join("hosts.txt")).unwrap_or_default();
        let hosts: Vec<String> = hosts.lines().map(str::to_owned).collect();
        let rendered = render(&conf(&text), &hosts);
        let said: Vec<_> = rendered
            .findings
            .iter()
            .map(|finding| {
                let severity = format!("{:?}", finding.severity).to_lowercase();
                format!("{severity} {} {}\n  {}\n", finding.rule.name(), finding.at, finding.message)
            })
            .collect();
        assert_eq!(rendered.files, written(&folder.join("certs.d")), "{}", folder.display());
        let expected = fs::read_to_string(folder.join("findings.txt")).unwrap();
        assert_eq!(said.concat(), expected, "{}", folder.display());
        // What is written means what was planned.
        let certs =
            if rendered.files.is_empty() { CertsD::default() } else { certs_d(&folder.join("certs.d")) };
        assert_eq!(disagreements(&conf(&text), &certs), [], "{}", folder.display());
        count += 1;
    }
    assert!(count > 10, "the fixtures are there");
}

#[test]
fn what_many_paths_of_one_registry_cannot_express_is_told_in_text_that_grows_with_them_alone() {
    let told = |paths: usize| {
        let entries = (0..paths).map(|n| {
            format!("[[registry]]\nlocation = 'q.io/t{n}'\n[[registry.mirror]]\nlocation = 'm{n}.io/t{n}'\n")
        });
        let conf = conf(&entries.collect::<String>());
        let rendered = render(&conf, &[]);
        assert_eq!(rendered.findings.len(), paths + 1);
        rendered.findings.iter().map(|finding| finding.message.len()).sum::<usize>()
    };
    let (some, more) = (told(200), told(400));
    assert!(more < 3 * some, "{some} bytes for 200 paths, {more} for 400");
}
