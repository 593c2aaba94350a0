//! The table of runtimes.

use pullwright_engine::mirrors::{Merged, ObjectOutcome, Policy};
use pullwright_engine::registries::RegistriesConf;
use serde::{Serialize, Serializer};

use crate::{
    CurrentFiles, FileChange, NodeFile, NodeFileError, Rendering, RuntimeState, containerd, crio, k3s,
};

/// Every runtime that this program configures.
pub const RUNTIMES: &[Runtime] = &[crio::RUNTIME, containerd::RUNTIME, k3s::RUNTIME];

/// A program that pulls images: one row of [`RUNTIMES`].
#[derive(Debug, Clone, Copy)]
pub struct Runtime {
    /// Its name on the command line and in data: `crio`.
    pub name: &'static str,
    /// One line about it for help texts.
    pub about: &'static str,
    /// The folder on the node that holds all its files.
    pub folder: &'static str,
    /// How its files are laid out, which says what to read and what to clean up.
    pub layout: Layout,
    /// Where it looks for `policy.json`, if it reads that file.
    pub policy: Option<&'static str>,
    /// Renders a configuration for it. The second argument lists hosts that need a file although only a wildcard matches them.
    pub render: fn(&RegistriesConf, &[String]) -> Rendering,
    /// Parses the files that a node has today.
    pub parse: fn(&CurrentFiles) -> Result<Box<dyn RuntimeState>, NodeFileError>,
    /// What makes changed files take effect.
    pub reload: Reload,
    /// The same in words, with its consequences.
    pub takes_effect: &'static str,
    /// Whether `OpenShift`'s Machine Config Operator manages nodes with it, and drains or reboots them for some changes.
    pub machine_config: bool,
}

/// How the files of a runtime are laid out below its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `registries.conf` and its drop-ins, found as containers/image finds them.
    RegistriesConf,
    /// containerd's `certs.d`: a folder for each registry with a `hosts.toml` in it. Files of an earlier rendering carry a mark
    /// ([`crate::is_ours`]).
    CertsD,
    /// One file.
    OneFile {
        /// Its path on the node.
        path: &'static str,
    },
}

/// What a node has to do so that changed files take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// Nothing: the runtime reads the files for every pull.
    Nothing,
    /// Reload this systemd service; it keeps running.
    Reload(&'static str),
    /// Restart this systemd service.
    Restart(&'static str),
}

impl Runtime {
    /// The runtime of this name in a table such as [`RUNTIMES`].
    #[must_use]
    pub fn find<'t>(table: &'t [Self], name: &str) -> Option<&'t Self> {
        table.iter().find(|runtime| runtime.name == name)
    }

    /// Renders what the objects of a cluster say. [`Merged`] holds the verdict on each object. Only the search registries of
    /// `template` are kept.
    ///
    /// # Errors
    /// Never for what the engine merges, whose entries are all checked.
    pub fn render_objects(
        &self,
        merged: &Merged,
        template: Option<&RegistriesConf>,
        hosts: &[String],
    ) -> Result<Rendering, NodeFileError> {
        let files = crio::files_of_objects(merged, template);
        if self.layout == Layout::RegistriesConf {
            return Ok(Rendering { files, unsupported: Vec::new() });
        }
        let conf = crio::CrioFiles::default().replaced_by(&files)?.registries;
        Ok((self.render)(&conf, hosts))
    }

    /// The file that says which images the node accepts; `None` if the runtime does not read one.
    #[must_use]
    pub fn policy_file(&self, policy: &Policy) -> Option<NodeFile> {
        self.policy.map(|path| NodeFile::config(path, policy.render()))
    }

    /// The text of a rendering that is a single file and needs no path beside it.
    #[must_use]
    pub fn only_file<'r>(&self, rendering: &'r Rendering) -> Option<&'r NodeFile> {
        match (rendering.files.as_slice(), self.layout) {
            ([only], Layout::RegistriesConf | Layout::OneFile { .. }) => Some(only),
            _ => None,
        }
    }

    /// What has to be reloaded for these changes.
    #[must_use]
    pub fn reload_for(&self, changes: &[FileChange]) -> Reload {
        if changes.is_empty() { Reload::Nothing } else { self.reload }
    }
}

/// By name.
impl PartialEq for Runtime {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Runtime {}

impl Serialize for Runtime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// Whether the files of a node may be replaced: at least one object is not rejected, or there are no objects at all. If every
/// object is rejected, replacing the files would empty the node's configuration.
pub fn any_usable(outcomes: impl IntoIterator<Item = ObjectOutcome>) -> bool {
    let mut outcomes = outcomes.into_iter().peekable();
    outcomes.peek().is_none() || outcomes.any(|outcome| outcome != ObjectOutcome::Rejected)
}
