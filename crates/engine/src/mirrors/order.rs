//! Several lists of mirrors for one source into one list.

use std::collections::{HashSet, VecDeque};

/// The mirrors of a source in the order in which they are asked, and what does not get its way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ordered<'a> {
    /// The source itself is among them only where it is asked before a mirror; otherwise it is asked last anyway.
    pub(super) mirrors: Vec<&'a str>,
    pub(super) conflicts: Vec<Conflict<'a>>,
    pub(super) earlier: Vec<Earlier<'a>>,
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
    /// The list that held `before` back.
    pub(super) against: Option<usize>,
}

/// A list that does not name the source, which is asked before one of its mirrors all the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Earlier<'a> {
    /// Which list.
    pub(super) list: usize,
    /// The first of its mirrors that is asked after the source.
    pub(super) mirror: &'a str,
    /// The list that puts the source before it, or before what comes before it.
    pub(super) against: usize,
}

/// Merges lists, none of which has a mirror twice.
///
/// The mirrors are the vertices of a graph with an edge between neighbours of each list. Those that nothing precedes
/// come first, in the order of the alphabet, and each is followed by those that it alone held back, again in the
/// order of the alphabet. Where every vertex left has a predecessor, the lists contradict each other, and the first
/// vertex of the alphabet is taken.
///
/// The source is asked after all mirrors unless a list names it. If one does, the source is a vertex like the mirrors.
/// Lists that do not name it imply that it is last, which nobody wrote. So it comes after everything but what a list puts
/// behind it, be it through other mirrors, and what is written can be kept whenever the lists themselves agree. In a contradiction, the source is taken only if nothing else is
/// left, and what stands behind it only if nothing else but it is: that a registry is asked before its mirrors must be
/// somebody's wish, and is not to come from how it is spelt, nor is the wish to be lost to a contradiction of others.
pub(super) fn ordered<'a>(source: &str, lists: &[&[&'a str]]) -> Ordered<'a> {
    let mut result = match lists {
        [list] => Ordered { mirrors: list.to_vec(), ..Ordered::default() },
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
    /// The lists.
    paths: Vec<Vec<usize>>,
    /// Sorted by vertices, with every list that has the edge.
    edges: Vec<Edge>,
    /// For each vertex that stands behind the source, a list that puts the source before it, or before what leads to it.
    behind: Vec<Option<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: usize,
    to: usize,
    /// The list that says it; none if it is only implied.
    list: Option<usize>,
}

impl<'a> Graph<'a> {
    fn new(source: &str, lists: &[&[&'a str]]) -> Self {
        let mut vertices: Vec<&str> = lists.iter().flat_map(|list| list.iter().copied()).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let index = |mirror: &str| vertices.binary_search(&mirror).ok();
        let source = index(source);
        let path = |list: &&[&str]| list.iter().filter_map(|mirror| index(mirror)).collect();
        let paths: Vec<Vec<usize>> = lists.iter().map(path).collect();
        let mut edges = Vec::new();
        for (list, path) in paths.iter().enumerate() {
            edges.extend(path.windows(2).map(|pair| Edge { from: pair[0], to: pair[1], list: Some(list) }));
        }
        edges.sort_unstable();
        let behind = vec![None; vertices.len()];
        let mut graph = Self { vertices, source, paths, edges, behind };
        if let Some(source) = source {
            graph.find_behind(source);
            graph.put_last(source);
        }
        graph
    }

    /// Follows what is written on from the source.
    fn find_behind(&mut self, source: usize) {
        let mut waiting: VecDeque<Edge> = self.edges_from(source).iter().copied().collect();
        while let Some(Edge { to, list, .. }) = waiting.pop_front() {
            if to != source && self.behind[to].is_none() {
                self.behind[to] = list;
                waiting.extend(self.edges_from(to).iter().map(|edge| Edge { list, ..*edge }));
            }
        }
    }

    /// Puts the source after everything that is not behind it.
    fn put_last(&mut self, source: usize) {
        let others =
            (0..self.vertices.len()).filter(|vertex| *vertex != source && self.behind[*vertex].is_none());
        let implied: Vec<Edge> = others.map(|from| Edge { from, to: source, list: None }).collect();
        self.edges.extend(implied);
        self.edges.sort_unstable();
    }

    fn sorted(&self) -> Ordered<'a> {
        let order = self.order();
        let mut position = vec![0; order.len()];
        for (place, vertex) in order.iter().enumerate() {
            position[*vertex] = place;
        }
        Ordered {
            mirrors: order.iter().map(|vertex| self.vertices[*vertex]).collect(),
            conflicts: self.conflicts(&position),
            earlier: self.earlier(&position),
        }
    }

    fn order(&self) -> Vec<usize> {
        let count = self.vertices.len();
        let mut predecessors = vec![0_usize; count];
        for edge in self.distinct_edges() {
            predecessors[edge.to] += 1;
        }
        let mut free: VecDeque<usize> = (0..count).filter(|vertex| predecessors[*vertex] == 0).collect();
        // Taken one by one where a contradiction leaves nothing free.
        let mut rest: Vec<usize> = (0..count).collect();
        rest.sort_by_key(|vertex| (Some(*vertex) == self.source, self.behind[*vertex].is_some()));
        let mut rest = rest.into_iter();
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

    /// For each list the first of its edges that goes backwards in the result. What is only implied never does.
    fn conflicts(&self, position: &[usize]) -> Vec<Conflict<'a>> {
        let mut told = HashSet::new();
        let backwards = self.edges.iter().filter(|edge| position[edge.from] > position[edge.to]);
        let lost: Vec<(usize, Edge)> = backwards
            .filter_map(|edge| Some((edge.list?, *edge)))
            .filter(|(list, _)| told.insert(*list))
            .collect();
        if lost.is_empty() {
            return Vec::new();
        }
        let latest = self.latest(position);
        let conflict = |(list, edge): (usize, Edge)| Conflict {
            list,
            before: self.vertices[edge.from],
            after: self.vertices[edge.to],
            against: self.against(list, edge, position, &latest),
        };
        lost.into_iter().map(conflict).collect()
    }

    /// For each vertex the two lists that held it back longest, each with the place of what it puts before the vertex.
    fn latest(&self, position: &[usize]) -> Vec<[Option<(usize, usize)>; 2]> {
        let mut latest = vec![[None; 2]; position.len()];
        for edge in &self.edges {
            let Some(list) = edge.list else { continue };
            let held = Some((position[edge.from], list));
            let [first, second] = &mut latest[edge.to];
            if held > *first {
                *second = *first;
                *first = held;
            } else {
                *second = held.max(*second);
            }
        }
        latest
    }

    /// The list that held back where `edge` comes from until where it leads had been taken; or that held back what the
    /// edge's own list puts before it.
    fn against(
        &self,
        own: usize,
        edge: Edge,
        position: &[usize],
        latest: &[[Option<(usize, usize)>; 2]],
    ) -> Option<usize> {
        let held = |vertex: &usize| {
            let (place, list) = latest[*vertex].into_iter().flatten().find(|(_, list)| *list != own)?;
            (place >= position[edge.to]).then_some(list)
        };
        self.paths[own].iter().rev().skip_while(|vertex| **vertex != edge.from).find_map(held)
    }

    /// The lists that do not name the source, where it does not come last for them.
    fn earlier(&self, position: &[usize]) -> Vec<Earlier<'a>> {
        let Some(source) = self.source else { return Vec::new() };
        let lists = self.paths.iter().enumerate().filter(|(_, path)| !path.contains(&source));
        let earlier = |(list, path): (usize, &Vec<usize>)| {
            let mirror = path.iter().find(|vertex| position[**vertex] > position[source])?;
            Some(Earlier { list, mirror: self.vertices[*mirror], against: self.behind[*mirror]? })
        };
        lists.filter_map(earlier).collect()
    }
}
