//! The swarm: a router, workers, a last step that joins all results, and the messages between them.

use serde_json::{Value, json};

use crate::world::World;

fn bus(world: &World) -> Vec<(String, String, String, String)> {
    let shown = world.updraft(&["show", "last", "--bus", "--json"]).code(0).value();
    let text = |message: &Value, key: &str| message[key].as_str().unwrap_or_default().to_owned();
    let messages = shown["messages"].as_array().unwrap();
    assert!(messages.iter().all(|message| message["timestamp"].as_i64().unwrap() > 0));
    let all = messages.iter().map(|one| (text(one, "from"), text(one, "to"), text(one, "type"), text(one, "content")));
    all.collect()
}

fn told(from: &str, to: &str, kind: &str, content: &str) -> (String, String, String, String) {
    (from.into(), to.into(), kind.into(), content.into())
}

#[test]
fn the_answer_joins_all_results_and_the_bus_shows_who_said_what() {
    let world = World::new();
    let plan = json!({"steps": [
        {"id": "research", "agent": "researcher", "prompt": "find it", "writes": ["findings"]},
        {"id": "code", "agent": "coder", "prompt": "build it", "reads": ["findings"], "writes": ["change"]},
        {"id": "review", "agent": "reviewer", "prompt": "check it", "reads": ["change"], "writes": ["review"]},
    ]});
    let model = world.script("swarm.json", &json!({"rules": [
        {"when": {"agent": "router"}, "answer": {"json": plan}},
        {"when": {"agent": "researcher"}, "answer": {"text": "found"}},
        {"when": {"step": "code", "contains": "too slow"}, "answer": {"text": "built again"}},
        {"when": {"agent": "coder", "contains": "found"}, "answer": {"text": "built"}},
        {"when": {"agent": "reviewer", "contains": "built again"}, "answer": {"json": {"verdict": "accept", "feedback": ""}}},
        {"when": {"agent": "reviewer"}, "answer": {"json": {"verdict": "retry", "feedback": "too slow"}}},
        {"when": {"agent": "thinker", "contains": "built again"}, "answer": {"text": "all together"}},
    ]}));
    assert_eq!(world.updraft(&["run", "--model", &model, "--swarm", "build a thing"]).code(0).out, "all together\n");
    assert_eq!(
        bus(&world),
        [
            told("user", "router", "goal", "build a thing"),
            told("router", "researcher", "task", "find it"),
            told("router", "coder", "task", "build it"),
            told("router", "reviewer", "task", "check it"),
            told("router", "thinker", "task", "Join the results of all workers into the answer to the goal"),
            told("researcher", "coder", "result", "found"),
            told("researcher", "thinker", "result", "found"),
            told("coder", "reviewer", "result", "built"),
            told("coder", "thinker", "result", "built"),
            told("reviewer", "coder", "feedback", "too slow"),
            told("coder", "reviewer", "result", "built again"),
            told("coder", "thinker", "result", "built again"),
            told("thinker", "user", "result", "all together"),
        ]
    );
    let words = world.updraft(&["show", "last", "--bus"]).code(0).out;
    assert!(words.contains("reviewer → coder  feedback [code]\n    too slow\n"), "{words}");
}

#[test]
fn a_router_that_makes_no_plan_is_replaced_by_the_workers_whose_keywords_the_goal_names() {
    let world = World::new();
    let model = world.script(
        "hm.json",
        &json!({"rules": [
            {"when": {"agent": "router"}, "answer": {"text": "hm"}},
            {"when": {"agent": "researcher"}, "answer": {"text": "found"}},
            {"when": {"agent": "coder", "contains": "found"}, "answer": {"text": "fixed"}},
            {"when": {"agent": "thinker", "contains": "fixed"}, "answer": {"text": "found and fixed"}},
        ]}),
    );
    let run = ["run", "--model", &model, "--swarm", "Find out why it fails, and fix it"];
    assert_eq!(world.updraft(&run).code(0).out, "found and fixed\n");
    let agents: Vec<_> = bus(&world).into_iter().filter(|one| one.2 == "task").map(|one| one.1).collect();
    assert_eq!(agents, ["researcher", "coder", "thinker"]);
}
