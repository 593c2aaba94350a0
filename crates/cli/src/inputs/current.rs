//! The files that a runtime has on a node today, read by its layout.

use std::path::{Path, PathBuf};

use pullwright_documents::{Text, documents};
use pullwright_nodeconfig::{CurrentFile, CurrentFiles, Layout, NodeFileError, Runtime};

use super::{NodeFiles, refused_registries};
use crate::args;
use crate::diagnostic::{File, Message, Visibility};

/// Reads the files of a runtime. A file that cannot be read fails the whole answer.
pub(crate) fn read(
    node: &NodeFiles,
    arguments: &args::NodeArguments,
    runtime: &Runtime,
) -> Result<CurrentFiles, Message> {
    let files = match runtime.layout {
        Layout::RegistriesConf => {
            let texts = node.registries_texts(arguments)?.into_iter();
            texts.map(|(path, text)| CurrentFile { path, text: Some(text) }).collect()
        }
        Layout::CertsD => {
            let folders = node.certs_d(Path::new(runtime.folder))?.into_iter();
            let file = |(path, text): (PathBuf, _)| Ok(CurrentFile { path, text: text? });
            folders.map(|folder| file((folder.path, folder.text))).collect::<Result<_, Message>>()?
        }
        Layout::OneFile { path } => {
            vec![CurrentFile { path: path.into(), text: node.text(Path::new(path))? }]
        }
    };
    Ok(CurrentFiles { files, main: arguments.registries_conf.clone() })
}

/// A file that the runtime refuses, with an excerpt if the file is one of `current`.
pub(crate) fn refused(node: &NodeFiles, current: &CurrentFiles, error: &NodeFileError) -> Message {
    let path = node.shown(error.path());
    let text = Text::new(current.text(error.path()).unwrap_or_default().to_owned());
    let file = |visibility| File { path: &path, text: &text, visibility };
    match error {
        NodeFileError::RegistriesConf { source, .. } => {
            refused_registries(&file(Visibility::Registries), source)
        }
        NodeFileError::Syntax { why, .. } => file(Visibility::K3sRegistries).unreadable(why),
        NodeFileError::Refused { finding, .. } => {
            match documents(&text).ok().and_then(|documents| documents.into_iter().next()) {
                Some(document) => file(Visibility::K3sRegistries).written(&document).finding(finding),
                None => Message::from(&**finding),
            }
        }
    }
}
