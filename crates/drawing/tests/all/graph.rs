//! Pictures of graphs: what they say, and that no text breaks out of them.

use proptest::prelude::*;
use updraft_drawing::{GraphNode, StepGraph, draw_graph, draw_nodes, icon};

fn node(id: &str, state: &str) -> GraphNode {
    GraphNode {
        id: id.to_owned(),
        label: format!("{id} retriever"),
        detail: "Find the passages".to_owned(),
        state: state.to_owned(),
        link: format!("/runs/7/steps/{id}"),
        own: "12 s · $0.01".to_owned(),
        ..GraphNode::default()
    }
}

fn pair() -> StepGraph {
    StepGraph {
        title: "Graph of 2 steps".to_owned(),
        nodes: vec![node("T030", "completed"), GraphNode { critical: true, ..node("T031", "running") }],
        edges: vec![("T030".to_owned(), "T031".to_owned()), ("gone".to_owned(), "T031".to_owned())],
        selected: Some("T031".to_owned()),
    }
}

#[test]
fn a_step_is_a_link_with_its_name_and_state() {
    let svg = draw_graph(&pair());
    for part in [
        r#"<svg class="graph" data-graph="" data-width="584" data-height="124" role="group" viewBox="0 0 584 124" width="584" height="124" aria-label="Graph of 2 steps">"#,
        r#"<a class="node state-completed" href="/runs/7/steps/T030" data-step="T030"><title>T030 retriever, completed</title>"#,
        r#"<a class="node state-running critical selected" aria-current="true" href="/runs/7/steps/T031""#,
        "<title>T031 retriever, running, on the critical path</title>",
        r#"<path class="edge done active selected" data-from="T030" data-to="T031""#,
        r#"<text class="meta" x="64" y="86">completed · 12 s · $0.01</text>"#,
    ] {
        assert!(svg.contains(part), "no {part} in\n{svg}");
    }
    assert_eq!(svg.matches("<path class=\"edge").count(), 1);
}

#[test]
fn the_time_of_what_is_below_is_told_where_it_is_more() {
    let mut graph = pair();
    graph.nodes[0].subtree = "40 s · $0.05".to_owned();
    assert!(draw_graph(&graph).contains("<title>T030 retriever, completed, with all below it 40 s · $0.05</title>"));
    graph.nodes[0].subtree = graph.nodes[0].own.clone();
    assert!(!draw_graph(&graph).contains("below"));
}

#[test]
fn a_node_alone_is_as_it_is_in_the_whole_picture() {
    let mut graph = pair();
    graph.nodes[1].element = "g-T031".to_owned();
    let drawn = draw_nodes(&graph, |node| node.id == "T031");
    assert_eq!(drawn.len(), 1);
    let (element, node) = &drawn[0];
    assert!(element == "g-T031" && node.starts_with("<a ") && node.contains(r#" id="g-T031""#), "{node}");
    assert!(draw_graph(&graph).contains(node));
}

#[test]
fn no_state_is_told_by_colour_alone() {
    let (one, other) = (icon("failed"), icon("completed"));
    assert!(one.contains("state-failed") && one.contains("aria-hidden=\"true\""));
    assert_ne!(one.replace("failed", ""), other.replace("completed", ""));
}

/// Reads the picture as XML as far as is needed: tags nest, attributes are quoted, and only ours occur.
fn check(svg: &str) -> Result<usize, String> {
    let (mut open, mut rest, mut count) = (Vec::new(), svg, 0);
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        if text.contains('>') {
            return Err(format!("`>` in text {text:?}"));
        }
        let end = start + rest[start..].find('>').ok_or("a tag is not closed")?;
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("`</{name}>` closes another tag"));
            }
            continue;
        }
        count += 1;
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        if !["svg", "g", "a", "path", "rect", "text", "title"].contains(&name) {
            return Err(format!("a tag `{name}`"));
        }
        if tag.matches('"').count() % 2 == 1 || tag.split('"').step_by(2).any(|part| part.contains(['\'', '&'])) {
            return Err(format!("quotes in {tag:?}"));
        }
        for attribute in tag.split('"').step_by(2).filter_map(|part| part.trim().strip_suffix('=')) {
            let attribute = attribute.trim_start_matches(name).trim();
            if attribute == "style" || attribute.starts_with("on") {
                return Err(format!("an attribute `{attribute}`"));
            }
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(count) } else { Err(format!("{open:?} are not closed")) }
}

const HOSTILE: [&str; 8] = [
    "\"><script>alert(1)</script>",
    "' onload='alert(1)",
    "</text></svg><img src=x onerror=alert(1)>",
    "<![CDATA[",
    "-->",
    "&lt;b&gt;",
    "\u{202e}evil\u{0}\u{b}\u{ffff}",
    "javascript:alert(1)",
];

#[test]
fn hostile_text_stays_text() {
    for text in HOSTILE {
        let mut graph = pair();
        let expected = check(&draw_graph(&graph)).unwrap();
        graph.title = text.to_owned();
        graph.nodes[0] = GraphNode {
            label: text.to_owned(),
            detail: text.to_owned(),
            state: text.to_owned(),
            own: text.to_owned(),
            subtree: text.to_owned(),
            link: format!("/{text}"),
            ..graph.nodes[0].clone()
        };
        assert_eq!(check(&draw_graph(&graph)), Ok(expected), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_text_stays_text(text in "\\PC{0,40}", state in "\\PC{0,12}") {
        let mut graph = pair();
        let expected = check(&draw_graph(&graph)).unwrap();
        graph.nodes[0].label = format!("x{text}");
        graph.nodes[0].detail = format!("x{text}");
        graph.nodes[0].state = format!("x{state}");
        graph.nodes[1].id = text;
        graph.edges = vec![(graph.nodes[0].id.clone(), graph.nodes[1].id.clone())];
        prop_assume!(graph.nodes[0].id != graph.nodes[1].id);
        prop_assert_eq!(check(&draw_graph(&graph)), Ok(expected));
    }
}
