//! Orders the vertices of each column so that few edges cross.

use crate::layers::Layering;

/// Sweeps to the right and back. More change hardly anything.
const ROUNDS: usize = 6;

/// Sorts each column. With `keys`, nodes stay in the order of their keys, and only bends move between them.
///
/// Returns how many vertices and segments were looked at, which is what the time depends on.
pub(crate) fn order(columns: &mut Layering, keys: Option<&[f64]>) -> usize {
    if let Some(keys) = keys {
        for column in &mut columns.columns {
            column.sort_by(|&a, &b| key(keys, a).total_cmp(&key(keys, b)));
        }
    }
    let mut place = vec![0.0; columns.column_of.len()];
    for column in &columns.columns {
        number(column, &mut place);
    }
    let mut work = 0;
    let mut best = (crossings(columns, &place), columns.columns.clone());
    for round in 0..ROUNDS * 2 {
        if best.0 == 0 {
            break;
        }
        let to_the_right = round % 2 == 0;
        let count = columns.columns.len();
        for step in 1..count {
            let at = if to_the_right { step } else { count - 1 - step };
            work += sweep(columns, at, to_the_right, keys, &mut place);
        }
        let found = crossings(columns, &place);
        if found < best.0 {
            best = (found, columns.columns.clone());
        }
    }
    columns.columns = best.1;
    work
}

/// Bends come after the nodes until a sweep has placed them.
fn key(keys: &[f64], vertex: usize) -> f64 {
    keys.get(vertex).copied().unwrap_or(f64::INFINITY)
}

/// Sorts one column by the mean place of the neighbours on one side. What has none there stays where it is.
fn sweep(columns: &mut Layering, at: usize, to_the_right: bool, keys: Option<&[f64]>, place: &mut [f64]) -> usize {
    let mut column = std::mem::take(&mut columns.columns[at]);
    let neighbours = if to_the_right { &columns.before } else { &columns.after };
    let mut work = column.len();
    let mut wanted: Vec<(f64, usize)> = Vec::with_capacity(column.len());
    for &vertex in &column {
        let near = &neighbours[vertex];
        work += near.len();
        let sum: f64 = near.iter().map(|&other| place[other]).sum();
        wanted.push((if near.is_empty() { place[vertex] } else { sum / near.len() as f64 }, vertex));
    }
    wanted.sort_by(|a, b| a.0.total_cmp(&b.0));
    column = wanted.into_iter().map(|(_, vertex)| vertex).collect();
    if let Some(keys) = keys {
        keep_order(&mut column, columns.nodes, keys);
    }
    number(&column, place);
    columns.columns[at] = column;
    work
}

/// Puts the nodes of a column in the order of their keys, into the slots that nodes have.
fn keep_order(column: &mut [usize], nodes: usize, keys: &[f64]) {
    let slots: Vec<usize> = (0..column.len()).filter(|&slot| column[slot] < nodes).collect();
    let mut sorted: Vec<usize> = slots.iter().map(|&slot| column[slot]).collect();
    sorted.sort_by(|&a, &b| key(keys, a).total_cmp(&key(keys, b)).then(a.cmp(&b)));
    for (slot, vertex) in slots.into_iter().zip(sorted) {
        column[slot] = vertex;
    }
}

/// Places run from 0 to 1 in each column, so that columns of different lengths compare.
fn number(column: &[usize], place: &mut [f64]) {
    for (slot, &vertex) in column.iter().enumerate() {
        place[vertex] = (slot as f64 + 0.5) / column.len() as f64;
    }
}

/// How many pairs of segments cross.
fn crossings(columns: &Layering, place: &[f64]) -> usize {
    let pairs = columns.columns.windows(2);
    pairs.map(|pair| crossings_between(&pair[0], &pair[1], columns, place)).sum()
}

/// Counts inversions with a Fenwick tree: the time is that of sorting the segments.
fn crossings_between(left: &[usize], right: &[usize], columns: &Layering, place: &[f64]) -> usize {
    let slot = |vertex: usize| (place[vertex] * right.len() as f64) as usize;
    let mut tree = vec![0_usize; right.len() + 1];
    let (mut total, mut crossed) = (0, 0);
    for &vertex in left {
        let mut ends: Vec<usize> = columns.after[vertex].iter().map(|&other| slot(other)).collect();
        ends.sort_unstable();
        for &end in &ends {
            crossed += total - sum_to(&tree, end + 1);
        }
        for &end in &ends {
            add_at(&mut tree, end + 1);
            total += 1;
        }
    }
    crossed
}

fn sum_to(tree: &[usize], mut at: usize) -> usize {
    let mut sum = 0;
    while at > 0 {
        sum += tree[at];
        at &= at - 1;
    }
    sum
}

fn add_at(tree: &mut [usize], mut at: usize) {
    while at < tree.len() {
        tree[at] += 1;
        at += at & at.wrapping_neg();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::columns;

    #[test]
    fn two_crossing_edges_are_untangled() {
        let mut crossed = columns(4, &[(0, 3), (1, 2)]);
        order(&mut crossed, None);
        assert_eq!(crossed.columns, [vec![0, 1], vec![3, 2]]);
    }

    #[test]
    fn what_does_not_cross_stays_in_the_order_of_the_plan() {
        let mut fan = columns(5, &[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]);
        order(&mut fan, None);
        assert_eq!(fan.columns, [vec![0], vec![1, 2, 3], vec![4]]);
    }

    #[test]
    fn keys_decide_even_where_edges_cross() {
        let mut fixed = columns(4, &[(0, 3), (1, 2)]);
        order(&mut fixed, Some(&[0.0, 1.0, 0.0, 1.0]));
        assert_eq!(fixed.columns, [vec![0, 1], vec![2, 3]]);
    }

    #[test]
    fn crossings_are_counted() {
        let all = columns(6, &[(0, 3), (0, 4), (0, 5), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)]);
        let mut place = vec![0.0; 6];
        all.columns.iter().for_each(|column| number(column, &mut place));
        assert_eq!(crossings(&all, &place), 9);
    }
}
