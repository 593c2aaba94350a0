//! The pull plan: for one image and one namespace, whether the plugin runs, which sources are used in which order, with
//! which credential, and why. The text output, the logs, and the JSON all come from this value.

mod any_pull;
mod objects;
mod provision;

use std::path::PathBuf;

pub use any_pull::{AnyPull, any_pull};
pub use provision::{
    Delivery, Provided, Provides, Provision, ProvisionReport, ProvisionedSource, Withheld, WrittenFile,
    provision, provision_sources,
};
use serde::Serialize;

use crate::credentials::{AuthFile, Choice, Credential, PullSecret, Shadowed, select};
use crate::kubelet::CredentialProviderConfig;
use crate::mirrors::ObjectName;
use crate::reference::{Dialect, Reference, ReferenceError};
use crate::registries::{
    Candidate, CandidateError, PullBy, PullSource, RegistriesConf, Route, ShortNameRule,
};

/// Everything that decides a pull.
#[derive(Debug, Clone, Copy)]
pub struct PullInputs<'a> {
    /// The image as the Pod names it.
    pub image: &'a str,
    /// The Pod's namespace.
    pub namespace: &'a str,
    /// The pull secrets of that namespace, in order of precedence.
    pub secrets: &'a [PullSecret],
    /// The node's global auth file, if any.
    pub global: Option<&'a AuthFile>,
    /// The node's `registries.conf`.
    pub registries: &'a RegistriesConf,
    /// How the runtime handles a short name with several candidates.
    pub short_names: &'a ShortNameRule,
    /// The kubelet's provider configuration. If `None`, the plugin is assumed to run.
    pub providers: Option<&'a CredentialProviderConfig>,
    /// The plugin's name in that configuration.
    pub plugin: &'a str,
}

/// The plan, with its reasons. It names places and contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PullPlan {
    /// The image as the Pod names it.
    pub image: String,
    /// The Pod's namespace.
    pub namespace: String,
    /// The name that the kubelet passes to credential providers.
    pub asked_as: String,
    /// Whether the plugin runs.
    pub plugin: Invocation,
    /// Other credential providers that run for the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_providers: Vec<ProviderMatch>,
    /// What the runtime pulls, in the order in which it tries: one image, or several for a short name.
    pub candidates: Vec<PlannedCandidate>,
}

/// A provider and the pattern that makes it run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderMatch {
    /// The provider's name.
    pub provider: String,
    /// The matching entry of its `matchImages`.
    pub pattern: String,
}

/// Whether the plugin runs, and so whether Secrets of the namespace can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Invocation {
    /// No provider configuration was given, so the plugin is assumed to run.
    Assumed,
    /// The kubelet runs the plugin.
    Runs(ProviderMatch),
    /// The kubelet runs the plugin without a token, so the plugin does not know the namespace.
    RunsWithoutToken(ProviderMatch),
    /// None of the plugin's patterns matches.
    NoPatternMatches {
        /// The patterns that were tried.
        patterns: Vec<String>,
    },
    /// The plugin is not in the configuration.
    NotConfigured {
        /// The configured providers.
        providers: Vec<String>,
    },
}

impl Invocation {
    /// Returns whether Secrets of the namespace reach the runtime.
    #[must_use]
    pub fn reaches_namespace(&self) -> bool {
        matches!(self, Self::Assumed | Self::Runs(_))
    }
}

/// One image that the runtime may pull.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedCandidate {
    /// The image, and why the name resolves to it.
    #[serde(flatten)]
    pub candidate: Candidate,
    /// The entry of `registries.conf` that governs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governed_by: Option<Governing>,
    /// Why no source can be used at all: the name cannot be rewritten for one of them, and the runtime then gives up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    /// The sources in order, including those that do not serve this kind of pull.
    pub sources: Vec<PlannedSource>,
}

/// An entry of `registries.conf`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Governing {
    /// Its prefix.
    pub prefix: String,
    /// The file that contains it.
    pub file: PathBuf,
    /// The cluster objects that it was rendered from, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectName>,
}

/// One source with the credential that is used for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedSource {
    /// The source and its conditions.
    #[serde(flatten)]
    pub source: PullSource,
    /// The cluster objects that list this mirror, if known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectName>,
    /// Whether the source serves this kind of pull, by tag or by digest.
    pub serves_this_pull: bool,
    /// Where the credential comes from, or why there is none.
    pub credential: Choice,
    /// Credentials that were not chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shadowed: Vec<Shadowed>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The kubelet refuses the name (`InvalidImageName`).
    #[error("the kubelet refuses the image name {image:?}: {source}")]
    Image {
        /// The image as it was given.
        image: String,
        /// The underlying error.
        source: ReferenceError,
    },
    /// The runtime cannot resolve the name to anything.
    #[error("the runtime refuses the image name: {0}")]
    Candidates(#[from] CandidateError),
}

impl PlanError {
    /// Returns how to fix it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Image { .. } => None,
            Self::Candidates(error) => error.help(),
        }
    }
}

impl PlannedCandidate {
    /// Returns whether the pull uses this source, which is one of [`Self::sources`].
    #[must_use]
    pub fn asks(&self, source: &PlannedSource) -> bool {
        self.fails.is_none() && source.source.is_asked(PullBy::of(&self.candidate.reference))
    }
}

/// Returns what the runtime pulls for `image`, in the order in which it tries, and the sources of each. Every command
/// that plans, explains, or performs a pull starts here.
///
/// # Errors
/// If the runtime cannot resolve the name.
pub fn routes(
    registries: &RegistriesConf,
    image: &str,
    short_names: &ShortNameRule,
) -> Result<Vec<(Candidate, Route)>, CandidateError> {
    let with_route = |candidate: Candidate| {
        let route = registries.route(&candidate.reference, PullBy::of(&candidate.reference));
        (candidate, route)
    };
    Ok(registries.candidates(image, short_names)?.into_iter().map(with_route).collect())
}

/// Plans the pull.
///
/// # Errors
/// If the kubelet or the runtime refuses the name.
pub fn plan(inputs: &PullInputs<'_>) -> Result<PullPlan, PlanError> {
    let asked_as = Reference::parse(Dialect::Kubelet, inputs.image)
        .map_err(|source| PlanError::Image { image: inputs.image.to_owned(), source })?
        .name()
        .to_owned();
    let routes = routes(inputs.registries, inputs.image, inputs.short_names)?;
    let (plugin, other_providers) = invocation(inputs, &asked_as);
    // Without the plugin, there is no auth file and the runtime only has the node's own.
    let secrets = if plugin.reaches_namespace() { inputs.secrets } else { &[] };

    let sources = routes.iter().flat_map(|(_, route)| &route.sources);
    let selection = select(secrets, inputs.global, sources.map(|source| source.reference.name()));
    let mut choices = selection.choices().enumerate();
    let candidates = routes.iter().map(|(candidate, route)| {
        let sources = route.sources.iter().zip(&mut choices);
        PlannedCandidate {
            candidate: candidate.clone(),
            governed_by: governing(inputs.registries, &candidate.reference),
            fails: route.fails.as_ref().map(ToString::to_string),
            sources: sources
                .map(|(source, (position, choice))| PlannedSource {
                    source: source.clone(),
                    objects: Vec::new(),
                    serves_this_pull: source.serves.serves(route.by),
                    credential: choice.clone(),
                    shadowed: selection.shadowed(position),
                })
                .collect(),
        }
    });
    Ok(PullPlan {
        image: inputs.image.to_owned(),
        namespace: inputs.namespace.to_owned(),
        asked_as,
        plugin,
        other_providers,
        candidates: candidates.collect(),
    })
}

impl PullPlan {
    /// Returns the credentials that the plan chose for the sources of `candidate`, in order. `secrets` and `global`
    /// must be those that the plan was made with, because the plan itself holds no credentials.
    #[must_use]
    pub fn credentials(
        &self,
        candidate: &PlannedCandidate,
        secrets: &[PullSecret],
        global: Option<&AuthFile>,
    ) -> Vec<Option<Credential>> {
        let secrets = if self.plugin.reaches_namespace() { secrets } else { &[] };
        let selection =
            select(secrets, global, candidate.sources.iter().map(|source| source.source.reference.name()));
        let chosen = |(position, source): (usize, &PlannedSource)| match source.credential {
            Choice::Namespace { .. } | Choice::Global { .. } => selection.credential(position),
            Choice::Helper { .. } | Choice::None(_) => None,
        };
        candidate.sources.iter().enumerate().map(chosen).collect()
    }
}

fn governing(registries: &RegistriesConf, reference: &Reference) -> Option<Governing> {
    let entry = registries.find(reference.name())?;
    Some(Governing {
        prefix: entry.prefix.clone(),
        file: registries.origin(entry)?.to_owned(),
        objects: Vec::new(),
    })
}

fn invocation(inputs: &PullInputs<'_>, asked_as: &str) -> (Invocation, Vec<ProviderMatch>) {
    let Some(config) = inputs.providers else {
        return (Invocation::Assumed, Vec::new());
    };
    let mut ours = None;
    let mut others = Vec::new();
    for (provider, pattern) in config.invoked(asked_as) {
        let matched = ProviderMatch { provider: provider.name.clone(), pattern: pattern.shown().to_owned() };
        if provider.name == inputs.plugin {
            ours = Some(match provider.token_attributes {
                Some(_) => Invocation::Runs(matched),
                None => Invocation::RunsWithoutToken(matched),
            });
        } else {
            others.push(matched);
        }
    }
    let absent = || match config.providers.iter().find(|provider| provider.name == inputs.plugin) {
        Some(provider) => Invocation::NoPatternMatches {
            patterns: provider.match_images.iter().map(|pattern| pattern.shown().to_owned()).collect(),
        },
        None => Invocation::NotConfigured {
            providers: config.providers.iter().map(|provider| provider.name.clone()).collect(),
        },
    };
    (ours.unwrap_or_else(absent), others)
}

#[cfg(test)]
mod tests;
