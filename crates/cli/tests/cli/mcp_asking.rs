//! Servers that ask while a run calls them: a person, a model, or for patience; and runs that are killed meanwhile.

use serde_json::{Value, json};

use crate::world::{Background, World};

/// A world with the server that asks, in one of its eras, and with these settings for it.
fn world(era: &str, more: &Value) -> World {
    let world = World::new();
    world.file("asking.py", include_str!("asking.py"));
    let mut server = json!({"command": "python3", "args": ["asking.py", era], "startSeconds": 120});
    for (name, value) in more.as_object().into_iter().flatten() {
        server[name] = value.clone();
    }
    world.config("mcp.json", &json!({"mcpServers": {"shop": server}}).to_string());
    world.updraft(&["trust", "--yes"]).code(0);
    world.updraft(&["mcp", "check"]).code(0);
    world.updraft(&["mcp", "trust", "shop", "--yes"]).code(0);
    world
}

/// Begins a run whose model calls one tool of the server. Whatever becomes of it, the model answers.
fn begin(world: &World, tool: &str) -> Background {
    let call = json!([{"calls": [{"name": format!("mcp_shop_{tool}"), "args": {}}]}, {"text": "Done."}]);
    let model = world.script("s.json", &call);
    world.begin(&["run", "--json", "--yes", "--model", &model, "--agent", "coder", "use it"])
}

/// What a run waits for.
fn waits(world: &World, run: &str) -> Value {
    let shown: Value = serde_json::from_str(&world.updraft(&["show", "--json", run]).code(0).out).unwrap();
    shown["waiting_for"].clone()
}

/// Everything that happened in a run, as text.
fn events(world: &World, run: &str) -> String {
    world.updraft(&["events", run]).code(0).out
}

fn done(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.ws().join("done.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The calls that the server heard of, with the keys they came with.
fn keys(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.ws().join("keys.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What the call gave, once the run is over.
fn result(world: &World, run: &str) -> String {
    World::until("the run is done", || world.runs().iter().any(|one| one["run"] == run && one["status"] == "done"));
    events(world, run)
}

#[test]
fn a_servers_form_is_a_question_of_the_run_and_only_what_fits_answers_it() {
    for era in ["old", "new"] {
        let world = world(era, &json!({}));
        let running = begin(&world, "order");
        let run = world.until_status("waiting");
        let asked = waits(&world, &run);
        assert_eq!((asked[0]["kind"].as_str(), asked[0]["from"].as_str()), (Some("question"), Some("MCP server shop")));
        let words = asked[0]["text"].as_str().unwrap();
        assert!(words.starts_with("MCP server shop asks: Which size?") && words.contains("no passwords"), "{words}");
        world.updraft(&["answer", &run, r#"{"size": "huge"}"#]).code(2).says("`size` wants one of small, large");
        world.updraft(&["answer", &run, "large"]).code(2).says("expected a JSON object");
        world.updraft(&["answer", &run, r#"{"size": "large"}"#]).code(0);
        running.wait().code(0);
        let events = result(&world, &run);
        assert!(events.contains(r#""content": {"count": 1, "size": "large"}"#), "{events}");
        assert!(std::fs::read_to_string(world.ws().join("done.txt")).unwrap().ends_with("order\n"), "{era}");
        world.updraft(&["replay", &run]).code(0);
    }
}

#[test]
fn a_person_declines_puts_away_or_visits() {
    for (era, tool, args, told) in [
        ("old", "order", ["--decline"], "decline"),
        ("new", "order", ["--dismiss"], "cancel"),
        ("old", "visit", ["yes"], "accept"),
        ("new", "visit", ["yes"], "accept"),
    ] {
        let world = world(era, &json!({}));
        let running = begin(&world, tool);
        let run = world.until_status("waiting");
        if tool == "visit" {
            assert_eq!(waits(&world, &run)[0]["visit"], "https://shop.example/pay");
        }
        world.updraft(&[&["answer", &run][..], &args[..]].concat()).code(0);
        running.wait().code(0);
        let events = result(&world, &run);
        assert!(events.contains(&format!("\"action\": \"{told}\"")), "{era}: {events}");
    }
}

#[test]
fn a_killed_run_goes_on_waiting_and_a_call_that_was_not_made_yet_is_not_made_twice() {
    // The newest revision: nothing was done when it asked, and what it asked is in the journal.
    let world = world("new", &json!({}));
    let running = begin(&world, "order");
    let run = world.until_status("waiting");
    drop(running);
    assert_eq!(waits(&world, &run).as_array().map(Vec::len), Some(1), "the question is still there");
    // Answered while no process is there: it counts.
    world.updraft(&["answer", &run, r#"{"size": "small"}"#]).code(0);
    world.updraft(&["resume", &run]).code(0);
    assert!(result(&world, &run).contains("small"));
    assert_eq!(done(&world), ["order asked", "order"], "the question was not fetched again, and the work done once");
    world.updraft(&["replay", &run]).code(0);
}

#[test]
fn a_killed_call_of_an_older_server_is_in_doubt_unless_it_may_be_repeated() {
    let world = world("old", &json!({"trustHints": true}));
    let running = begin(&world, "order");
    let run = world.until_status("waiting");
    drop(running);
    // Nobody waits for an answer any more, so none is taken.
    world.updraft(&["answer", &run, r#"{"size": "small"}"#]).code(1).says("is not made again");
    world.updraft(&["answer", &run, "--decline"]).code(1).says("is not made again");
    world.updraft(&["resume", &run]).code(0);
    assert!(result(&world, &run).contains("outcome unknown"), "{}", events(&world, &run));
    let (ordered, run_of_order) = (keys(&world), run);
    // One that only reads is made again, and asks the same: what was said meanwhile is its answer.
    let running = begin(&world, "ready");
    let run = world.until_status("waiting");
    drop(running);
    world.updraft(&["answer", &run, r#"{"size": "small"}"#]).code(0);
    world.updraft(&["resume", &run]).code(0);
    assert!(result(&world, &run).contains("small"), "{}", events(&world, &run));
    assert_eq!(done(&world), ["ready"]);
    // The server can tell the call that was made again from another.
    assert_eq!(ordered, [format!("order {run_of_order}/coder/0/0/call.0")]);
    assert_eq!(keys(&world)[1..], [format!("ready {run}/coder/0/0/call.0"), format!("ready {run}/coder/0/0/call.0")]);
}

#[test]
fn a_task_of_a_server_is_found_again_by_the_next_process() {
    let world = world("new", &json!({}));
    let running = begin(&world, "task");
    World::until("the task's id is in the journal", || {
        world.runs().first().is_some_and(|run| events(&world, run["run"].as_str().unwrap()).contains("task-1"))
    });
    let run = world.last();
    drop(running);
    world.file("finish.txt", "at last");
    world.updraft(&["resume", &run]).code(0);
    assert!(result(&world, &run).contains("task result at last"), "{}", events(&world, &run));
    assert_eq!(done(&world), ["task begun"], "it was neither begun again nor cancelled");
    world.updraft(&["replay", &run]).code(0);
}

#[test]
fn a_cancelled_run_cancels_the_servers_task() {
    let world = world("new", &json!({}));
    let running = begin(&world, "task");
    World::until("the task's id is in the journal", || {
        world.runs().first().is_some_and(|run| events(&world, run["run"].as_str().unwrap()).contains("task-1"))
    });
    world.updraft(&["cancel", &world.last()]).code(0);
    running.wait();
    assert_eq!(done(&world), ["task begun", "task cancelled"]);
}

#[test]
fn a_server_has_models_asked_only_where_the_user_lets_it() {
    let able = |world: &World| -> Value {
        serde_json::from_str(&std::fs::read_to_string(world.ws().join("able.json")).unwrap()).unwrap()
    };
    let world_without = world("old", &json!({}));
    assert!(able(&world_without).get("sampling").is_none(), "{}", able(&world_without));
    for era in ["old", "new"] {
        let world = world(era, &json!({"sampling": true}));
        if era == "old" {
            assert!(able(&world)["sampling"].is_object(), "{}", able(&world));
        }
        let script = json!({"rules": [
            {"when": {"contains": "say hello"}, "answer": {"text": "hello from the model"}},
            {"when": {"turn": 0}, "answer": {"calls": [{"name": "mcp_shop_sample", "args": {}}]}}],
            "default": {"text": "Done."}});
        let model = world.script("s.json", &script);
        let args =
            ["run", "--json", "--yes", "--max-tokens", "1000000", "--model", &model, "--agent", "coder", "use it"];
        let ran = world.updraft(&args).code(0);
        let run = world.last();
        let events = events(&world, &run);
        assert!(events.contains("hello from the model"), "{era}: {events}\n{}", ran.err);
        assert!(events.contains("reserved") && events.contains("wished"), "{era}: {events}");
        world.updraft(&["replay", &run]).code(0);
    }
}
