//! Gives each vertex its height in the column: near its neighbours, apart from the next, in the given order.

use crate::layers::Layering;

/// How high a node is.
pub(crate) const NODE_HEIGHT: f64 = 76.0;
/// The room that a line takes where it passes a column.
const BEND_HEIGHT: f64 = 12.0;
/// Free room between two nodes.
const GAP: f64 = 28.0;
/// Free room beside a line that passes.
const BEND_GAP: f64 = 10.0;
/// Passes to the right and back.
const ROUNDS: usize = 8;

/// The middle of each vertex. Those of one column are apart at least by what both need.
pub(crate) fn heights(columns: &Layering) -> Vec<f64> {
    let mut middle = vec![0.0; columns.column_of.len()];
    for column in &columns.columns {
        let needed: f64 = column.windows(2).map(|pair| apart(columns, pair[0], pair[1])).sum();
        let mut at = -needed / 2.0;
        for (slot, &vertex) in column.iter().enumerate() {
            if slot > 0 {
                at += apart(columns, column[slot - 1], vertex);
            }
            middle[vertex] = at;
        }
    }
    let count = columns.columns.len();
    for round in 0..ROUNDS {
        for step in 0..count {
            let side = if round % 2 == 0 { Side::Before } else { Side::After };
            let at = if round % 2 == 0 { step } else { count - 1 - step };
            settle(columns, at, side, &mut middle);
        }
    }
    (0..count).for_each(|at| settle(columns, at, Side::Both, &mut middle));
    middle
}

/// The distance between the middles of two vertices, one above the other.
fn apart(columns: &Layering, upper: usize, lower: usize) -> f64 {
    let height = |vertex| if columns.is_bend(vertex) { BEND_HEIGHT } else { NODE_HEIGHT };
    let gap = if columns.is_bend(upper) || columns.is_bend(lower) { BEND_GAP } else { GAP };
    f64::midpoint(height(upper), height(lower)) + gap
}

/// Which neighbours a vertex is drawn to.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
    Both,
}

/// Vertices that were pushed together, as one block: `at` is where its first one wants to be on the whole.
struct Block {
    first: usize,
    weight: f64,
    at: f64,
}

/// Moves a column's vertices to where their neighbours are, as near as order and distances allow.
///
/// This is the least sum of squares under the distances, by pooling adjacent violators: linear in the column.
fn settle(columns: &Layering, at: usize, side: Side, middle: &mut [f64]) {
    let column = &columns.columns[at];
    let mut offsets = Vec::with_capacity(column.len());
    let mut blocks: Vec<Block> = Vec::new();
    let mut offset = 0.0;
    for (slot, &vertex) in column.iter().enumerate() {
        if slot > 0 {
            offset += apart(columns, column[slot - 1], vertex);
        }
        offsets.push(offset);
        let (wanted, weight) = pull(columns, vertex, side, middle);
        let mut block = Block { first: slot, weight, at: wanted - offset };
        while let Some(above) = blocks.pop_if(|above| above.at > block.at) {
            let weight = above.weight + block.weight;
            let at = (above.at * above.weight + block.at * block.weight) / weight;
            block = Block { first: above.first, weight, at };
        }
        blocks.push(block);
    }
    let mut slots = 0..column.len();
    for (number, block) in blocks.iter().enumerate() {
        let end = blocks.get(number + 1).map_or(column.len(), |next| next.first);
        for slot in slots.by_ref().take(end - block.first) {
            middle[column[slot]] = block.at + offsets[slot];
        }
    }
}

/// Where a vertex wants to be, and how much. Lines that pass are kept straight before all else.
fn pull(columns: &Layering, vertex: usize, side: Side, middle: &[f64]) -> (f64, f64) {
    let (before, after) = match side {
        Side::Before => (columns.before[vertex].as_slice(), [].as_slice()),
        Side::After => ([].as_slice(), columns.after[vertex].as_slice()),
        Side::Both => (columns.before[vertex].as_slice(), columns.after[vertex].as_slice()),
    };
    let (mut sum, mut weight) = (0.0, 0.0);
    for &other in before.iter().chain(after) {
        let strength = if columns.is_bend(vertex) && columns.is_bend(other) { 8.0 } else { 1.0 };
        sum += middle[other] * strength;
        weight += strength;
    }
    if weight == 0.0 { (middle[vertex], 0.5) } else { (sum / weight, weight) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::columns;

    #[test]
    fn a_chain_is_straight() {
        let found = heights(&columns(4, &[(0, 1), (1, 2), (2, 3)]));
        assert!(found.iter().all(|height| (height - found[0]).abs() < 0.001), "{found:?}");
    }

    #[test]
    fn what_fans_out_and_in_is_symmetric() {
        let found = heights(&columns(5, &[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]));
        assert!((found[0] - found[2]).abs() < 0.001 && (found[4] - found[2]).abs() < 0.001, "{found:?}");
        assert!((found[2] - found[1] - NODE_HEIGHT - GAP).abs() < 0.001, "{found:?}");
    }
}
