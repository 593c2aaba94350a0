//! What the API's text promises for the pull of an image, stated plainly: every rule is tried on everything.

use std::collections::BTreeSet;

use serde::Serialize;

use super::text::{behind, is_full_image, is_inside, is_mirror, is_source, matched, name_of};
use super::{Case, Kind, Policy, Rule};

/// One place that is asked for an image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// The image as it is asked for there.
    pub reference: String,
    /// Over plain HTTP, or without verifying certificates.
    pub insecure: bool,
    /// Or rather not asked, because it is forbidden.
    pub refused: bool,
}

/// A source with its mirrors in order.
struct Mirrored<'c> {
    source: &'c str,
    mirrors: Vec<&'c str>,
    never: bool,
}

/// The objects of a case, as far as they count.
pub struct Statement<'c> {
    digest: Vec<Mirrored<'c>>,
    tag: Vec<Mirrored<'c>>,
    insecure: Vec<&'c str>,
    blocked: Vec<&'c str>,
}

impl<'c> Statement<'c> {
    /// States a case.
    #[must_use]
    pub fn of(case: &'c Case) -> Self {
        let scopes = |list: &'c [String]| {
            // A slash at the end means nothing.
            list.iter().map(|scope| scope.trim_end_matches('/')).filter(|scope| is_source(scope)).collect()
        };
        Self {
            digest: mirrored(case, |kind| kind != Kind::Itms),
            tag: mirrored(case, |kind| kind == Kind::Itms),
            insecure: scopes(&case.insecure),
            blocked: scopes(&case.blocked),
        }
    }

    /// What a pull of `image` asks, in order; nothing at all if one of the names is none, because then the
    /// library gives up.
    #[must_use]
    pub fn pull(&self, image: &str) -> Option<Vec<Asked>> {
        let Some(scope) = self.scope_of(name_of(image)) else {
            return Some(vec![Asked { reference: image.to_owned(), insecure: false, refused: false }]);
        };
        let rest = &image[matched(image, scope)?..];
        let kind = if image.contains('@') { &self.digest } else { &self.tag };
        let mut asked = Vec::new();
        if let Some(mirrored) = most_specific(kind, scope) {
            for mirror in &mirrored.mirrors {
                let between = behind(scope, mirrored.source);
                // No name begins with a mirror's path or port and goes on with a port.
                if between.starts_with(':') && mirror.contains([':', '/']) {
                    continue;
                }
                let location = format!("{mirror}{between}");
                asked.push(Asked {
                    reference: format!("{location}{rest}"),
                    insecure: inside_one_of(&location, &self.insecure),
                    refused: self.is_refused(name_of(&format!("{location}{rest}"))),
                });
            }
        }
        asked.push(Asked {
            reference: image.to_owned(),
            insecure: inside_one_of(scope, &self.insecure),
            refused: self.is_refused(name_of(image)),
        });
        asked.iter().all(|asked| is_full_image(&asked.reference)).then_some(asked)
    }

    /// The scope that a node goes by for a name: of all that anybody names and that match it the longest, and of two
    /// as long the wildcard.
    fn scope_of(&self, name: &str) -> Option<&'c str> {
        let sources = self.digest.iter().chain(&self.tag).map(|mirrored| mirrored.source);
        let scopes = sources.chain(self.insecure.iter().copied()).chain(self.blocked.iter().copied());
        scopes
            .filter(|scope| matched(name, scope).is_some())
            .max_by_key(|scope| (scope.len(), scope.starts_with('*')))
    }

    /// Whether the place of this name may not be asked: because it is blocked, or never contacted.
    pub(super) fn is_refused(&self, name: &str) -> bool {
        let Some(scope) = self.scope_of(name) else { return false };
        inside_one_of(scope, &self.blocked) || self.is_never_contacted(scope)
    }

    /// Whether the most specific source of either kind says never.
    pub(super) fn is_never_contacted(&self, scope: &str) -> bool {
        let never = |kind| most_specific(kind, scope).is_some_and(|mirrored| mirrored.never);
        never(&self.digest) || never(&self.tag)
    }

    /// Whether a list about a source has its neighbours in its own order. The source stands at the end of lists
    /// that do not name it, and of the result.
    pub(super) fn keeps_order(&self, kind: Kind, source: &str, list: &[&str]) -> bool {
        let all = if kind == Kind::Itms { &self.tag } else { &self.digest };
        let Some(mirrored) = all.iter().find(|mirrored| mirrored.source == source) else { return true };
        let place = |mirror: &str| mirrored.mirrors.iter().position(|other| *other == mirror);
        let places: Vec<usize> = list
            .iter()
            .chain((!list.contains(&source)).then_some(&source))
            .map(|mirror| place(mirror).unwrap_or(mirrored.mirrors.len()))
            .collect();
        places.is_sorted()
    }
}

fn inside_one_of(scope: &str, outer: &[&str]) -> bool {
    outer.iter().any(|outer| is_inside(scope, outer))
}

/// Only the objects which define the most specific namespace match are used.
fn most_specific<'s, 'c>(kind: &'s [Mirrored<'c>], scope: &str) -> Option<&'s Mirrored<'c>> {
    kind.iter()
        .filter(|mirrored| is_inside(scope, mirrored.source))
        .max_by_key(|mirrored| (!mirrored.source.starts_with('*'), mirrored.source.len()))
}

/// All sources that a kind of pull has mirrors for.
fn mirrored(case: &Case, wanted: impl Fn(Kind) -> bool) -> Vec<Mirrored<'_>> {
    let sets = case.sets.iter().filter(|set| wanted(set.kind));
    let rules: Vec<(&Rule, Vec<&str>)> =
        sets.flat_map(|set| &set.rules).filter_map(|rule| Some((rule, used_mirrors(rule)?))).collect();
    let sources: BTreeSet<&str> = rules.iter().map(|(rule, _)| rule.source.as_str()).collect();
    sources
        .into_iter()
        .map(|source| {
            let about: Vec<_> = rules.iter().filter(|(rule, _)| rule.source == source).collect();
            let lists: Vec<&[&str]> = about.iter().map(|(_, mirrors)| mirrors.as_slice()).collect();
            let never = about.iter().any(|(rule, _)| rule.policy == Policy::Never);
            Mirrored { source, mirrors: merged(source, &lists), never }
        })
        .collect()
}

/// The mirrors of a rule that counts, each once.
pub(super) fn used_mirrors(rule: &Rule) -> Option<Vec<&str>> {
    if !is_source(&rule.source) {
        return None;
    }
    let mut mirrors: Vec<&str> = Vec::new();
    for mirror in &rule.mirrors {
        // A mirror that is none, or of which no name can be made, is left out, so that the others can be asked; and the
        // source itself, if it must not be.
        let forbidden = rule.policy == Policy::Never && *mirror == rule.source;
        let is_one = is_mirror(mirror) && is_full_image(&format!("{mirror}/a/a"));
        if is_one && !forbidden && !mirrors.contains(&mirror.as_str()) {
            mirrors.push(mirror);
        }
    }
    let has_a_mirror = mirrors.iter().any(|mirror| *mirror != rule.source);
    // Who says never is heard even if none of the mirrors can be asked.
    let forbids = rule.policy == Policy::Never && !rule.mirrors.is_empty();
    (has_a_mirror || forbids).then_some(mirrors)
}

/// The lists of one source as one: a graph with an edge between neighbours, those first that nothing precedes, ties and
/// circles by the alphabet. The source is part of it where a list names it. Everything that no list puts behind it
/// then comes before it, and circles are cut there first, and at the source itself last.
fn merged<'c>(source: &str, lists: &[&[&'c str]]) -> Vec<&'c str> {
    let vertices: BTreeSet<&str> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    let mut edges: BTreeSet<(&str, &str)> = BTreeSet::new();
    for list in lists {
        edges.extend(list.windows(2).map(|neighbours| (neighbours[0], neighbours[1])));
    }
    let mut behind: BTreeSet<&str> = BTreeSet::new();
    for _ in &vertices {
        let next = edges.iter().filter(|(before, _)| *before == source || behind.contains(before));
        behind.extend(next.map(|(_, after)| *after).collect::<Vec<_>>());
    }
    behind.remove(source);
    if let Some(source) = vertices.get(source) {
        let others = vertices.iter().filter(|vertex| *vertex != source && !behind.contains(*vertex));
        edges.extend(others.map(|vertex| (*vertex, *source)));
    }
    let is_free = |vertex: &str, out: &[&str]| {
        edges.iter().all(|(before, after)| *after != vertex || out.contains(before))
    };
    let mut out: Vec<&str> = Vec::new();
    let mut waiting: Vec<&str> = vertices.iter().copied().filter(|vertex| is_free(vertex, &out)).collect();
    while out.len() < vertices.len() {
        let left: Vec<&str> = vertices.iter().copied().filter(|vertex| !out.contains(vertex)).collect();
        let cut =
            left.iter().copied().min_by_key(|vertex| (*vertex == source, behind.contains(vertex), *vertex));
        let next = if waiting.is_empty() { cut.unwrap_or(left[0]) } else { waiting.remove(0) };
        out.push(next);
        for vertex in left {
            let follows = edges.contains(&(next, vertex));
            if follows && is_free(vertex, &out) && !out.contains(&vertex) && !waiting.contains(&vertex) {
                waiting.push(vertex);
            }
        }
    }
    if out.last() == Some(&source) {
        out.pop();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Set;
    use super::*;

    fn case(rules: &[(&str, &[&str])]) -> Case {
        let rule = |(source, mirrors): &(&str, &[&str])| Rule {
            source: (*source).to_owned(),
            mirrors: mirrors.iter().map(|mirror| (*mirror).to_owned()).collect(),
            policy: Policy::Unset,
        };
        let set = Set { kind: Kind::Itms, name: "one".to_owned(), rules: rules.iter().map(rule).collect() };
        Case { sets: vec![set], ..Case::default() }
    }

    fn asked(case: &Case, image: &str) -> Vec<String> {
        let asked = Statement::of(case).pull(image).unwrap();
        asked.into_iter().map(|asked| asked.reference).collect()
    }

    /// Lists that agree are kept, whatever those that do not name the source imply.
    #[test]
    fn what_is_written_is_promised_before_what_is_implied() {
        for (source, order) in [("a.com", ["a.com", "n.io", "k.net"]), ("z.com", ["z.com", "n.io", "k.net"])]
        {
            let lists = case(&[(source, &[source, "n.io"]), (source, &["n.io", "k.net"])]);
            let places: Vec<String> = order.iter().map(|place| format!("{place}/x:1")).collect();
            assert_eq!(asked(&lists, &format!("{source}/x:1"))[..3], places);
        }
    }

    /// The examples in the API's own text.
    #[test]
    fn the_examples_of_the_api_are_promised() {
        let lists = case(&[("quay.io", &["a.io", "b.io", "c.io"]), ("quay.io", &["c.io", "d.io", "e.io"])]);
        assert_eq!(
            asked(&lists, "quay.io/x:1"),
            ["a.io/x:1", "b.io/x:1", "c.io/x:1", "d.io/x:1", "e.io/x:1", "quay.io/x:1"]
        );

        let specific = case(&[("quay.io/libpod", &["a.io"]), ("quay.io/libpod/busybox", &["b.io/busybox"])]);
        assert_eq!(
            asked(&specific, "quay.io/libpod/busybox:1"),
            ["b.io/busybox:1", "quay.io/libpod/busybox:1"]
        );
        assert_eq!(asked(&specific, "quay.io/libpod/alpine:1"), ["a.io/alpine:1", "quay.io/libpod/alpine:1"]);

        let wildcard = case(&[("*.redhat.io", &["mirror.local/redhat"])]);
        assert_eq!(
            asked(&wildcard, "registry.redhat.io/product/repo:1")[0],
            "mirror.local/redhat/product/repo:1"
        );
    }
}
