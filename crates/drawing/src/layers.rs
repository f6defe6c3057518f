//! Puts nodes in columns, and gives edges that pass a column a bend in it.

use std::collections::{BTreeMap, BTreeSet};

/// Edges that pass columns get a bend in each as long as there are no more bends than this. The longest edges go without
/// beyond it: a chain of a thousand steps that all read the first one would have half a million.
const MOST_BENDS: usize = 6_000;

/// A graph in columns: each segment leads from one column to the next, except those of edges without bends.
#[derive(Debug, Default)]
pub(crate) struct Layering {
    /// How many of the vertices are nodes; the others are bends.
    pub(crate) nodes: usize,
    /// The column of each vertex.
    pub(crate) column_of: Vec<usize>,
    /// The vertices of each column. Nodes come in the order in which they were given.
    pub(crate) columns: Vec<Vec<usize>>,
    /// The vertices in the column before that a vertex is connected with.
    pub(crate) before: Vec<Vec<usize>>,
    /// The vertices in the column after.
    pub(crate) after: Vec<Vec<usize>>,
    /// Each edge with its bends, in the order in which edges were given.
    pub(crate) edges: Vec<BentEdge>,
}

/// An edge and the vertices at which it bends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BentEdge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) bends: Vec<usize>,
}

impl Layering {
    /// Whether a vertex is a bend of an edge.
    pub(crate) fn is_bend(&self, vertex: usize) -> bool {
        vertex >= self.nodes
    }

    fn add(&mut self, column: usize) -> usize {
        let vertex = self.column_of.len();
        self.column_of.push(column);
        self.columns[column].push(vertex);
        self.before.push(Vec::new());
        self.after.push(Vec::new());
        vertex
    }

    fn join(&mut self, left: usize, right: usize) {
        self.after[left].push(right);
        self.before[right].push(left);
    }
}

/// Puts each of `nodes` nodes in the column after the last of those it follows.
///
/// Edges to themselves, edges that close a cycle and those given twice are left out.
pub(crate) fn columns(nodes: usize, edges: &[(usize, usize)]) -> Layering {
    let mut seen = BTreeSet::new();
    let edges: Vec<(usize, usize)> = edges
        .iter()
        .copied()
        .filter(|&(from, to)| from != to && from < nodes && to < nodes && seen.insert((from, to)))
        .collect();
    let column_of = depths(nodes, &edges);
    let edges: Vec<(usize, usize)> = edges.into_iter().filter(|&(from, to)| column_of[from] < column_of[to]).collect();

    let count = column_of.iter().max().map_or(0, |last| last + 1);
    let mut all = Layering { nodes, columns: vec![Vec::new(); count], ..Layering::default() };
    for &column in &column_of {
        all.add(column);
    }
    let with_bends = with_bends(&column_of, &edges);
    // Edges of one node share their bends as far as they run together, so that they are drawn as one line that branches.
    let mut shared: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (number, &(from, to)) in edges.iter().enumerate() {
        let mut bends = Vec::new();
        if with_bends.contains(&number) {
            let mut left = from;
            for column in column_of[from] + 1..column_of[to] {
                let bend = *shared.entry((from, column)).or_insert_with(|| {
                    let bend = all.add(column);
                    all.join(left, bend);
                    bend
                });
                bends.push(bend);
                left = bend;
            }
            all.join(left, to);
        }
        all.edges.push(BentEdge { from, to, bends });
    }
    all
}

/// The numbers of the edges that get bends: the shortest, until there are [`MOST_BENDS`].
fn with_bends(column_of: &[usize], edges: &[(usize, usize)]) -> BTreeSet<usize> {
    let passed = |&(from, to): &(usize, usize)| column_of[to] - column_of[from] - 1;
    let mut by_length: Vec<usize> = (0..edges.len()).collect();
    by_length.sort_by_key(|&number| passed(&edges[number]));
    let mut bends = 0;
    by_length.retain(|&number| {
        bends += passed(&edges[number]);
        bends <= MOST_BENDS
    });
    by_length.into_iter().collect()
}

/// The length of the longest path to each node. Where only cycles are left, the first node that was given begins anew.
fn depths(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut following = vec![Vec::new(); nodes];
    let mut missing = vec![0_usize; nodes];
    for &(from, to) in edges {
        following[from].push(to);
        missing[to] += 1;
    }
    let mut depth = vec![0; nodes];
    let mut ready: Vec<usize> = (0..nodes).filter(|&node| missing[node] == 0).collect();
    let mut waiting: BTreeSet<usize> = (0..nodes).filter(|&node| missing[node] > 0).collect();
    while let Some(node) = ready.pop().or_else(|| waiting.pop_first()) {
        for &next in &following[node] {
            // A node that a cycle was cut at has its column already.
            if waiting.contains(&next) {
                depth[next] = depth[next].max(depth[node] + 1);
                missing[next] -= 1;
                if missing[next] == 0 {
                    waiting.remove(&next);
                    ready.push(next);
                }
            }
        }
    }
    depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_in_the_column_after_the_last_it_follows() {
        let found = columns(4, &[(0, 1), (1, 2), (0, 2), (0, 3)]);
        assert_eq!(found.column_of[..4], [0, 1, 2, 1]);
        assert_eq!(found.edges[2], BentEdge { from: 0, to: 2, bends: vec![4] });
        assert_eq!((found.column_of[4], found.is_bend(4)), (1, true));
    }

    #[test]
    fn edges_of_one_node_share_their_bends() {
        let found = columns(5, &[(0, 1), (1, 2), (2, 3), (2, 4), (0, 3), (0, 4)]);
        assert_eq!(found.edges[4].bends, found.edges[5].bends);
        assert_eq!(found.column_of.len(), 5 + 2);
    }

    #[test]
    fn a_cycle_is_cut_and_nothing_is_left_out() {
        let found = columns(3, &[(0, 1), (1, 2), (2, 0), (1, 1), (0, 1)]);
        assert_eq!(found.column_of[..3], [0, 1, 2]);
        assert_eq!(found.edges.len(), 2);
    }

    #[test]
    fn the_longest_edges_go_without_bends_when_there_are_too_many() {
        let chain = (0..999).map(|node| (node, node + 1));
        let from_first = (2..1_000).map(|node| (0, node));
        let found = columns(1_000, &chain.chain(from_first).collect::<Vec<_>>());
        assert!(found.column_of.len() <= 1_000 + MOST_BENDS);
        assert_eq!(found.edges.len(), 999 + 998);
        assert!(found.edges.iter().all(|edge| found.column_of[edge.from] < found.column_of[edge.to]));
    }
}
