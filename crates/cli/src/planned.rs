//! The plan that `explain` shows and `pull` carries out, from the files that the command line names.

use pullwright_engine::plan::{self, PullInputs, PullPlan};

use crate::args::Wanted;
use crate::inputs::configured::Configured;
use crate::inputs::{Cluster, NodeFiles, manifests};
use crate::{Failure, Streams, words};

/// A plan, and what it was made from.
pub(crate) struct Planned {
    pub(crate) plan: PullPlan,
    pub(crate) cluster: Cluster,
}

/// Plans a pull. `None`, having said why, if the name is refused: the image is the question, so that it cannot be pulled is the
/// answer.
pub(crate) fn planned(wanted: &Wanted, streams: &mut Streams<'_>) -> Result<Option<Planned>, Failure> {
    let node = NodeFiles::open(&wanted.node)?;
    let manifests = wanted.cluster.manifests.as_deref().map_or_else(|| Ok(Vec::new()), manifests::read)?;
    let configured = Configured::read(&node, &wanted.node, &manifests)?;
    let cluster = Cluster::read(&node, &wanted.cluster, &manifests, &wanted.namespace)?;
    for warning in configured.warnings.iter().chain(&cluster.warnings) {
        warning.write(streams.err)?;
    }
    let plan = plan::plan(&PullInputs {
        image: &wanted.image,
        namespace: &wanted.namespace,
        secrets: &cluster.secrets,
        global: cluster.global.as_ref(),
        registries: &configured.registries,
        short_names: &configured.short_names,
        providers: cluster.providers.as_ref(),
        plugin: &wanted.cluster.plugin_name,
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
