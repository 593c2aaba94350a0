//! CRI-O: `registries.conf`, its drop-ins and `policy.json`, in the shape in which the Machine Config Operator writes them.

use std::path::{Path, PathBuf};

use pullwright_engine::mirrors::Merged;
use pullwright_engine::registries::{Change, ConfFile, Notice, RegistriesConf};

use crate::{
    ConfigChange, CurrentFiles, FileChange, Layout, NodeFile, NodeFileError, RegistryChange, Reload,
    Rendering, Runtime, RuntimeState,
};

/// Where CRI-O looks for its main file.
pub const REGISTRIES_CONF: &str = "/etc/containers/registries.conf";
/// The drop-in in which the Machine Config Operator keeps the search registries of `Image/cluster`.
pub const SEARCH_DROP_IN: &str = "/etc/containers/registries.conf.d/01-image-searchRegistries.conf";
/// The drop-in for mirrors on nodes whose main file belongs to the distribution: an entry in it replaces one of the main file with the same
/// prefix, and everything else in the main file stays.
pub const MIRRORS_DROP_IN: &str = "/etc/containers/registries.conf.d/50-pullwright.conf";
/// Where CRI-O looks for the rules that say which images it accepts.
pub const POLICY_JSON: &str = "/etc/containers/policy.json";
/// Where a distribution keeps the main file that an administrator may override.
const VENDOR_CONF: &str = "/usr/share/containers/registries.conf";

/// The row of CRI-O.
pub const RUNTIME: Runtime = Runtime {
    name: "crio",
    about: "CRI-O, and everything else that reads registries.conf",
    folder: "/etc/containers",
    layout: Layout::RegistriesConf,
    policy: Some(POLICY_JSON),
    render: |conf, _| Rendering {
        files: vec![NodeFile::config(REGISTRIES_CONF, conf.render())],
        unsupported: Vec::new(),
    },
    parse: |current| Ok(Box::new(CrioFiles::parse(current)?)),
    reload: Reload::Reload("crio"),
    takes_effect: "run `systemctl reload crio` to apply it",
    machine_config: true,
};

/// What the objects of a cluster say, as CRI-O's files.
///
/// The search registries of `Image/cluster` get a file of their own, as the Machine Config Operator writes it, so that those
/// of the template stay readable beside them.
pub(crate) fn files_of_objects(merged: &Merged, template: Option<&RegistriesConf>) -> Vec<NodeFile> {
    let kept = template.and_then(RegistriesConf::unqualified_search_registries).map(<[String]>::to_vec);
    let main = Merged { search: kept, ..merged.clone() };
    let mut files = vec![NodeFile::config(REGISTRIES_CONF, main.render())];
    if merged.search.is_some() {
        let search = Merged { registries: Vec::new(), ..merged.clone() };
        files.push(NodeFile::config(SEARCH_DROP_IN, search.render()));
    }
    files
}

/// The same files for a node that keeps its own main file: what would replace it becomes a drop-in.
#[must_use]
pub fn beside_main_file(files: Vec<NodeFile>) -> Vec<NodeFile> {
    let moved = |file: NodeFile| {
        if file.path == Path::new(REGISTRIES_CONF) {
            NodeFile { path: MIRRORS_DROP_IN.into(), ..file }
        } else {
            file
        }
    };
    files.into_iter().map(moved).collect()
}

/// The parsed files of a node, each by the part that it plays.
#[derive(Debug)]
pub struct CrioFiles {
    /// The main file, wherever it was found; empty if there is none.
    main: (PathBuf, ConfFile),
    /// The drop-in with the search registries of `Image/cluster`.
    search: Option<ConfFile>,
    /// Drop-ins that a rendering leaves alone.
    others: Vec<(PathBuf, ConfFile)>,
    /// The main file alone.
    template: RegistriesConf,
}

/// A node's files after a rendering replaced some.
#[derive(Debug)]
pub struct ReplacedFiles {
    main: ConfFile,
    search: Option<ConfFile>,
    /// All files together.
    pub registries: RegistriesConf,
}

/// A node without any files.
impl Default for CrioFiles {
    fn default() -> Self {
        Self::new(None, None, Vec::new())
    }
}

impl CrioFiles {
    /// Parses a node's files.
    ///
    /// # Errors
    /// If CRI-O would refuse one.
    pub fn parse(current: &CurrentFiles) -> Result<Self, NodeFileError> {
        // The main file comes before the drop-ins, but a node may have only drop-ins.
        let is_main = |path: &Path| match &current.main {
            Some(named) => path == named,
            None => [REGISTRIES_CONF, VENDOR_CONF].iter().any(|usual| path == Path::new(usual)),
        };
        let (mut main, mut search, mut others) = (None, None, Vec::new());
        for file in &current.files {
            let Some(text) = &file.text else { continue };
            let conf = parse(&file.path, text)?;
            if file.path == Path::new(SEARCH_DROP_IN) {
                search = Some(conf);
            } else if is_main(&file.path) {
                main = Some((file.path.clone(), conf));
            } else {
                others.push((file.path.clone(), conf));
            }
        }
        Ok(Self::new(main, search, others))
    }

    fn new(
        main: Option<(PathBuf, ConfFile)>,
        search: Option<ConfFile>,
        others: Vec<(PathBuf, ConfFile)>,
    ) -> Self {
        let main = main.unwrap_or_else(|| (PathBuf::from(REGISTRIES_CONF), ConfFile::default()));
        let template = RegistriesConf::merge([main.clone()]);
        Self { main, search, others, template }
    }

    /// The node after a rendering replaced its files. Drop-ins of others stay.
    ///
    /// # Errors
    /// If a rendered file cannot be parsed, which no rendering of this crate causes.
    pub fn replaced_by(&self, files: &[NodeFile]) -> Result<ReplacedFiles, NodeFileError> {
        let new = |path: &str| {
            let file = files.iter().find(|file| file.path == Path::new(path));
            file.map(|file| parse(&file.path, &file.content)).transpose()
        };
        let (main, search) = (new(REGISTRIES_CONF)?.unwrap_or_default(), new(SEARCH_DROP_IN)?);
        let rendered = [(PathBuf::from(REGISTRIES_CONF), main.clone())];
        let search_file = search.clone().map(|search| (PathBuf::from(SEARCH_DROP_IN), search));
        let all = rendered.into_iter().chain(search_file).chain(self.others.iter().cloned());
        Ok(ReplacedFiles { registries: RegistriesConf::merge(all), main, search })
    }

    /// The drop-in whose entry counts instead of the changed one.
    fn overridden_by(&self, change: &Change, after: &ReplacedFiles) -> Option<PathBuf> {
        let prefix = change.entry.as_ref()?;
        let entry = after.registries.find(prefix).filter(|registry| registry.prefix == *prefix)?;
        let origin: &Path = after.registries.origin(entry)?;
        self.others.iter().any(|(path, _)| path == origin).then(|| origin.to_owned())
    }
}

impl RuntimeState for CrioFiles {
    fn template(&self) -> Option<&RegistriesConf> {
        Some(&self.template)
    }

    fn changes(&self, files: &[NodeFile]) -> Result<Vec<FileChange>, NodeFileError> {
        let after = self.replaced_by(files)?;
        let of_main = self.main.1.changes_to(&after.main);
        let of_search = self.search.clone().unwrap_or_default();
        let of_search = of_search.changes_to(&after.search.clone().unwrap_or_default());
        let entry = |change: Change| {
            let overridden_by = self.overridden_by(&change, &after);
            ConfigChange::Registry(RegistryChange { change, overridden_by })
        };
        // The Machine Config Operator has no rule for this file, so it reboots the node for every change in it.
        let reboot = |change: Change| Change { notice: Notice::Reboot, ..change };
        let changed = [
            (self.main.0.clone(), of_main.into_iter().map(entry).collect::<Vec<_>>()),
            (PathBuf::from(SEARCH_DROP_IN), of_search.into_iter().map(reboot).map(entry).collect()),
        ];
        let changed = changed.into_iter().filter(|(_, changes)| !changes.is_empty());
        Ok(changed.map(|(path, changes)| FileChange { path, foreign: false, changes }).collect())
    }
}

fn parse(path: &Path, text: &str) -> Result<ConfFile, NodeFileError> {
    ConfFile::parse(text)
        .map_err(|error| NodeFileError::RegistriesConf { path: path.to_owned(), source: Box::new(error) })
}
