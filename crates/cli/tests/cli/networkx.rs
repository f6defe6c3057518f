//! Our node-link data and the real NetworkX: it loads what we export, and we take what it writes.
//!
//! `UPDRAFT_TEST_PYTHON` names a Python that has networkx; `./test.sh` sets it. Without it the test says so and ends.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test starts processes, reads its environment, and stops when something is broken"
)]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Loads a graph, says what it found as JSON, and writes the graph back as NetworkX does.
const LOOK: &str = r#"
import json, sys, networkx as nx
source, target = sys.argv[1:]
read = lambda name: sorted(nx.node_link_graph(json.load(open(source)), edges=name).edges)
graph = nx.node_link_graph(json.load(open(source)))
assert sorted(graph.edges) == read("edges") == read("links")
json.dump(nx.node_link_data(graph, edges="edges"), open(target, "w"))
json.dump({
    "is_dag": nx.is_directed_acyclic_graph(graph),
    "nodes": list(graph.nodes), "edges": sorted(graph.edges),
    "graph": sorted(graph.graph),
    "attributes": {node: sorted(graph.nodes[node]) for node in graph},
    "from_root": sorted(nx.descendants(graph, "ROOT")),
    "order": list(nx.topological_sort(graph)),
    "outputs": dict(graph.nodes(data="output")),
}, sys.stdout)
"#;

const GRAPH: [&str; 6] = ["created_at", "file_manifest", "globals_schema", "original_query", "session_id", "status"];
const NODE: [&str; 14] = [
    "agent",
    "agent_prompt",
    "cost",
    "description",
    "end_time",
    "error",
    "execution_time",
    "input_tokens",
    "output",
    "output_tokens",
    "reads",
    "start_time",
    "status",
    "writes",
];

fn updraft(folder: &Path, home: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_updraft"));
    let ran = command.args(args).current_dir(folder).env("UPDRAFT_HOME", folder.join(home)).env("NO_COLOR", "1");
    let ran = ran.output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    ran
}

/// All but the moments, which an import knows only in part.
fn untimed(mut graph: Value) -> Value {
    for node in graph["nodes"].as_array_mut().unwrap() {
        node.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_time"));
    }
    graph
}

#[test]
fn networkx_loads_what_we_export_and_we_take_what_it_writes() {
    let Some(python) = std::env::var("UPDRAFT_TEST_PYTHON").ok().filter(|python| !python.is_empty()) else {
        // Past the test harness, which keeps what passing tests print to itself.
        let why = "UPDRAFT_TEST_PYTHON names no Python with networkx; the export is not held against it";
        let _ = writeln!(std::io::stderr(), "!!\n!! SKIP: {why}\n!!");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let ws = folder.path();
    std::fs::write(ws.join("in.txt"), "3 4\n").unwrap();
    let steps = json!([
        {"id": "find", "agent": "retriever", "description": "Find them", "prompt": "Find \"it\"", "writes": ["figures"]},
        {"id": "sum", "agent": "coder", "prompt": "Add", "reads": ["figures"], "writes": ["sum", "how"]},
        {"id": "max", "agent": "thinker", "prompt": "Largest", "reads": ["figures"], "writes": ["largest"]},
        {"id": "fail", "agent": "thinker", "prompt": "Fail", "writes": ["nothing"]},
        {"id": "tell", "agent": "formatter", "prompt": "Tell", "reads": ["sum", "largest"], "after": ["find"]},
    ]);
    let script = json!({
        "rules": [
            {"when": {"step": "find"}, "answer": {"json": {"figures": [3, 4.5, "ö"]}, "usage": {"input": 10, "output": 5}}},
            {"when": {"step": "sum"}, "answer": {"json": {"sum": 7, "how": {"by": null}}}},
            {"when": {"step": "max"}, "answer": {"text": "4"}},
            {"when": {"step": "fail"}, "answer": {"fail": "no"}},
        ],
        "default": {"text": "7 and 4 — that is it."}, "price": {"input": 1.0, "output": 2.0},
    });
    std::fs::write(ws.join("script.json"), script.to_string()).unwrap();
    std::fs::write(ws.join("plan.json"), json!({ "steps": steps }).to_string()).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_updraft"));
    run.args(["run", "Add them", "--model", "scripted/script.json", "--plan", "plan.json", "--file", "in.txt"]);
    let ran = run.current_dir(ws).env("UPDRAFT_HOME", ws.join("home")).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    let ours = updraft(ws, "home", &["export", "last", "--format", "node-link"]).stdout;
    std::fs::write(ws.join("ours.json"), &ours).unwrap();
    let ours: Value = serde_json::from_slice(&ours).unwrap();

    let looked = Command::new(python).args(["-c", LOOK, "ours.json", "theirs.json"]).current_dir(ws).output().unwrap();
    assert!(looked.status.success(), "{}", String::from_utf8_lossy(&looked.stderr));
    let found: Value = serde_json::from_slice(&looked.stdout).unwrap();

    assert_eq!(found["is_dag"], true);
    assert_eq!(found["nodes"], json!(["ROOT", "find", "sum", "max", "fail", "tell"]));
    let edges = [
        ["ROOT", "fail"],
        ["ROOT", "find"],
        ["find", "max"],
        ["find", "sum"],
        ["find", "tell"],
        ["max", "tell"],
        ["sum", "tell"],
    ];
    assert_eq!(found["edges"], json!(edges));
    assert_eq!(found["from_root"], json!(["fail", "find", "max", "sum", "tell"]));
    assert_eq!((&found["order"][0], &found["order"].as_array().unwrap().len()), (&json!("ROOT"), &6));
    assert_eq!(found["graph"], json!(GRAPH));
    for (node, attributes) in found["attributes"].as_object().unwrap() {
        assert_eq!(*attributes, json!(NODE), "{node}");
    }
    assert_eq!(found["outputs"]["tell"], json!({"final_answer": "7 and 4 — that is it."}));
    assert_eq!(found["outputs"]["find"], json!({"figures": [3, 4.5, "ö"]}));
    assert_eq!(found["outputs"]["sum"], json!({"sum": 7, "how": {"by": null}}));

    // What it writes back is the run we exported.
    let id = updraft(ws, "other", &["import", "theirs.json"]).stdout;
    assert_eq!(String::from_utf8_lossy(&id).trim(), ours["graph"]["session_id"].as_str().unwrap());
    let back = updraft(ws, "other", &["export", "last", "--format", "node-link"]).stdout;
    assert_eq!(untimed(serde_json::from_slice(&back).unwrap()), untimed(ours));
    // And a plan that can be carried out anew.
    let planned = updraft(ws, "other", &["run", "Add them", "--plan", "theirs.json", "--plan-only", "--json"]).stdout;
    let planned: Value = serde_json::from_slice(&planned).unwrap();
    let ids: Vec<&str> = planned["steps"].as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["find", "sum", "max", "fail", "tell"]);
    let mut rules = script.clone();
    rules["rules"][3]["answer"] = json!({"text": "well now"});
    std::fs::write(ws.join("script.json"), rules.to_string()).unwrap();
    let again = ["run", "Add them", "--model", "scripted/script.json", "--plan", "theirs.json"];
    let again = updraft(ws, "other", &again).stdout;
    assert!(String::from_utf8_lossy(&again).contains("7 and 4 — that is it."), "{}", String::from_utf8_lossy(&again));
}
