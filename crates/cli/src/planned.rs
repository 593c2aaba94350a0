//! The plan that `explain` shows and `pull` carries out, from the files that the command line names.

use pullwright_engine::plan::{self, PullInputs, PullPlan};

use crate::args::PullArguments;
use crate::inputs::configured::Configured;
use crate::inputs::{ClusterInputs, NodeFiles, manifests};
use crate::{Failure, Streams, words};

/// A plan, and what it was made from.
pub(crate) struct Planned {
    pub(crate) plan: PullPlan,
    pub(crate) cluster: ClusterInputs,
}

/// Plans a pull. If the image's name is invalid, writes why and returns `None`: that the image cannot be pulled is the answer.
pub(crate) fn planned(
    arguments: &PullArguments,
    streams: &mut Streams<'_>,
) -> Result<Option<Planned>, Failure> {
    let node = NodeFiles::open(&arguments.node)?;
    let manifests = arguments.cluster.manifests.as_deref().map_or_else(|| Ok(Vec::new()), manifests::read)?;
    let configured = Configured::read(&node, &arguments.node, &manifests)?;
    let cluster = ClusterInputs::read(&node, &arguments.cluster, &manifests, &arguments.namespace)?;
    for warning in configured.warnings.iter().chain(&cluster.warnings) {
        warning.write(streams.err)?;
    }
    let plan = plan::plan(&PullInputs {
        image: &arguments.image,
        namespace: &arguments.namespace,
        secrets: &cluster.secrets,
        global: cluster.global.as_ref(),
        registries: &configured.registries,
        short_names: &configured.short_names,
        providers: cluster.providers.as_ref(),
        plugin: &arguments.cluster.plugin_name,
    });
    match plan {
        Ok(mut plan) => {
            configured.name_objects(&mut plan);
            Ok(Some(Planned { plan, cluster }))
        }
        Err(error) => {
            words::refused(&error).write(streams.err)?;
            Ok(None)
        }
    }
}
