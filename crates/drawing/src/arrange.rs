//! Lays a graph out from left to right: columns, order, heights, and the routes of edges.

use crate::heights::{self, NODE_HEIGHT};
use crate::layers::{self, Layering};
use crate::order;

/// How wide a node is.
const NODE_WIDTH: f64 = 232.0;
/// Where edges run from column to column.
const COLUMN_GAP: f64 = 72.0;
/// Room around everything.
const MARGIN: f64 = 24.0;

/// A graph laid out. One unit is a pixel where nothing is scaled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrangement {
    /// The width of the whole.
    pub width: f64,
    /// The height of the whole.
    pub height: f64,
    /// Where each node is, in the order in which they were given.
    pub boxes: Vec<NodeBox>,
    /// The edges. Those that cannot be drawn from left to right are left out: to themselves, closing a cycle, twice.
    pub routes: Vec<EdgeRoute>,
    /// How many vertices and segments were looked at to find the order of nodes: what the time depends on.
    pub work: usize,
}

/// The rectangle of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeBox {
    /// Its left side.
    pub x: f64,
    /// Its upper side.
    pub y: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

impl NodeBox {
    fn middle(self) -> f64 {
        self.y + self.height / 2.0
    }
}

/// The way of an edge: between two columns it curves, and through a column it runs level.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeRoute {
    /// The number of the node where it begins.
    pub from: usize,
    /// The number of the node where it ends.
    pub to: usize,
    /// Pairs of points: from the end of one level piece to the beginning of the next.
    pub curves: Vec<[(f64, f64); 2]>,
}

/// Lays out a graph.
///
/// `rounds` has a number for each node: which plan brought it, the first being 0. Nodes of the first plan are ordered so
/// that few edges cross. Each later one is put beside those it follows, which never changes the order of two earlier ones:
/// a picture that someone is looking at grows and does not get shuffled.
pub fn arrange(rounds: &[u32], edges: &[(usize, usize)]) -> Arrangement {
    let mut columns = layers::columns(rounds.len(), edges);
    let first = rounds.iter().min().copied().unwrap_or(0);
    let mut work = 0;
    let middles = if rounds.iter().all(|&round| round == first) {
        work += order::order(&mut columns, None);
        heights::heights(&columns)
    } else {
        let (keys, keys_work) = keys(rounds, first, edges, &columns);
        work += keys_work + order::order(&mut columns, Some(&keys));
        heights::heights(&columns)
    };
    Arrangement { work, ..draw(&columns, &middles) }
}

/// A key for each node to sort by: its height in the first plan, or the mean of the keys of those it follows.
fn keys(rounds: &[u32], first: u32, edges: &[(usize, usize)], columns: &Layering) -> (Vec<f64>, usize) {
    let early: Vec<usize> = (0..rounds.len()).filter(|&node| rounds[node] == first).collect();
    let mut number = vec![None; rounds.len()];
    for (position, &node) in early.iter().enumerate() {
        number[node] = Some(position);
    }
    let early_edges: Vec<(usize, usize)> = edges
        .iter()
        .filter_map(|&(from, to)| Some((*number.get(from)?.as_ref()?, *number.get(to)?.as_ref()?)))
        .collect();
    let mut early_columns = layers::columns(early.len(), &early_edges);
    let work = order::order(&mut early_columns, None);
    let early_heights = heights::heights(&early_columns);

    let mut followed = vec![Vec::new(); rounds.len()];
    for edge in &columns.edges {
        followed[edge.to].push(edge.from);
    }
    let mut keys = vec![f64::INFINITY; rounds.len()];
    let lowest = early_heights[..early.len()].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut by_column: Vec<usize> = (0..rounds.len()).collect();
    by_column.sort_by_key(|&node| (number[node].is_none(), columns.column_of[node]));
    for node in by_column {
        keys[node] = match number[node] {
            Some(position) => early_heights[position],
            None if followed[node].is_empty() => lowest + 1.0,
            None => followed[node].iter().map(|&other| keys[other]).sum::<f64>() / followed[node].len() as f64,
        };
    }
    (keys, work)
}

fn draw(columns: &Layering, middles: &[f64]) -> Arrangement {
    let lowest = middles.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = middles.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if columns.nodes == 0 {
        return Arrangement { width: 2.0 * MARGIN, height: 2.0 * MARGIN, ..Arrangement::default() };
    }
    // Rounded, so that the same picture has the same bytes and lines are sharp.
    let level = |vertex: usize| (middles[vertex] - lowest + MARGIN + NODE_HEIGHT / 2.0).round();
    let left = |vertex: usize| MARGIN + columns.column_of[vertex] as f64 * (NODE_WIDTH + COLUMN_GAP);
    let boxes: Vec<NodeBox> = (0..columns.nodes)
        .map(|node| NodeBox {
            x: left(node),
            y: level(node) - NODE_HEIGHT / 2.0,
            width: NODE_WIDTH,
            height: NODE_HEIGHT,
        })
        .collect();
    let routes = columns.edges.iter().map(|edge| {
        let mut curves = Vec::with_capacity(edge.bends.len() + 1);
        let mut at = (left(edge.from) + NODE_WIDTH, boxes[edge.from].middle());
        for &bend in &edge.bends {
            curves.push([at, (left(bend), level(bend))]);
            at = (left(bend) + NODE_WIDTH, level(bend));
        }
        curves.push([at, (left(edge.to), boxes[edge.to].middle())]);
        EdgeRoute { from: edge.from, to: edge.to, curves }
    });
    Arrangement {
        width: 2.0 * MARGIN + columns.columns.len() as f64 * (NODE_WIDTH + COLUMN_GAP) - COLUMN_GAP,
        height: (highest - lowest + 2.0 * MARGIN + NODE_HEIGHT).ceil(),
        routes: routes.collect(),
        boxes,
        work: 0,
    }
}
