//! Where images are pulled from: a node's files, or mirror sets in place of its main file.

use std::path::Path;

use pullwright_engine::mirrors::{MirrorSet, RegistrySources};
use pullwright_engine::plan::PullPlan;
use pullwright_engine::registries::{Recorded, RegistriesConf, ShortNameRule};
use pullwright_findings::Severity;

use pullwright_nodeconfig::crio::{self, CrioFiles, REGISTRIES_CONF};
use pullwright_nodeconfig::{CurrentFiles, RuntimeState as _};

use super::current;
use super::manifests::ManifestFile;
use super::{NodeFiles, mirror_sets};
use crate::args;
use crate::diagnostic::Message;

/// The configuration that decides a pull, and the objects it comes from, if any.
pub(crate) struct Configured {
    pub(crate) registries: RegistriesConf,
    /// How the runtime treats short names.
    pub(crate) short_names: ShortNameRule,
    /// The objects that are at least partly applied.
    sets: Vec<MirrorSet>,
    sources: RegistrySources,
    /// About objects that were skipped.
    pub(crate) warnings: Vec<Message>,
}

impl Configured {
    /// Mirror sets replace the main file, as they do where the Machine Config Operator writes it. The drop-ins and search
    /// registries of a node still count, but only if the user names that node: manifests on a laptop are not about the laptop.
    pub(crate) fn read(
        node: &NodeFiles,
        arguments: &args::NodeArguments,
        manifests: &[ManifestFile],
    ) -> Result<Self, Message> {
        let objects = mirror_sets::read(manifests);
        if objects.is_empty() {
            return Ok(Self {
                registries: node.registries(arguments)?,
                short_names: node.short_names(arguments)?,
                sets: Vec::new(),
                sources: RegistrySources::default(),
                warnings: Vec::new(),
            });
        }
        let (current, recorded, short_names) = if arguments.is_named() {
            let current = current::read(node, arguments, &crio::RUNTIME)?;
            (current, node.recorded_aliases(arguments), node.short_names(arguments)?)
        } else {
            let asked_for = arguments.short_name_mode.map(ShortNameRule::from);
            (CurrentFiles::default(), Recorded::default(), asked_for.unwrap_or_default())
        };
        let judged = mirror_sets::judge(objects, None);
        let merged = &judged.merged;
        let replaced = CrioFiles::parse(&current).and_then(|files| {
            let rendering = crio::RUNTIME.render_objects(merged, files.template(), &[])?;
            files.replaced_by(&rendering.files)
        });
        let replaced = replaced.map_err(|error| current::refused(node, &current, &error))?;
        let warnings = judged.verdicts.into_iter().flat_map(|judged| judged.messages);
        Ok(Self {
            registries: replaced.registries.with_recorded(recorded),
            short_names,
            sets: judged.sets,
            sources: judged.sources,
            // Invalid objects are dropped, and the plan is still an answer.
            warnings: warnings.map(|message| Message { severity: Severity::Warning, ..message }).collect(),
        })
    }

    /// Says in a plan which objects it comes from.
    pub(crate) fn name_objects(&self, plan: &mut PullPlan) {
        plan.name_objects(&self.sets, &self.sources, Path::new(REGISTRIES_CONF));
    }
}
