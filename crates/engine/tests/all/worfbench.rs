//! Task graphs of others: WorFBench's gold graphs are read, pass the check, and run on a scripted model.
//!
//! The folder is not ours: `UPDRAFT_TEST_WORFBENCH` names `gold_traj` of a clone of github.com/zjunlp/WorfBench. A small
//! graph of our own in the same form is always tried.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the environment says where the graphs are, and a graph that cannot be read stops the test"
)]

use std::path::Path;

use serde_json::{Value, json};
use updraft_run::{Goal, Graph, GraphContext, RunMode};

use crate::support::{World, says, settings, start};

/// A graph as its text says it: tasks numbered from 1, and edges such as `(START,1) (1,2) (2,END)` anywhere in it.
fn plan_in(text: &str) -> Value {
    let mut nodes: Vec<Value> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        let number = (nodes.len() + 1).to_string();
        let task = line.strip_prefix(&number).and_then(|rest| rest.strip_prefix([':', '.']));
        if let Some(task) = task.map(str::trim) {
            nodes.push(json!({ "id": number, "agent": "thinker", "description": task, "prompt": task }));
        }
    }
    let is_node = |name: &str| name.parse::<usize>().is_ok_and(|n| (1..=nodes.len()).contains(&n));
    let pairs = text.split('(').skip(1).filter_map(|part| part.split_once(')')?.0.split_once(','));
    let inner = pairs.map(|(from, to)| (from.trim(), to.trim())).filter(|(from, to)| is_node(from) && is_node(to));
    let edges: Vec<Value> = inner.map(|(from, to)| json!({ "source": from, "target": to })).collect();
    json!({ "nodes": nodes, "edges": edges })
}

async fn run_all(graphs: &[(String, String)]) -> (usize, usize) {
    let world = World::quick();
    let engine = world.engine(|prompt| says(format!("done: {}", prompt.brief.step)));
    let around = GraphContext { agents: vec!["thinker"], max_steps: 1_000, ..GraphContext::default() };
    let (mut steps, mut branches) = (0, 0);
    for (n, (name, text)) in graphs.iter().enumerate() {
        let plan =
            Graph::checked(&plan_in(text), &around).unwrap_or_else(|faults| panic!("{name}: {faults:?}\n{text}"));
        let count = plan.steps.len();
        let starts = plan.steps.iter().filter(|step| step.after.is_empty()).count();
        steps += count;
        branches += usize::from(starts > 1 || plan.steps.iter().any(|step| step.after.len() > 1));
        let goal = Goal { text: name.clone(), mode: RunMode::Given, ..Goal::default() };
        let handle = start(&engine, &format!("w{n}"), goal, settings(&world.workspace()), Some(plan)).await;
        let rested = handle.drive().await.unwrap();
        assert_eq!(rested.run.status_word(), "done", "{name}");
        assert_eq!(rested.run.ledger().turns, count as u64, "{name}: every step is asked once");
    }
    (steps, branches)
}

#[tokio::test]
async fn a_graph_in_their_form_runs() {
    let text = "Node:\n1: Look up the first word.\n2: Look up the second word.\n3: Compare both.\n\
                Graph:\nEdge: (START,1) (START,2) (1,3) (2,3) (3,END)";
    assert_eq!(run_all(&[("ours".into(), text.into())]).await, (3, 1));
}

#[tokio::test]
#[ignore = "needs the graphs of WorFBench; takes a minute"]
async fn all_gold_graphs_of_worfbench_run() {
    let Ok(folder) = std::env::var("UPDRAFT_TEST_WORFBENCH") else {
        println!("!! SKIP: UPDRAFT_TEST_WORFBENCH names no folder");
        return;
    };
    let mut graphs = Vec::new();
    let mut sources: Vec<_> =
        std::fs::read_dir(Path::new(&folder)).unwrap().flatten().map(|entry| entry.path()).collect();
    sources.sort();
    for source in sources {
        let text = std::fs::read_to_string(source.join("graph_eval.json")).unwrap();
        for case in serde_json::from_str::<Vec<Value>>(&text).unwrap() {
            let gold =
                case["conversations"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
            graphs.push((case["id"].to_string(), gold));
        }
    }
    assert_eq!(graphs.len(), 2_146);
    let (steps, branches) = run_all(&graphs).await;
    println!("{} graphs, {steps} steps, {branches} with branches", graphs.len());
}
