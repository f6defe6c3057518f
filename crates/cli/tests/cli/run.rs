//! Running goals: the answer, the progress, the JSON lines, plans, limits.

use serde_json::{Value, json};

use crate::world::{World, steady};

fn reads() -> Value {
    json!([{"calls": [{"name": "read_file", "args": {"path": "a.txt"}}], "usage": {"input": 100, "output": 10}},
           {"text": "It says hello.", "usage": {"input": 120, "output": 5}}])
}

#[test]
fn the_answer_is_alone_on_standard_output_and_progress_on_standard_error() {
    let world = World::new();
    let model = world.script("s.json", &reads());

    let ran = world.updraft(&["run", "--model", &model, "--agent", "coder", "what is in a.txt?"]).code(0);

    assert_eq!(ran.out, "It says hello.\n");
    insta::assert_snapshot!(steady(&ran.err, &world, &world.last()), @r"
    model: scripted/DIR/s.json
    run RUN
    planned: 1 step
    → coder (coder)
      coder: read a.txt
    ✓ coder (coder) 2 turns, TIME
    done in TIME · 2 turns · 1 tool call · 235 tokens · $0.00
    see more with `updraft show RUN`
    ");
}

#[test]
fn quiet_says_nothing_but_the_answer() {
    let world = World::new();
    let model = world.script("s.json", &reads());
    let ran = world.updraft(&["run", "-q", "--model", &model, "--agent", "coder", "what is in a.txt?"]).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("It says hello.\n", ""));
}

#[test]
fn json_lines_tell_everything_with_schema_run_seq_and_type() {
    let world = World::new();
    let model = world.script("s.json", &reads());

    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "coder", "what is in a.txt?"]).code(0);

    let lines = ran.json();
    let id = world.last();
    assert!(lines.iter().all(|line| line["schema"] == 1 && line["run"] == id.as_str() && line["seq"].is_u64()));
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    let expected = [
        "run.started",
        "run.planned",
        "step.started",
        "item.updated",
        "turn.completed",
        "item.started",
        "item.completed",
        "item.updated",
        "item.completed",
        "turn.completed",
        "step.completed",
        "run.finished",
    ];
    assert_eq!(types, expected);
    let last = lines.last().unwrap();
    assert_eq!((last["answer"].as_str(), last["status"].as_str()), (Some("It says hello."), Some("done")));
    let figures = &last["statistics"];
    assert_eq!((figures["turns"].as_u64(), figures["tool_calls"].as_u64()), (Some(2), Some(1)));
    assert_eq!((figures["input_tokens"].as_u64(), figures["output_tokens"].as_u64()), (Some(220), Some(15)));
    assert!(ran.out.starts_with("{\"schema\":1,\"run\":\""), "what every line carries comes first");
}

#[test]
fn a_planned_goal_runs_its_graph_and_shows_it() {
    let world = World::new();
    let steps = json!([
        {"id": "find", "agent": "retriever", "prompt": "find", "reads": [], "writes": ["facts"]},
        {"id": "tell", "agent": "summarizer", "prompt": "tell", "reads": ["facts"], "writes": ["answer"]},
    ]);
    let model = world.script(
        "s.json",
        &json!({"rules": [
            {"when": {"agent": "planner"}, "answer": {"json": {"steps": steps}}},
            {"when": {"step": "find"}, "answer": {"text": "three facts"}},
            {"when": {"step": "tell"}, "answer": {"text": "the story"}},
        ]}),
    );

    let ran = world.updraft(&["run", "--model", &model, "tell me"]).code(0);

    assert_eq!(ran.out, "the story\n");
    let shown = world.updraft(&["show", "last"]).code(0).out;
    assert!(shown.contains("✓ find") && shown.contains("✓   tell"), "{shown}");
    let shown = world.updraft(&["show", "last", "--json"]).code(0).value();
    assert_eq!(shown["steps"].as_array().unwrap().len(), 3);
    assert_eq!(shown["variables"]["facts"], "three facts");
}

#[test]
fn every_fault_of_a_plan_is_listed() {
    let world = World::new();
    let plan = world.file(
        "plan.json",
        &json!({"steps": [
            {"id": "a", "agent": "nobody", "prompt": "x", "after": ["b"]},
            {"id": "b", "agent": "thinker", "prompt": "x", "reads": ["missing"], "after": ["a", "c"]},
        ]})
        .to_string(),
    );

    let ran = world.updraft(&["run", "--model", "builtin", "--plan", plan.to_str().unwrap(), "go"]).code(2);

    for fault in ["`nobody`", "reads `missing`", "waits for `c`", "in a cycle"] {
        assert!(ran.err.contains(fault), "{fault} in\n{}", ran.err);
    }
    assert!(world.runs().is_empty(), "nothing was started");
}

#[test]
fn plan_only_prints_the_plan_and_begins_none_of_it() {
    let world = World::new();
    let model = world.script("s.json", &json!({"rules": [
        {"when": {"agent": "planner"}, "answer": {"json": {"steps": [{"id": "only", "agent": "thinker", "prompt": "think", "writes": ["thought"]}]}}},
        {"when": {"step": "only"}, "answer": {"text": "thought of it"}},
    ]}));

    let ran = world
        .updraft(&["run", "--plan-only", "--json", "--model", &model, "think"])
        .code(0)
        .says("no step has started");

    assert_eq!(ran.value()["steps"][0]["id"], "only");
    let events = world.updraft(&["events", "last", "--json"]).json();
    assert!(events.iter().all(|event| event["type"] != "begun" || !event["event"].to_string().contains("only/")));
    assert_eq!(world.updraft(&["resume", "last"]).code(0).out, "thought of it\n");
}

#[test]
fn a_given_plan_is_checked_and_printed_without_a_model() {
    let world = World::new();
    let plan = world.file(
        "plan.json",
        &json!({"nodes": [{"id": "ROOT"}, {"id": "T1", "agent": "ThinkerAgent", "agent_prompt": "think"}],
                                               "links": [{"source": "ROOT", "target": "T1"}]})
        .to_string(),
    );
    let ran = world.updraft(&["run", "--plan-only", "--json", "--plan", plan.to_str().unwrap(), "go"]).code(0);
    assert_eq!(ran.value()["steps"], json!([{"id": "T1", "agent": "thinker", "prompt": "think"}]));
}

#[test]
fn a_used_up_limit_prints_what_there_is_and_goes_on_with_more() {
    let world = World::new();
    let steps = json!([{"id": "one", "agent": "thinker", "prompt": "x", "writes": ["a"]}, {"id": "two", "agent": "thinker", "prompt": "x", "reads": ["a"], "writes": ["b"]}]);
    let plan = world.file("plan.json", &json!({"steps": steps}).to_string());
    let model = world.script("s.json", &json!({"rules": [{"when": {"step": "one"}, "answer": {"text": "half of it"}}], "default": {"text": "all of it"}}));

    let ran =
        world.updraft(&["run", "--model", &model, "--plan", plan.to_str().unwrap(), "--max-turns", "1", "go"]).code(4);
    assert_eq!(ran.out, "half of it\n");
    assert!(ran.err.contains("limit reached: turns (1)") && ran.err.contains("--max-turns"), "{}", ran.err);

    world.updraft(&["resume", "last"]).code(4).says("limit reached");
    assert_eq!(world.updraft(&["resume", "last", "--max-turns", "5"]).code(0).out, "all of it\n");
}

#[test]
fn a_budget_in_money_is_kept_before_it_is_spent() {
    let world = World::new();
    let model =
        world.script("s.json", &json!({"default": {"text": "dear"}, "price": {"input": 1000.0, "output": 1000.0}}));
    let ran = world.updraft(&["run", "--model", &model, "--agent", "thinker", "--budget", "0.01", "think"]).code(4);
    assert!(ran.err.contains("limit reached: cost ($0.01)") && ran.err.contains("$0.00"), "{}", ran.err);
}

#[test]
fn a_failed_run_says_why_and_where_to_look() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"fail": "the line is dead"}}));
    world
        .updraft(&["run", "--model", &model, "--agent", "thinker", "think"])
        .code(1)
        .says("the line is dead")
        .says("updraft show");
}

#[test]
fn what_stays_in_the_workspace_needs_no_approval_and_read_only_changes_nothing() {
    let world = World::new();
    let model = world.script(
        "s.json",
        &json!([
            {"calls": [{"name": "write_file", "args": {"path": "new.txt", "content": "x"}}]}, {"text": "tried"}
        ]),
    );

    let ran = world.updraft(&["run", "--read-only", "--model", &model, "--agent", "coder", "write"]).code(0);
    assert!(!world.ws().join("new.txt").exists());
    assert!(ran.err.contains("this run is read-only"), "{}", ran.err);

    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "coder", "write"]).code(0);
    assert!(world.ws().join("new.txt").exists(), "inside the workspace nothing has to be asked");
    let changed = ran.json().into_iter().find(|line| line["item"]["kind"] == "file_change").unwrap();
    assert_eq!(changed["item"]["path"], "new.txt");
    assert_eq!(
        world.updraft(&["events", "last", "--json"]).json()[0]["event"]["started"]["settings"]["approvals"],
        "ask"
    );
}

#[test]
fn variables_and_files_are_handed_over() {
    let world = World::new();
    let plan = world.file(
        "plan.json",
        &json!({"steps": [{"id": "one", "agent": "thinker", "prompt": "x", "reads": ["n", "who"], "writes": ["a"]}]})
            .to_string(),
    );
    let model = world.script("s.json", &json!({"default": {"text": "done"}}));
    world
        .updraft(&[
            "run",
            "--model",
            &model,
            "--plan",
            plan.to_str().unwrap(),
            "--var",
            "n=3",
            "--var",
            "who=Bob",
            "--file",
            "a.txt",
            "go",
        ])
        .code(0);
    let started = &world.updraft(&["events", "last", "--json"]).json()[0]["event"]["started"]["goal"];
    assert_eq!(started["variables"], json!({"n": 3, "who": "Bob"}));
    assert_eq!(started["files"], json!(["a.txt"]));
}

#[test]
fn a_detached_run_gives_its_id_at_once_and_ends_by_itself() {
    let world = World::new();
    let model = world.script("s.json", &json!({"default": {"text": "slowly", "delay_ms": 300}}));

    let ran = world.updraft(&["run", "--detach", "--model", &model, "--agent", "thinker", "think"]).code(0);

    let id = ran.out.trim();
    assert!(world.runs().iter().any(|run| run["run"] == id), "it is in the journal when the id is printed");
    let followed = world.updraft(&["resume", id]).code(0);
    assert_eq!(followed.out, "slowly\n");
    let log = std::fs::read_to_string(world.home().join("runs").join(format!("{id}.log")));
    World::until("its log holds the answer", || {
        std::fs::read_to_string(world.home().join("runs").join(format!("{id}.log")))
            .is_ok_and(|log| log.contains("slowly"))
    });
    assert!(log.is_ok());
}

#[test]
fn a_detached_run_that_cannot_begin_says_so_at_once() {
    let world = World::new();
    world
        .updraft(&["run", "--detach", "--model", "scripted/nowhere.json", "--agent", "thinker", "think"])
        .code(1)
        .says("nowhere.json");
    assert!(world.runs().is_empty());
}

#[test]
fn the_model_that_was_taken_is_named_in_one_line() {
    let world = World::new();
    let ran = world.updraft(&["run", "--model", "builtin", "what is in a.txt?"]).code(0);
    assert_eq!(ran.err.lines().next(), Some("model: builtin"));
}

#[test]
fn a_run_is_replayed_byte_for_byte() {
    let world = World::new();
    let model = world.script("s.json", &reads());
    world.updraft(&["run", "--model", &model, "--agent", "coder", "what is in a.txt?"]).code(0);
    let ran = world.updraft(&["replay", "last", "--strict", "--json"]).code(0);
    let found = ran.value();
    assert_eq!(
        (found["same"].as_bool(), found["events"].as_u64(), found["prompts"].as_u64()),
        (Some(true), Some(12), Some(2))
    );
}

#[test]
fn a_fork_goes_its_own_way_from_an_event_on() {
    let world = World::new();
    let model = world.script("s.json", &reads());
    let other = world.script("t.json", &json!([{"text": "unused"}, {"text": "It says something else."}]));
    world.updraft(&["run", "--model", &model, "--agent", "coder", "what is in a.txt?"]).code(0);
    let from = world.last();

    let ran = world.updraft(&["fork", &from, "--at", "7", "--model", &other]).code(0);

    assert_eq!(ran.out, "It says something else.\n");
    let to = world.last();
    assert_ne!(from, to);
    assert_eq!(world.updraft(&["show", &to, "--json"]).value()["parent"], from.as_str());
    assert!(world.updraft(&["diff", &from, &to]).code(0).out.contains("they differ from event"));
    world.updraft(&["replay", &to]).code(0);
    world.updraft(&["fork", &from, "--at", "99"]).code(2).says("has 12 events");
    let stayed = world.updraft(&["fork", &from, "--at", "7", "--stay"]).code(0);
    assert_eq!(world.updraft(&["resume", stayed.out.trim()]).code(0).out, "It says hello.\n");
}
