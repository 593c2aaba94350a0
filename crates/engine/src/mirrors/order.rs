//! Several lists of mirrors for one source into one list.

use std::collections::{HashSet, VecDeque};

/// The mirrors of a source in the order in which they are asked, and the lists that do not get theirs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ordered<'a> {
    /// The source itself is among them only where it is asked before a mirror; otherwise it is asked last anyway.
    pub(super) mirrors: Vec<&'a str>,
    pub(super) conflicts: Vec<Conflict<'a>>,
}

/// A list whose order is not kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conflict<'a> {
    /// Which list.
    pub(super) list: usize,
    /// What it puts first,
    pub(super) before: &'a str,
    /// and what it puts after that; in the result it is the other way round.
    pub(super) after: &'a str,
    /// A list that stands against it; none where the mirror only comes early because others contradict each other.
    pub(super) against: Option<usize>,
}

/// Merges lists, none of which has a mirror twice.
///
/// The mirrors are the vertices of a graph with an edge between neighbours of each list. Those that nothing precedes
/// come first, in the order of the alphabet, and each is followed by those that it alone held back, again in the
/// order of the alphabet. Where every vertex left has a predecessor, the lists contradict each other, and the first
/// vertex of the alphabet is taken.
///
/// The source is asked after all mirrors unless a list names it. If one does, the source is a vertex like the mirrors,
/// and each list that does not name it has it at its end. But it is never the vertex that is taken to
/// get on in a contradiction while there is another one: that a registry is asked before its mirrors must be
/// somebody's wish, and is not to come from how it is spelt.
pub(super) fn ordered<'a>(source: &str, lists: &[&[&'a str]]) -> Ordered<'a> {
    let mut result = match lists {
        [list] => Ordered { mirrors: list.to_vec(), conflicts: Vec::new() },
        lists => Graph::new(source, lists).sorted(),
    };
    if result.mirrors.last() == Some(&source) {
        result.mirrors.pop();
    }
    result
}

struct Graph<'a> {
    /// In the order of the alphabet; everything below means them by index.
    vertices: Vec<&'a str>,
    source: Option<usize>,
    /// Sorted, with every list that has the edge.
    edges: Vec<Edge>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: usize,
    to: usize,
    list: usize,
}

impl<'a> Graph<'a> {
    fn new(source: &str, lists: &[&[&'a str]]) -> Self {
        let mut vertices: Vec<&str> = lists.iter().flat_map(|list| list.iter().copied()).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let index = |mirror: &str| vertices.binary_search(&mirror).ok();
        let source = index(source);
        let mut edges = Vec::new();
        for (list, mirrors) in lists.iter().enumerate() {
            let mut path: Vec<usize> = mirrors.iter().filter_map(|mirror| index(mirror)).collect();
            path.extend(source.filter(|source| !path.contains(source)));
            edges.extend(path.windows(2).map(|pair| Edge { from: pair[0], to: pair[1], list }));
        }
        edges.sort_unstable();
        Self { vertices, source, edges }
    }

    fn sorted(&self) -> Ordered<'a> {
        let order = self.order();
        let mirrors = order.iter().map(|vertex| self.vertices[*vertex]).collect();
        Ordered { mirrors, conflicts: self.conflicts(&order) }
    }

    fn order(&self) -> Vec<usize> {
        let count = self.vertices.len();
        let mut predecessors = vec![0_usize; count];
        for edge in self.distinct_edges() {
            predecessors[edge.to] += 1;
        }
        let mut free: VecDeque<usize> = (0..count).filter(|vertex| predecessors[*vertex] == 0).collect();
        // Taken one by one where a contradiction leaves nothing free; the source is the last resort.
        let mut rest = (0..count).filter(|vertex| Some(*vertex) != self.source).chain(self.source);
        let mut used = vec![false; count];
        let mut order = Vec::with_capacity(count);
        while let Some(vertex) = free.pop_front().or_else(|| rest.find(|vertex| !used[*vertex])) {
            used[vertex] = true;
            order.push(vertex);
            let mut previous = None;
            for edge in self.edges_from(vertex) {
                if previous.replace(edge.to) == Some(edge.to) {
                    continue;
                }
                predecessors[edge.to] -= 1;
                if predecessors[edge.to] == 0 && !used[edge.to] {
                    free.push_back(edge.to);
                }
            }
        }
        order
    }

    fn distinct_edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.chunk_by(|a, b| (a.from, a.to) == (b.from, b.to)).filter_map(<[Edge]>::first)
    }

    fn edges_from(&self, vertex: usize) -> &[Edge] {
        let start = self.edges.partition_point(|edge| edge.from < vertex);
        let end = self.edges.partition_point(|edge| edge.from <= vertex);
        &self.edges[start..end]
    }

    /// For each list the first of its edges that goes backwards in the result.
    fn conflicts(&self, order: &[usize]) -> Vec<Conflict<'a>> {
        let mut position = vec![0; order.len()];
        for (place, vertex) in order.iter().enumerate() {
            position[*vertex] = place;
        }
        let mut told = HashSet::new();
        let backwards = self.edges.iter().filter(|edge| position[edge.from] > position[edge.to]);
        backwards
            .filter(|edge| told.insert(edge.list))
            .map(|edge| Conflict {
                list: edge.list,
                before: self.vertices[edge.from],
                after: self.vertices[edge.to],
                against: self.against(*edge),
            })
            .collect()
    }

    /// A list that says the opposite, or else one that goes on from where `edge` leads.
    fn against(&self, edge: Edge) -> Option<usize> {
        let onward = self.edges_from(edge.to);
        let opposite = onward.partition_point(|other| other.to < edge.from);
        onward
            .get(opposite)
            .filter(|other| other.to == edge.from)
            .or_else(|| onward.iter().find(|other| other.list != edge.list))
            .map(|other| other.list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order for edges written as pairs of letters.
    fn sorted(edges: &str) -> String {
        let edges: Vec<Vec<&str>> =
            edges.split_whitespace().map(|pair| vec![&pair[..1], &pair[1..]]).collect();
        let lists: Vec<&[&str]> = edges.iter().map(Vec::as_slice).collect();
        ordered("~", &lists).mirrors.concat()
    }

    #[test]
    fn the_order_is_that_of_runtime_utils_whatever_comes_first() {
        for (edges, order) in [
            ("", ""),
            ("AB AC AD ab ac ad", "AaBCDbcd"),
            ("AD BD CD ad bd cd", "ABCabcDd"),
            ("AB BC CD DE ab bc cd de", "AaBbCcDdEe"),
            ("AB BC CD DA ab bc cd da", "ABCDabcd"),
            ("AB BC CD DB DE ab bc cd db de", "AaBCDEbcde"),
            ("AB AC BD CD", "ABCD"),
            ("AB BA AS BS", "ABS"),
        ] {
            let mut rotated: Vec<&str> = edges.split_whitespace().collect();
            for _ in 0..=rotated.len() {
                assert_eq!(sorted(&rotated.join(" ")), order);
                let by = usize::from(!rotated.is_empty());
                rotated.rotate_left(by);
            }
        }
    }

    #[test]
    fn a_list_that_loses_is_named_with_the_one_it_loses_to() {
        let conflicts = ordered("s", &[&["b", "a"], &["c"], &["a", "b"]]).conflicts;
        assert_eq!(conflicts, [Conflict { list: 0, before: "b", after: "a", against: Some(2) }]);
        let circle = ordered("s", &[&["c", "a"], &["a", "b"], &["b", "c"]]).conflicts;
        assert_eq!(circle, [Conflict { list: 0, before: "c", after: "a", against: Some(1) }]);
        assert_eq!(ordered("s", &[&["a", "b"], &["b", "c"]]).conflicts, []);
    }
}
