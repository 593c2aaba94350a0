//! The sentences: every reason in a plan, as a person is told it.

use std::path::Path;

use pullwright_engine::credentials::{Absence, Because, Choice, Shadowed};
use pullwright_engine::mirrors::ObjectName;
use pullwright_engine::plan::{
    Invocation, PlanError, PlannedCandidate, PlannedSource, ProviderMatch, PullPlan,
};
use pullwright_engine::reference::Reference;
use pullwright_engine::registries::{CandidateReason, MirrorUse, SourceRole};

use crate::diagnostic::Message;
use crate::style::{BAD, FAINT, GOOD, WARNING, paint, plain};

/// How many sources can be asked with a chance to succeed.
pub(crate) fn usable_sources(plan: &PullPlan) -> usize {
    let usable = |candidate: &&PlannedCandidate, source: &&PlannedSource| {
        candidate.asks(source) && !lookup_failed(&source.credential)
    };
    let candidates = plan.candidates.iter();
    candidates
        .map(|candidate| candidate.sources.iter().filter(|source| usable(&candidate, source)).count())
        .sum()
}

pub(crate) fn has_credential(choice: &Choice) -> bool {
    !matches!(choice, Choice::None(_))
}

pub(crate) fn lookup_failed(choice: &Choice) -> bool {
    matches!(choice, Choice::None(Absence::LookupFailed { .. }))
}

/// Whether the plugin runs.
pub(crate) fn invocation(plan: &PullPlan, plugin: &str) -> String {
    let plugin = plain(plugin);
    let asked = plain(&plan.asked_as);
    let quoted = |patterns: &[String]| {
        let patterns: Vec<_> = patterns.iter().map(|pattern| format!("{pattern:?}")).collect();
        patterns.join(", ")
    };
    let without = "so no Secret of the namespace is used";
    match &plan.plugin {
        Invocation::Assumed => {
            format!("{plugin} is taken to run: no credential provider configuration was found")
        }
        Invocation::Runs(matched) => {
            format!("{plugin} {}: {asked} matches {:?}", paint(GOOD, "runs"), matched.pattern)
        }
        Invocation::RunsWithoutToken(matched) => format!(
            "{plugin} {}, {without}: {asked} matches {:?}, but tokenAttributes is not set",
            paint(WARNING, "runs without a token"),
            matched.pattern
        ),
        Invocation::NoPatternMatches { patterns } => format!(
            "{plugin} {}, {without}: {asked} matches none of {}",
            paint(WARNING, "does not run"),
            quoted(patterns)
        ),
        Invocation::NotConfigured { providers } => format!(
            "{plugin} {}, {without}: the kubelet's configuration has only {}",
            paint(WARNING, "does not run"),
            quoted(providers)
        ),
    }
}

pub(crate) fn other_provider(matched: &ProviderMatch) -> String {
    let ProviderMatch { provider, pattern } = matched;
    format!("{} runs: matches {pattern:?}", plain(provider))
}

/// Why a name stands for an image, and which entry says where that is pulled from.
pub(crate) fn reasons(planned: &PlannedCandidate) -> Vec<String> {
    let name = match &planned.candidate.reason {
        CandidateReason::Qualified => None,
        CandidateReason::Alias { origin } => Some(format!("a short name with an alias in {}", path(origin))),
        CandidateReason::Search { registry, origin } => {
            let origin = origin.as_deref().map(|origin| format!(" by {}", path(origin))).unwrap_or_default();
            Some(format!("a short name, searched in {}{origin}", plain(registry)))
        }
    };
    let entry = match &planned.governed_by {
        None => "no entry in registries.conf".to_owned(),
        Some(entry) if entry.objects.is_empty() => {
            format!("entry {:?} in {}", entry.prefix, path(&entry.file))
        }
        Some(entry) => format!("entry {:?} from {}", entry.prefix, objects(&entry.objects)),
    };
    name.into_iter().chain([entry]).collect()
}

pub(crate) fn fails(error: &str) -> String {
    format!("no source is asked, because one cannot be: {}", plain(error))
}

/// One source: the reference, and all that is special about it.
pub(crate) fn source(source: &PlannedSource, asked: bool) -> String {
    let reference = short(&source.source.reference);
    let reference = if asked { reference } else { paint(FAINT, reference) };
    let mut notes = vec![match source.source.role {
        SourceRole::Mirror if source.objects.is_empty() => "mirror".to_owned(),
        SourceRole::Mirror => format!("mirror from {}", objects(&source.objects)),
        SourceRole::Location => "the registry itself".to_owned(),
        SourceRole::Direct => "asked directly".to_owned(),
    }];
    if !source.serves_this_pull {
        let only = match source.source.serves {
            MirrorUse::DigestOnly => "not asked: serves only pulls by digest",
            MirrorUse::TagOnly => "not asked: serves only pulls by tag",
            MirrorUse::All => "not asked",
        };
        notes.push(paint(WARNING, only));
    }
    if let Some(prefix) = &source.source.blocked_by {
        notes.push(paint(BAD, format!("blocked by entry {prefix:?}")));
    }
    if source.source.insecure {
        notes.push(paint(WARNING, "insecure: plain HTTP and any certificate accepted"));
    }
    if !source.source.namespace_proxy.is_empty() {
        notes.push(format!("asked as a proxy for {}", plain(&source.source.namespace_proxy)));
    }
    format!("{reference}  {}", notes.join(", "))
}

/// Whose credential is used.
pub(crate) fn choice(choice: &Choice) -> String {
    match choice {
        Choice::None(absence) => none(absence),
        some => format!("with {}", owner(some)),
    }
}

fn owner(choice: &Choice) -> String {
    match choice {
        Choice::Namespace { secret, key } => format!("Secret {}, key {key:?}", plain(&secret.to_string())),
        Choice::Global { key } => format!("the node's auth file, key {key:?}"),
        Choice::Helper { name } => format!("the node's credential helper {}", plain(name)),
        Choice::None(absence) => none(absence),
    }
}

fn none(absence: &Absence) -> String {
    match absence {
        Absence::NoKey => "anonymously: no key covers it".to_owned(),
        Absence::EmptyEntry { key } => {
            format!("anonymously: the node's auth file has nothing under its key {key:?}")
        }
        Absence::LookupFailed { error } => {
            format!("✗ the runtime's search for a credential fails: {}", plain(error))
        }
        Absence::HelperLeftOut { name } => format!(
            "anonymously: the credential helper {} cannot be used beside a Secret for the same host",
            plain(name)
        ),
    }
}

/// What was passed over, and why.
pub(crate) fn shadowed(shadowed: &Shadowed) -> String {
    let because = match shadowed.because {
        Because::LessSpecific => "a longer key was found",
        Because::LaterSecret => "an earlier Secret has the same key",
        Because::OtherSpelling => "the same key in another spelling",
        Because::NamespaceFirst => "the namespace comes first",
    };
    format!("passes over {}: {because}", owner(&shadowed.choice))
}

/// The answer in one line.
pub(crate) fn verdict(plan: &PullPlan) -> String {
    let all: usize = plan.candidates.iter().map(|candidate| candidate.sources.len()).sum();
    match (usable_sources(plan), all) {
        (0, _) => paint(BAD, "✗ this pull cannot work: no source is left"),
        (1, 1) => paint(GOOD, "✓ 1 source to ask"),
        (usable, all) if usable == all => paint(GOOD, format!("✓ {usable} sources to ask")),
        (usable, all) => paint(GOOD, format!("✓ {usable} of {all} sources to ask")),
    }
}

/// Why there is no plan.
pub(crate) fn refused(error: &PlanError) -> Message {
    Message { help: error.help(), ..Message::error(error.to_string()) }
}

fn objects(objects: &[ObjectName]) -> String {
    let names: Vec<_> = objects.iter().map(|object| plain(&object.to_string())).collect();
    names.join(" and ")
}

fn path(path: &Path) -> String {
    plain(&path.display().to_string())
}

/// A reference with as much of a digest as tells it apart; the whole one is in the JSON.
pub(crate) fn short(reference: &Reference) -> String {
    const SHOWN: usize = 12;
    let whole = reference.to_string();
    match reference.digest().and_then(|digest| digest.split_once(':')) {
        Some((_, hex)) if hex.len() > SHOWN => format!("{}…", &whole[..whole.len() - hex.len() + SHOWN]),
        _ => whole,
    }
}
