//! The files of a node's registries configuration one by one, as something that rendered files take the place of.

use std::path::{Path, PathBuf};

use pullwright_engine::registries::{ConfFile, RegistriesConf};

use super::{NodeFiles, refused_registries};
use crate::args;
use crate::diagnostic::{File, Message, Visibility};
use crate::render::{NodeFile, REGISTRIES_CONF, SEARCH_DROP_IN};
use pullwright_documents::Text;

/// What a node has today.
pub(crate) struct CrioFiles {
    /// The main file, wherever it was found; empty if there is none.
    pub(crate) main: (PathBuf, ConfFile),
    /// The drop-in with the search registries of Image cluster.
    pub(crate) search: Option<ConfFile>,
    /// Drop-ins that rendered files leave alone.
    pub(crate) others: Vec<(PathBuf, ConfFile)>,
    /// The main file alone, as a template.
    pub(crate) base: RegistriesConf,
}

/// What a node has with rendered files instead.
pub(crate) struct WithRendered {
    pub(crate) main: ConfFile,
    pub(crate) search: Option<ConfFile>,
    /// All files together.
    pub(crate) registries: RegistriesConf,
}

impl CrioFiles {
    pub(crate) fn read(node: &NodeFiles, arguments: &args::Node) -> Result<Self, Message> {
        Self::new(
            node.registries_texts(arguments)?.into_iter().map(|(path, text)| {
                let shown = node.shown(&path);
                Ok((parsed(&shown, &text)?, path))
            }),
            arguments,
        )
    }

    /// A node of which nothing is known.
    pub(crate) fn none() -> Result<Self, Message> {
        Self::new(std::iter::empty(), &args::Node::default())
    }

    fn new(
        files: impl Iterator<Item = Result<(ConfFile, PathBuf), Message>>,
        arguments: &args::Node,
    ) -> Result<Self, Message> {
        let mut main = None;
        let mut search = None;
        let mut others = Vec::new();
        for file in files {
            let (conf, path) = file?;
            if path == Path::new(SEARCH_DROP_IN) {
                search = Some(conf);
            } else if is_main(&path, arguments) {
                main = Some((path, conf));
            } else {
                others.push((path, conf));
            }
        }
        let main = main.unwrap_or_else(|| (PathBuf::from(REGISTRIES_CONF), ConfFile::default()));
        let base = RegistriesConf::merge([main.clone()]);
        Ok(Self { main, search, others, base })
    }

    /// The node after the files are put there.
    pub(crate) fn with(&self, files: &[NodeFile]) -> Result<WithRendered, Message> {
        let new = |path: &str| {
            let file = files.iter().find(|file| file.path == Path::new(path));
            file.map(|file| parsed(&file.path, &file.text)).transpose()
        };
        let (main, search) = (new(REGISTRIES_CONF)?.unwrap_or_default(), new(SEARCH_DROP_IN)?);
        let rendered = [(PathBuf::from(REGISTRIES_CONF), main.clone())];
        let search_file = search.clone().map(|search| (PathBuf::from(SEARCH_DROP_IN), search));
        let all = rendered.into_iter().chain(search_file).chain(self.others.iter().cloned());
        Ok(WithRendered { registries: RegistriesConf::merge(all), main, search })
    }
}

fn parsed(path: &Path, text: &str) -> Result<ConfFile, Message> {
    ConfFile::parse(text).map_err(|error| {
        let text = Text::new(text.to_owned());
        refused_registries(&File { path, text: &text, visibility: Visibility::Registries }, &error)
    })
}

/// The loader gives the main file before the drop-ins, but a node may have only drop-ins.
fn is_main(path: &Path, arguments: &args::Node) -> bool {
    let usual = [REGISTRIES_CONF, "/usr/share/containers/registries.conf"];
    match &arguments.registries_conf {
        Some(named) => path == named,
        None => usual.iter().any(|usual| path == Path::new(usual)),
    }
}
