//! The picture of a run's graph: steps as links, from left to right.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::arrange::{Arrangement, EdgeRoute, NodeBox, arrange};
use crate::icon;
use crate::markup::{attribute, cut, escape, text};

/// Letters that fit a node: of its label, and of its smaller lines.
const LABEL_LETTERS: usize = 22;
const SMALL_LETTERS: usize = 29;
/// Where text begins, from the node's left side.
const TEXT_X: f64 = 40.0;

/// A step as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphNode {
    /// What edges and `selected` name it by; also its `data-step`.
    pub id: String,
    /// The `id` attribute of its link, if it is not empty: what a live page replaces it by.
    pub element: String,
    /// Its name: "T031 retriever".
    pub label: String,
    /// What it does, in a few words.
    pub detail: String,
    /// Its state in one word: "running". It chooses the sign and the class, and is written out.
    pub state: String,
    /// Where the link leads.
    pub link: String,
    /// Its own time and cost: "12 s, $0.01".
    pub own: String,
    /// The time and cost of everything below it, if that is more.
    pub subtree: String,
    /// Which plan brought it, the first being 0. Nodes of later plans never change the order of earlier ones.
    pub round: u32,
    /// Whether the run could not have been shorter without it.
    pub critical: bool,
}

/// A run's graph as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepGraph {
    /// What a screen reader calls it: "Graph of 6 steps".
    pub title: String,
    /// The steps, in the order in which they were planned.
    pub nodes: Vec<GraphNode>,
    /// From a step to one that waits for it. Unknown names are left out.
    pub edges: Vec<(String, String)>,
    /// The step that is looked at.
    pub selected: Option<String>,
}

/// Draws a graph.
///
/// | class | on |
/// |---|---|
/// | `graph` | the `svg`; it also has `data-graph`, `data-width` and `data-height` |
/// | `edge`, with `done`, `active`, `critical`, `selected` | the path of an edge; `data-from`, `data-to` |
/// | `node`, with `state-…`, `critical`, `selected` | the link of a step; `data-step` |
/// | `frame`, `sign`, `label`, `detail`, `meta` | the parts of a node |
pub fn draw_graph(graph: &StepGraph) -> String {
    let layout = lay_out(graph);
    let mut out = String::with_capacity(600 * graph.nodes.len() + 200 * layout.routes.len());
    let (width, height) = (layout.width, layout.height);
    let _ = write!(
        out,
        "<svg class=\"graph\" data-graph=\"\" data-width=\"{width}\" data-height=\"{height}\" role=\"group\""
    );
    let _ = write!(out, " viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\"");
    attribute(&mut out, "aria-label", &graph.title);
    out.push_str("><g class=\"edges\" aria-hidden=\"true\">");
    for route in &layout.routes {
        edge(&mut out, graph, route);
    }
    out.push_str("</g><g class=\"nodes\">");
    for (node, area) in graph.nodes.iter().zip(&layout.boxes) {
        step(&mut out, node, *area, graph.selected.as_ref() == Some(&node.id));
    }
    out.push_str("</g></svg>");
    out
}

/// Draws some nodes of a graph, each as it is in the whole picture: its `element` and its link.
///
/// This is for a page that is open: while the plan stays the same, only nodes that have changed need to be sent.
pub fn draw_nodes(graph: &StepGraph, is_wanted: impl Fn(&GraphNode) -> bool) -> Vec<(String, String)> {
    let layout = lay_out(graph);
    let wanted = graph.nodes.iter().zip(&layout.boxes).filter(|(node, _)| is_wanted(node));
    let draw = |(node, area): (&GraphNode, &NodeBox)| {
        let mut out = String::new();
        step(&mut out, node, *area, graph.selected.as_ref() == Some(&node.id));
        (node.element.clone(), out)
    };
    wanted.map(draw).collect()
}

fn lay_out(graph: &StepGraph) -> Arrangement {
    let number: BTreeMap<&str, usize> =
        graph.nodes.iter().enumerate().rev().map(|(number, node)| (node.id.as_str(), number)).collect();
    let edges: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .filter_map(|(from, to)| Some((*number.get(from.as_str())?, *number.get(to.as_str())?)))
        .collect();
    let rounds: Vec<u32> = graph.nodes.iter().map(|node| node.round).collect();
    arrange(&rounds, &edges)
}

fn edge(out: &mut String, graph: &StepGraph, route: &EdgeRoute) {
    let (from, to) = (&graph.nodes[route.from], &graph.nodes[route.to]);
    let is_selected = |node: &GraphNode| graph.selected.as_ref() == Some(&node.id);
    out.push_str("<path class=\"edge");
    let classes = [
        (" done", is_done(&from.state)),
        (" active", is_done(&from.state) && is_active(&to.state)),
        (" critical", from.critical && to.critical),
        (" selected", is_selected(from) || is_selected(to)),
    ];
    classes.iter().filter(|(_, applies)| *applies).for_each(|(class, _)| out.push_str(class));
    out.push('"');
    attribute(out, "data-from", &from.id);
    attribute(out, "data-to", &to.id);
    out.push_str(" d=\"");
    for (number, [(x1, y1), (x2, y2)]) in route.curves.iter().enumerate() {
        let bow = ((x2 - x1) / 2.0).min(160.0);
        let _ = write!(out, "{}{x1} {y1}C", if number == 0 { 'M' } else { 'L' });
        let _ = write!(out, "{} {y1} {} {y2} {x2} {y2}", x1 + bow, x2 - bow);
    }
    // The head of the arrow is part of the line: a marker would need an id, and a page may show two graphs.
    out.push_str("m-6 -4l6 4l-6 4\"/>");
}

fn is_done(state: &str) -> bool {
    matches!(state, "completed" | "done")
}

fn is_active(state: &str) -> bool {
    matches!(state, "running" | "waiting" | "asking")
}

fn step(out: &mut String, node: &GraphNode, area: NodeBox, is_selected: bool) {
    let NodeBox { x, y, width, height } = area;
    let _ = write!(out, "<a class=\"node {}", icon::state_class(&node.state));
    out.push_str(if node.critical { " critical" } else { "" });
    out.push_str(if is_selected { " selected\" aria-current=\"true\"" } else { "\"" });
    if !node.element.is_empty() {
        attribute(out, "id", &node.element);
    }
    attribute(out, "href", &node.link);
    attribute(out, "data-step", &node.id);
    // The title is the link's name. With an `aria-label`, its text would have to be part of that.
    out.push_str("><title>");
    escape(out, &name(node));
    out.push_str("</title>");
    let _ = write!(out, "<rect class=\"frame\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"10\"/>");
    // Without a `transform`: a thousand of them cost 2 ms of each frame while the picture moves.
    let _ = write!(out, "<path class=\"sign\" d=\"M{} {}{}\"/>", x + 14.0, y + 14.0, icon::sign(&node.state));
    text(out, "label", (x + TEXT_X, y + 26.0), &cut(&node.label, LABEL_LETTERS));
    text(out, "detail", (x + TEXT_X, y + 44.0), &cut(&node.detail, SMALL_LETTERS));
    text(out, "meta", (x + TEXT_X, y + 62.0), &cut(&meta(node), SMALL_LETTERS));
    out.push_str("</a>");
}

/// "T031 retriever, running".
fn name(node: &GraphNode) -> String {
    let critical = if node.critical { ", on the critical path" } else { "" };
    let mut name = format!("{}, {}{critical}", node.label, node.state);
    if !node.subtree.is_empty() && node.subtree != node.own {
        let _ = write!(name, ", with all below it {}", node.subtree);
    }
    name
}

fn meta(node: &GraphNode) -> String {
    let parts = [node.state.as_str(), node.own.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
