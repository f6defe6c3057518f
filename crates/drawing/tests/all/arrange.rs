//! Layouts: nothing overlaps, nothing runs backward, and a picture that grows is not shuffled.

use proptest::collection::vec;
use proptest::prelude::*;
use updraft_drawing::{Arrangement, NodeBox, arrange};

/// A graph of up to `most` nodes, in any order, some of whose edges may close cycles.
fn graphs(most: usize) -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
    (1..=most).prop_flat_map(|nodes| (Just(nodes), vec((0..nodes, 0..nodes), 0..nodes * 2)))
}

/// A graph whose edges point from earlier to later nodes.
fn plans(most: usize) -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
    graphs(most).prop_map(|(nodes, edges)| {
        (nodes, edges.into_iter().filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect())
    })
}

fn overlap(a: &NodeBox, b: &NodeBox) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

fn lies_in(layout: &Arrangement, area: &NodeBox) -> bool {
    area.x >= 0.0 && area.y >= 0.0 && area.x + area.width <= layout.width && area.y + area.height <= layout.height
}

/// Whether a level piece of an edge, between two of its curves, crosses a node.
fn runs_through_a_node(layout: &Arrangement) -> bool {
    let pieces = layout.routes.iter().flat_map(|route| route.curves.windows(2)).map(|pair| (pair[0][1], pair[1][0]));
    let crosses = |((x1, y), (x2, _)): ((f64, f64), (f64, f64))| {
        layout
            .boxes
            .iter()
            .any(|area| x1 < area.x + area.width && area.x < x2 && area.y < y && y < area.y + area.height)
    };
    pieces.into_iter().any(crosses)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn nothing_overlaps_and_nothing_is_outside((nodes, edges) in graphs(40)) {
        let layout = arrange(&vec![0; nodes], &edges);
        prop_assert_eq!(layout.boxes.len(), nodes);
        prop_assert!(layout.boxes.iter().all(|area| lies_in(&layout, area)));
        for (number, area) in layout.boxes.iter().enumerate() {
            prop_assert!(!layout.boxes[number + 1..].iter().any(|other| overlap(area, other)));
        }
        prop_assert!(!runs_through_a_node(&layout));
    }

    #[test]
    fn every_edge_runs_to_the_right((nodes, edges) in graphs(40)) {
        let layout = arrange(&vec![0; nodes], &edges);
        for route in &layout.routes {
            let (from, to) = (layout.boxes[route.from], layout.boxes[route.to]);
            prop_assert!(from.x + from.width < to.x);
            prop_assert!(route.curves.iter().all(|[start, end]| start.0 < end.0));
            prop_assert_eq!(route.curves[0][0], (from.x + from.width, from.y + from.height / 2.0));
            prop_assert_eq!(route.curves.last().unwrap()[1], (to.x, to.y + to.height / 2.0));
        }
    }

    #[test]
    fn every_edge_of_a_plan_is_drawn_once((nodes, edges) in plans(40)) {
        let mut wanted = edges.clone();
        wanted.sort_unstable();
        wanted.dedup();
        let mut drawn: Vec<_> = arrange(&vec![0; nodes], &edges).routes.iter().map(|route| (route.from, route.to)).collect();
        drawn.sort_unstable();
        prop_assert_eq!(drawn, wanted);
    }

    #[test]
    fn the_same_graph_gives_the_same_picture((nodes, edges) in graphs(40)) {
        prop_assert_eq!(arrange(&vec![0; nodes], &edges), arrange(&vec![0; nodes], &edges));
    }

    /// Steps that later plans add: whatever they follow, the earlier ones stay above and below each other as they were.
    #[test]
    fn later_plans_do_not_shuffle_what_is_there((nodes, edges) in plans(40), early in 1_usize..40, rounds in 1_usize..4) {
        let early = early.min(nodes);
        let round = |node: usize| if node < early { 0 } else { 1 + ((node - early) * rounds / nodes) as u32 };
        let all: Vec<u32> = (0..nodes).map(round).collect();
        let within = |count: usize| edges.iter().copied().filter(|&(_, to)| to < count).collect::<Vec<_>>();
        for count in early..nodes {
            let before = arrange(&all[..count], &within(count));
            let after = arrange(&all[..=count], &within(count + 1));
            for one in 0..count {
                for other in 0..count {
                    let (a, b) = (before.boxes[one], before.boxes[other]);
                    if a.x == b.x && a.y < b.y {
                        prop_assert!(after.boxes[one].y < after.boxes[other].y);
                        prop_assert_eq!(after.boxes[one].x, a.x);
                    }
                }
            }
        }
    }
}

/// `width` steps after one another in `depth` columns, each reading three of the column before and one far back.
fn woven(width: usize, depth: usize) -> (Vec<u32>, Vec<(usize, usize)>) {
    let mut edges = Vec::new();
    for column in 1..depth {
        for row in 0..width {
            let node = column * width + row;
            for step in [0, 1, width / 2] {
                edges.push(((column - 1) * width + (row * 7 + step) % width, node));
            }
            edges.push((column.saturating_sub(4) * width + (row * 3) % width, node));
        }
    }
    (vec![0; width * depth], edges)
}

#[test]
fn twice_the_steps_are_little_more_than_twice_the_work() {
    let work = |depth| {
        let (rounds, edges) = woven(20, depth);
        arrange(&rounds, &edges).work
    };
    let (half, whole) = (work(25), work(50));
    assert!(whole < half * 5 / 2, "{half} for 500 steps, {whole} for 1,000");
    assert!(whole < 200 * 1_000, "{whole} for 1,000 steps");
}

#[test]
fn a_thousand_steps_that_all_read_the_first_are_laid_out() {
    let chain = (0..999).map(|node| (node, node + 1));
    let edges: Vec<_> = chain.chain((2..1_000).map(|node| (0, node))).collect();
    let layout = arrange(&[0; 1_000], &edges);
    assert_eq!((layout.boxes.len(), layout.routes.len()), (1_000, 999 + 998));
    assert!(layout.work < 400_000, "{}", layout.work);
}

#[test]
fn an_empty_graph_is_a_picture_too() {
    let layout = arrange(&[], &[]);
    assert!(layout.boxes.is_empty() && layout.width > 0.0 && layout.height > 0.0);
}
