//! Runs that come as NetworkX node-link data: our own, and those of other tools.

use serde_json::{Value, json};

use crate::world::World;

/// The graph of the newest run.
fn exported(world: &World) -> Value {
    world.updraft(&["export", "last", "--format", "node-link"]).code(0).value()
}

/// Imports a graph elsewhere and exports it there.
fn there_and_back(graph: &Value) -> (World, Value) {
    let other = World::new();
    let file = other.file("graph.json", &graph.to_string());
    let id = other.updraft(&["import", file.to_str().unwrap()]).code(0).out;
    assert_eq!(id.trim(), graph["graph"]["session_id"]);
    other.updraft(&["replay", "last", "--strict"]).code(0);
    let back = exported(&other);
    (other, back)
}

/// All but the times.
fn untimed(mut graph: Value) -> Value {
    for node in graph["nodes"].as_array_mut().unwrap() {
        for key in ["start_time", "end_time", "execution_time"] {
            node.as_object_mut().unwrap().remove(key);
        }
    }
    graph
}

fn steps() -> Value {
    json!([
        {"id": "count", "agent": "coder", "description": "Count", "prompt": "count {it}", "writes": ["n", "list"]},
        {"id": "think", "agent": "thinker", "prompt": "think", "reads": ["n"], "writes": ["thought"]},
        {"id": "say", "agent": "summarizer", "prompt": "say it", "reads": ["thought", "list"], "after": ["count"]},
    ])
}

fn results() -> Vec<Value> {
    vec![
        json!({"when": {"agent": "planner"}, "answer": {"json": {"steps": steps()}, "usage": {"input": 9, "output": 4}}}),
        json!({"when": {"step": "count"}, "answer": {"json": {"n": 3, "list": ["a", {"b": null}]}}}),
        json!({"when": {"step": "think"}, "answer": {"json": {"thought": {"error": "none", "deep": true}}}}),
        json!({"when": {"step": "say"}, "answer": {"text": "Three: {a, b} <tool_call>"}}),
    ]
}

#[test]
fn a_planned_run_comes_back_as_it_was() {
    let world = World::new();
    let model = world.script("s.json", &json!({"rules": results(), "price": {"input": 1.0, "output": 2.0}}));
    let answer = world.updraft(&["run", "--model", &model, "--var", "given=[1]", "count"]).code(0).out;
    let graph = exported(&world);

    let (other, back) = there_and_back(&graph);

    assert_eq!(untimed(back), untimed(graph));
    let shown = other.updraft(&["show", "last", "--json"]).code(0).value();
    assert_eq!((shown["status"].as_str(), shown["answer"].as_str()), (Some("done"), Some(answer.trim_end())));
    assert_eq!(shown["variables"]["n"], 3);
    assert_eq!(other.updraft(&["resume", "last"]).code(0).out, answer);
}

#[test]
fn a_run_that_was_planned_anew_comes_back_as_it_was() {
    let world = World::new();
    let first = json!([{"id": "a", "agent": "thinker", "prompt": "one", "writes": ["x"]},
                       {"id": "before", "agent": "thinker", "prompt": "one more"},
                       {"id": "never", "agent": "thinker", "reads": ["x"]}]);
    let second = json!([{"id": "b", "agent": "coder", "prompt": "better", "writes": ["x"], "after": ["before"]},
                        {"id": "c", "agent": "thinker", "reads": ["x"], "prompt": "go"}]);
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"agent": "planner", "contains": "failed"}, "answer": {"json": {"steps": second}}},
            {"when": {"agent": "planner"}, "answer": {"json": {"steps": first}}},
            {"when": {"step": "a"}, "answer": {"fail": "no way"}}],
            "default": {"text": "fine"}}),
    );
    world.updraft(&["run", "--model", &model, "do it"]).code(0);
    let graph = exported(&world);
    assert_eq!((&graph["graph"]["status"], &graph["nodes"][2]["status"]), (&json!("completed"), &json!("failed")));

    let (_, back) = there_and_back(&graph);

    assert_eq!(untimed(back), untimed(graph));
}

#[test]
fn a_failed_run_comes_back_with_what_was_skipped() {
    let world = World::new();
    let fails = json!({"when": {"step": "think"}, "answer": {"fail": "no more"}});
    let rules: Vec<Value> = std::iter::once(fails).chain(results()).collect();
    let model = world.script("s.json", &json!({ "rules": rules }));
    let plan = world.file("plan.json", &json!({ "steps": steps() }).to_string());
    world.updraft(&["run", "--model", &model, "--plan", plan.to_str().unwrap(), "count"]).code(1);
    let graph = exported(&world);
    assert_eq!(graph["graph"]["status"], "failed");

    let (other, back) = there_and_back(&graph);

    assert_eq!(untimed(back), untimed(graph));
    assert_eq!(other.runs()[0]["status"], "failed");
}

#[test]
fn a_cancelled_run_comes_back_cancelled() {
    let world = World::new();
    let plan = world.file("plan.json", &json!({ "steps": steps() }).to_string());
    let model = world.script("s.json", &json!({ "rules": results() }));
    let ran = world.updraft(&["run", "--model", &model, "--max-turns", "1", "--plan", plan.to_str().unwrap(), "count"]);
    ran.code(4);
    world.updraft(&["cancel", "last"]).code(0);
    let graph = exported(&world);
    assert_eq!(graph["graph"]["status"], "cancelled");

    let (_, back) = there_and_back(&graph);

    assert_eq!(untimed(back), untimed(graph));
}

/// As another tool writes it: `links`, agents by class name, results as objects, times without a zone.
fn foreign() -> Value {
    json!({
        "directed": true, "multigraph": false,
        "graph": {"session_id": "17145", "original_query": "Plot it", "created_at": "2025-05-01T10:00:00.250000",
                  "file_manifest": [{"path": "a.txt", "size": 6}], "globals_schema": {"figures_1": [1, 2]}, "status": "running"},
        "nodes": [
            {"id": "ROOT", "agent": "System", "status": "completed"},
            {"id": "T001", "agent": "RetrieverAgent", "status": "completed", "reads": [], "writes": ["figures_1"],
             "agent_prompt": "Find", "output": {"figures_1": [1, 2], "cost": 0.1}, "end_time": "2025-05-01T10:00:03", "cost": 0.25, "input_tokens": 7.5},
            {"id": "T002", "agent": "SomeoneElse", "status": "completed", "reads": ["figures_1"], "writes": ["note"], "output": "good"},
            {"id": "T003", "agent": "ThinkerAgent", "status": "pending", "reads": ["note"], "writes": ["chart"], "agent_prompt": "Plot"},
            {"id": "T004", "agent": "FormatterAgent", "status": "pending", "reads": ["chart"], "writes": []},
        ],
        "links": [{"source": "ROOT", "target": "T001"}, {"source": "T001", "target": "T002"},
                  {"source": "T002", "target": "T003"}, {"source": "T003", "target": "T004"}],
    })
}

#[test]
fn what_a_failed_step_used_survives_the_import() {
    let world = World::new();
    let mut graph = foreign();
    graph["nodes"] = json!([
        {"id": "ROOT", "agent": "System", "status": "completed"},
        {"id": "T001", "agent": "RetrieverAgent", "status": "failed", "reads": [], "writes": ["x"], "error": "no luck",
         "cost": 0.5, "input_tokens": 70, "output_tokens": 30},
    ]);
    graph["links"] = json!([{"source": "ROOT", "target": "T001"}]);
    let file = world.file("foreign.json", &graph.to_string());
    world.updraft(&["import", file.to_str().unwrap()]).code(0);
    let node = exported(&world)["nodes"][1].clone();
    assert_eq!((&node["status"], &node["error"]), (&json!("failed"), &json!("no luck")));
    assert_eq!([&node["cost"], &node["input_tokens"], &node["output_tokens"]], [&json!(0.5), &json!(70), &json!(30)]);
}

#[test]
fn edges_are_written_under_either_name_or_both() {
    let world = World::new();
    let file = world.file("foreign.json", &foreign().to_string());
    world.updraft(&["import", file.to_str().unwrap(), "--model", "builtin"]).code(0);
    let names = |edges: &[&str]| {
        let args = [&["export", "last", "--format", "node-link"], edges].concat();
        let graph = world.updraft(&args).code(0).value();
        ["edges", "links"].map(|name| graph[name].as_array().map(Vec::len))
    };
    assert_eq!(names(&[]), [Some(4), Some(4)]);
    assert_eq!(names(&["--edges", "links"]), [None, Some(4)]);
    assert_eq!(names(&["--edges", "edges"]), [Some(4), None]);
}

#[test]
fn what_another_tool_left_undone_is_gone_on_with() {
    let world = World::new();
    let file = world.file("foreign.json", &foreign().to_string());
    let model = world.script(
        "s.json",
        &json!({"rules": [{"when": {"step": "T003", "contains": "good"}, "answer": {"text": "a chart"}}], "default": {"text": "all said"}}),
    );

    world.updraft(&["import", file.to_str().unwrap(), "--model", &model]).code(0).says("updraft resume 17145");

    let run = &world.runs()[0];
    assert_eq!((run["status"].as_str(), run["created"].as_str()), (Some("paused"), Some("2025-05-01T10:00:00.25Z")));
    let graph = exported(&world);
    let stands: Vec<&str> =
        graph["nodes"].as_array().unwrap().iter().map(|node| node["status"].as_str().unwrap()).collect();
    assert_eq!(stands, ["completed", "completed", "completed", "running", "pending"]);
    assert_eq!(graph["graph"]["globals_schema"], json!({"figures_1": [1, 2], "note": "good"}));
    assert_eq!(graph["graph"]["file_manifest"], json!(["a.txt"]));
    assert_eq!((&graph["nodes"][1]["cost"], &graph["nodes"][1]["input_tokens"]), (&json!(0.25), &json!(8)));
    let (_, back) = there_and_back(&graph);
    assert_eq!(untimed(back), untimed(graph));

    assert_eq!(world.updraft(&["resume", "17145"]).code(0).out, "all said\n");
    world.updraft(&["replay", "17145", "--strict"]).code(0);
}

#[test]
fn a_name_that_is_taken_is_replaced() {
    let world = World::new();
    let file = world.file("foreign.json", &foreign().to_string());
    let file = file.to_str().unwrap();
    world.updraft(&["import", file]).code(0);
    let again = world.updraft(&["import", file]).code(0).says("`17145` already exists");
    assert_ne!(again.out.trim(), "17145");
    assert_eq!(world.updraft(&["import", file, "--id", "mine"]).code(0).out, "mine\n");
    world.updraft(&["import", file, "--id", "mine"]).code(1).says("already exists");
}

#[test]
fn a_graph_that_could_not_be_gone_on_with_is_refused() {
    let world = World::new();
    let refused = |text: &str| world.fed(&["import", "-"], text.as_bytes()).code(2);
    refused("{\"directed\": tru").says("neither a run's journal nor a graph").says("node-link");
    refused("{\"nodes\": 3}").says("no steps");
    refused(&json!({"nodes": [{"id": "a", "agent": "codr", "status": "pending"}], "edges": []}).to_string())
        .says("`coder`");
    let circle = json!({"nodes": [{"id": "a", "agent": "coder"}, {"id": "b", "agent": "coder"}],
                        "links": [{"source": "a", "target": "b"}, {"source": "b", "target": "a"}]});
    refused(&circle.to_string()).says("cycle");
    assert!(world.runs().is_empty());
}
