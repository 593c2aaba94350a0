//! Contradicting rules about one source: which one applies, and whose author gets a finding.

use super::SourcePolicy;
use super::check::GoodRule;
use super::notes::Notes;
use super::scopes::Applied;
use super::sources::Source;
use pullwright_findings::{DocPath, Finding, rules};
use pullwright_golang::quote::quote;

/// Reports to both authors when the order of a list is not kept.
pub(super) fn about_order(source: &Source<'_>, notes: &mut Notes<'_>) {
    about_source_last(source, notes);
    for conflict in &source.ordered.conflicts {
        let rule = &source.rules[conflict.list];
        let other = conflict.against.map(|list| &source.rules[list]);
        let (before, after) = (quote(conflict.before), quote(conflict.after));
        let scope = quote(source.scope);
        let reason = match other {
            Some(other) => {
                let object = named(other, rule, notes);
                let message = format!(
                    "the order of these mirrors of {scope} contradicts {}, which puts {before} before {after}",
                    named(rule, other, notes)
                );
                notes.tell(other.set, order_conflict(mirrors_at(other, notes), message));
                format!("contradicts {object}")
            }
            None => "is not kept, because other lists contradict each other".to_owned(),
        };
        let message = format!(
            "the order of these mirrors of {scope} {reason}: {before} stands before {after}, but is asked after it"
        );
        notes.tell(rule.set, order_conflict(mirrors_at(rule, notes), message));
    }
}

/// A list that names the source takes precedence over lists that only imply that the source comes last.
fn about_source_last(source: &Source<'_>, notes: &mut Notes<'_>) {
    for earlier in &source.ordered.earlier {
        let (rule, other) = (&source.rules[earlier.list], &source.rules[earlier.against]);
        let (scope, mirror) = (quote(source.scope), quote(earlier.mirror));
        let message = format!(
            "{scope} is asked before its mirror {mirror}, because {} names it among its mirrors; this list does \
             not name it, and would have it last",
            named(other, rule, notes)
        );
        notes.tell(rule.set, order_conflict(mirrors_at(rule, notes), message));
        let message = format!(
            "{scope} is asked before its mirror {mirror}, as this list has it; {} does not name it, and would \
             have it last",
            named(rule, other, notes)
        );
        notes.tell(other.set, order_conflict(mirrors_at(other, notes), message));
    }
}

fn order_conflict(at: DocPath, message: String) -> Finding {
    Finding::new(&rules::mirrors::ORDER_CONFLICT, at, message)
}

fn mirrors_at(rule: &GoodRule<'_>, notes: &Notes<'_>) -> DocPath {
    notes.set(rule.set).rule_at(rule.rule).key("mirrors")
}

/// Names the object of `rule`, or the rule itself if both rules are in the same object.
fn named(rule: &GoodRule<'_>, beside: &GoodRule<'_>, notes: &Notes<'_>) -> String {
    if rule.set == beside.set {
        notes.set(rule.set).rule_at(rule.rule).to_string()
    } else {
        notes.object(rule.set).to_string()
    }
}

/// Tells the authors when one rule allows contacting its source and another forbids it: for the same source, or, for the
/// other kind of pull, for a source around it. The rule that forbids wins: a node has one flag for both kinds of pull, and
/// contacting nobody is the safer mistake.
pub(super) fn about_policy(source: &Source<'_>, applied: &Applied<'_>, notes: &mut Notes<'_>) {
    let other = applied.nearest(source.pulls.others()).applied;
    let Some(never) = source.never.or_else(|| other?.never) else {
        return;
    };
    let scope = never.source;
    let mut overruled = source.rules.iter().filter(|rule| rule.policy != never.policy).peekable();
    // The author is not told about the scopes inside the source: there may be thousands.
    if let Some(rule) = overruled.peek().filter(|rule| rule.source == scope) {
        let message = format!(
            "{} is never contacted, although {} {}",
            quote(scope),
            named(rule, never, notes),
            match rule.policy {
                Some(SourcePolicy::AllowContactingSource) => "says AllowContactingSource",
                _ => "says nothing about it",
            },
        );
        let at = notes.set(never.set).rule_at(never.rule).key("mirrorSourcePolicy");
        notes.tell(never.set, Finding::new(&rules::mirrors::POLICY_CONFLICT, at, message).as_warning());
    }
    for rule in overruled {
        tell_overruled(rule, never, notes);
    }
}

fn tell_overruled(rule: &GoodRule<'_>, never: &GoodRule<'_>, notes: &mut Notes<'_>) {
    let at = notes.set(rule.set).rule_at(rule.rule);
    let by = named(never, rule, notes);
    let source = quote(rule.source);
    let whose =
        if never.source == rule.source { String::new() } else { format!(" of {}", quote(never.source)) };
    let finding = if rule.policy == Some(SourcePolicy::AllowContactingSource) {
        let message = format!(
            "AllowContactingSource is not applied: {source} is never contacted, because of NeverContactSource{whose} in {by}"
        );
        Finding::new(&rules::mirrors::POLICY_CONFLICT, at.key("mirrorSourcePolicy"), message)
    } else {
        let message = format!(
            "{source} is never contacted, because of NeverContactSource{whose} in {by}; nothing is said about it here"
        );
        Finding::new(&rules::mirrors::POLICY_CONFLICT, at, message).as_warning()
    };
    notes.tell(rule.set, finding);
}
