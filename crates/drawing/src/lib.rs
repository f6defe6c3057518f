//! Draws a run: its graph and its timeline, laid out here and given as accessible SVG.
//!
//! ```
//! use updraft_drawing::{GraphNode, StepGraph, draw_graph};
//!
//! let node = |id: &str, state: &str| GraphNode {
//!     id: id.to_owned(),
//!     label: format!("{id} retriever"),
//!     state: state.to_owned(),
//!     link: format!("/runs/7/steps/{id}"),
//!     ..GraphNode::default()
//! };
//! let graph = StepGraph {
//!     title: "Graph of 2 steps".to_owned(),
//!     nodes: vec![node("T1", "done"), node("T2", "running")],
//!     edges: vec![("T1".to_owned(), "T2".to_owned())],
//!     selected: Some("T2".to_owned()),
//! };
//! let svg = draw_graph(&graph);
//! assert!(svg.contains("<title>T2 retriever, running</title>"));
//! ```
//!
//! Everything is a pure function of plain data: no clock, no files, no random numbers, nothing of a run's own types. All
//! text is escaped. No picture has a `style` attribute or a script, so that it can stand in a page whose content security
//! policy forbids both; colours and strokes come from the page's style sheet by class.
//!
//! | to read | file |
//! |---|---|
//! | which column each node is in, and the bends of long edges | `layers.rs` |
//! | the order within columns, with few crossings | `order.rs` |
//! | the height of each node, with straight edges | `heights.rs` |
//! | all of it together | `arrange.rs` |
//! | the picture of a graph | `graph.rs` |
//! | the picture of a timeline, and its axis | `timeline.rs`, `axis.rs` |
//! | the sign of a state | `icon.rs` |
//! | text and attributes of SVG | `markup.rs` |

#![deny(clippy::wildcard_enum_match_arm)]

mod arrange;
mod axis;
mod graph;
mod heights;
mod icon;
mod layers;
mod markup;
mod order;
mod timeline;

pub use arrange::{Arrangement, EdgeRoute, NodeBox, arrange};
pub use graph::{GraphNode, StepGraph, draw_graph, draw_nodes};
pub use icon::{icon, state_class};
pub use timeline::{SpanKind, Timeline, TimelineRow, TimelineSpan, draw_timeline, duration};
