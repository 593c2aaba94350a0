//! Merges several lists of mirrors for one source into one list.

use std::collections::{HashSet, VecDeque};

/// The mirrors of a source in the order in which nodes ask them, and the wishes that this order does not meet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Ordered<'a> {
    /// Contains the source itself only if it is asked before a mirror; otherwise it is asked last anyway.
    pub(super) mirrors: Vec<&'a str>,
    pub(super) conflicts: Vec<Conflict<'a>>,
    pub(super) earlier: Vec<Earlier<'a>>,
}

/// A list whose order is not kept.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Conflict<'a> {
    /// The index of the list.
    pub(super) list: usize,
    /// The mirror that the list puts first.
    pub(super) before: &'a str,
    /// The mirror that the list puts after `before`; the result has them the other way round.
    pub(super) after: &'a str,
    /// The list that held `before` back.
    pub(super) against: Option<usize>,
}

/// A list that does not name the source, although the source is asked before one of the list's mirrors.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Earlier<'a> {
    /// The index of the list.
    pub(super) list: usize,
    /// The first mirror of the list that is asked after the source.
    pub(super) mirror: &'a str,
    /// The list that puts the source before this mirror, or before a mirror that precedes it.
    pub(super) against: usize,
}

/// Merges lists, each without duplicates.
///
/// The mirrors are the vertices of a graph with an edge between neighbours of each list. Vertices without predecessors come
/// first, in alphabetical order. Each is followed by the vertices that only it held back, again in alphabetical order. If
/// every remaining vertex has a predecessor, the lists contradict each other, and the alphabetically first vertex is taken.
///
/// The source is asked after all mirrors unless a list names it. If one does, the source is a vertex like the mirrors. Lists
/// that do not name it only imply that it comes last; nobody wrote it. So the source comes after everything except the
/// mirrors that a list puts behind it, directly or through other mirrors. That way the written order can be kept whenever
/// the lists themselves agree. In a contradiction, the source is taken only if nothing else is left, and the mirrors behind
/// it only if nothing else but the source is left. A registry must be asked before its mirrors only because somebody wants
/// it, not because of its spelling, and that wish must not get lost in a contradiction between other lists.
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
    /// In alphabetical order; everything below refers to vertices by index.
    vertices: Vec<&'a str>,
    source: Option<usize>,
    /// The lists, as vertices.
    paths: Vec<Vec<usize>>,
    /// Sorted by vertices; an edge occurs once for each list that has it.
    edges: Vec<Edge>,
    /// For each vertex behind the source, a list that puts the source before it, or before a vertex that leads to it.
    behind: Vec<Option<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: usize,
    to: usize,
    /// The list that contains the edge; `None` if the edge is only implied.
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

    /// Follows the written edges from the source.
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
        // Taken one by one when a contradiction leaves no vertex free.
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

    /// Returns, for each list, the first of its edges that the result reverses. Implied edges are never reversed.
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

    /// Returns, for each vertex, the two lists that held it back longest, each with the position of the mirror that it puts
    /// before the vertex.
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

    /// Returns the list that held back the start of `edge` until its end had been taken, or that held back a vertex that the
    /// edge's own list puts before the start.
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

    /// Returns the lists that do not name the source and for which it does not come last.
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
