//! What the options of `render` and `diff` name: a template, and the release image.

use std::path::Path;

use pullwright_documents::Text;
use pullwright_engine::mirrors::Payload;
use pullwright_engine::registries::{ConfFile, RegistriesConf};
use pullwright_findings::Severity;

use crate::diagnostic::{File, Message, Visibility};
use crate::inputs::{manifests, refused_registries};

/// The template that `--base` names.
pub(super) fn base(path: &Path) -> Result<RegistriesConf, Message> {
    let text = Text::new(manifests::text(path)?);
    let file = File { path, text: &text, visibility: Visibility::Registries };
    let conf = ConfFile::parse(&text).map_err(|error| refused_registries(&file, &error))?;
    Ok(RegistriesConf::merge([(path.to_owned(), conf)]))
}

/// The release image that `--release-image` names.
pub(super) fn payload(image: &str) -> Result<Payload, Message> {
    Payload::parse(image).map_err(|error| {
        Message::error(error.to_string())
            .with_help("use the full name with its digest, as in .status.desired.image of ClusterVersion")
    })
}

/// The objects replace the file, as they do where the Machine Config Operator writes it.
pub(super) fn not_kept(base: &RegistriesConf) -> Option<Message> {
    let entries = base.registries().len();
    (entries > 0).then(|| {
        let text = format!("--base: only the search registries are kept; its {entries} entries are dropped");
        Message { severity: Severity::Warning, ..Message::error(text) }
            .with_help("write mirror sets for these entries")
    })
}
