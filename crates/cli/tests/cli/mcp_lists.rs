//! Servers whose tools change while a run goes on, and while it is killed and resumed.

use serde_json::{Value, json};

use crate::world::World;

fn world() -> World {
    let world = World::new();
    world.file("lists.py", include_str!("lists.py"));
    let server = json!({"command": "python3", "args": ["lists.py"], "startSeconds": 120});
    world.config("mcp.json", &json!({"mcpServers": {"s": server}}).to_string());
    world.updraft(&["trust", "--yes"]).code(0);
    world.updraft(&["mcp", "check"]).code(0);
    world
}

fn call(name: &str, args: &Value) -> Value {
    json!({"calls": [{"name": name, "args": args}]})
}

/// The server's tools in each prompt of a run, with the arguments of `shape`.
fn shown(world: &World, run: &str) -> Vec<String> {
    let prompts = world.updraft(&["show", "--prompts", run]).code(0).out;
    let tools = |prompt: &str| {
        let lines: Vec<&str> = prompt.lines().collect();
        let named = lines.windows(3).filter_map(|lines| {
            let name = lines[0].strip_prefix("[tool mcp_s_")?.strip_suffix(']')?;
            let argument = if lines[2].contains("width") { "(width)" } else { "" };
            Some(format!("{name}{argument}"))
        });
        named.collect::<Vec<_>>().join(" ")
    };
    prompts.split("\n===== ").map(tools).collect()
}

fn done(world: &World) -> Vec<String> {
    let text = std::fs::read_to_string(world.ws().join("done.txt")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn tools_that_a_server_adds_changes_and_removes_are_so_at_the_next_turn() {
    let world = world();
    let script = json!([
        call("mcp_s_advance", &json!({"to": 1})),
        call("mcp_s_extra", &json!({"what": "new"})),
        call("mcp_s_advance", &json!({"to": 2})),
        call("mcp_s_shape", &json!({"size": "old"})),
        call("mcp_s_shape", &json!({"width": 3})),
        call("mcp_s_advance", &json!({"to": 3})),
        call("mcp_s_gone", &json!({"what": "x"})),
        {"text": "Done."}
    ]);
    let model = world.script("s.json", &script);
    world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "use them"]).code(0);
    let run = world.last();
    let (first, second) = ("advance gone shape", "advance extra gone shape");
    let (third, fourth) = ("advance extra gone shape(width)", "advance extra shape(width)");
    assert_eq!(shown(&world, &run), [first, second, second, third, third, third, fourth, fourth]);
    let made = [r#"advance {"to": 1}"#, r#"extra {"what": "new"}"#, r#"advance {"to": 2}"#, r#"shape {"width": 3}"#];
    assert_eq!(done(&world), [&made[..], &[r#"advance {"to": 3}"#]].concat(), "what was old was not sent");
    world.updraft(&["replay", &run, "--strict"]).code(0);
}

#[test]
fn a_killed_run_goes_on_with_the_tools_of_the_server_that_is_started_again() {
    let world = world();
    // The model never answers a second time before the process is killed.
    let (first, slow) = (call("mcp_s_advance", &json!({"to": 1})), json!({"text": "Late.", "delay_ms": 3_600_000}));
    let model = world.script("s.json", &json!([first, slow]));
    let running = world.begin(&["run", "--json", "--yes", "--model", &model, "--agent", "coder", "use them"]);
    World::until("the list has changed", || done(&world).len() == 1);
    let run = world.until_status("running");
    World::until("the model is asked again", || world.updraft(&["events", &run]).code(0).out.contains("reloaded"));
    drop(running);
    world.file("state.txt", "3");
    let old = call("mcp_s_shape", &json!({"size": "old"}));
    let new = call("mcp_s_shape", &json!({"width": 3}));
    world.script("s.json", &json!([first, old, new, {"text": "Done."}]));
    world.updraft(&["mcp", "check"]).code(0);
    world.updraft(&["resume", &run]).code(0);
    World::until("the run is done", || world.runs().iter().any(|one| one["run"] == run && one["status"] == "done"));
    let after = "advance extra shape(width)";
    assert_eq!(shown(&world, &run), ["advance gone shape", after, after, after]);
    assert_eq!(done(&world), [r#"advance {"to": 1}"#, r#"shape {"width": 3}"#]);
    world.updraft(&["replay", &run, "--strict"]).code(0);
}

#[test]
fn a_rule_about_a_bare_name_holds_for_a_tool_that_is_added_later() {
    let world = world();
    world.config("config.toml", "[rules]\ndeny = [\"extra\"]\n");
    let script = json!([
        call("mcp_s_advance", &json!({"to": 1})),
        call("mcp_s_extra", &json!({"what": "new"})),
        {"text": "Done."}
    ]);
    let model = world.script("s.json", &script);
    world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "use them"]).code(0);
    assert_eq!(done(&world), [r#"advance {"to": 1}"#]);
}
