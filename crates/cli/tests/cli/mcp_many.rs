//! More tools of MCP servers than are shown: the rules are those of the tool that is meant, by whatever way it is called.

use serde_json::{Value, json};

use crate::shell_server::{server, tool};
use crate::world::World;

/// A server with seventy tools, one of which promises data that it does not give. Every call leaves a trace.
fn world() -> World {
    let world = World::new();
    let mut tools: Vec<Value> = (0..70).map(|n| tool(&format!("t{n}"))).collect();
    tools[9]["outputSchema"] = json!({"type": "object", "required": ["sum"]});
    world.file("server.sh", &server(&Value::Array(tools), "echo called >> called.txt"));
    world.updraft(&["mcp", "add", "many", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    world
}

/// An agent that makes one call, and then says so.
fn calls(world: &World, name: &str, args: &Value) -> String {
    world.script("s.json", &json!([{"calls": [{"name": name, "args": args}]}, {"text": "went on"}]))
}

fn passed_on(world: &World) -> String {
    calls(world, "call_mcp_tool", &json!({"tool": "mcp_many_t5", "arguments": {}}))
}

fn was_called(world: &World) -> bool {
    world.ws().join("called.txt").exists()
}

/// The tools that the model of the newest run was told of, other than our own for files and commands.
fn told(world: &World) -> Vec<String> {
    let prompt = world.updraft(&["show", "last", "--prompts"]).code(0).out;
    let tools = prompt.lines().filter_map(|line| line.strip_prefix("[tool ")?.strip_suffix(']'));
    let is_ours = |name: &str| ["file", "run_", "memory", "ask_user"].iter().any(|part| name.contains(part));
    let mut tools: Vec<String> = tools.filter(|name| !is_ours(name)).map(str::to_owned).collect();
    tools.dedup();
    tools
}

#[test]
fn tools_that_are_too_many_to_show_are_searched_for_and_called() {
    let world = world();
    let model = world.script(
        "s.json",
        &json!([
            {"calls": [{"name": "search_tools", "args": {"query": "t5"}}]},
            {"calls": [{"name": "call_tool", "args": {"tool_name": "mcp_many_t5", "arguments": {}}}]},
            {"text": "went on"}
        ]),
    );
    world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "use it"]).code(0);
    assert!(was_called(&world));
    let told = told(&world);
    assert!(told.contains(&"search_tools".to_owned()) && told.contains(&"call_tool".to_owned()), "{told:?}");
    assert!(!told.iter().any(|name| name.starts_with("mcp_many")), "{told:?}");
    let events = world.updraft(&["events", "last", "--json"]).code(0).out;
    assert!(events.contains("mcp_many_t5"), "{events}");
}

#[test]
fn servers_tools_and_ones_own_count_together() {
    let world = World::new();
    let of_server: Vec<Value> = (0..20).map(|n| tool(&format!("t{n}"))).collect();
    world.file("server.sh", &server(&Value::Array(of_server), "true"));
    world.updraft(&["mcp", "add", "some", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    let own = |count: usize| {
        let functions =
            (0..count).map(|n| format!("def own_{n}() -> str:\n    \"\"\"Own {n}.\"\"\"\n    return '{n}'\n"));
        world.config("tools/own.py", &functions.collect::<String>());
    };
    let done = world.script("s.json", &json!([{"text": "done"}]));
    let run = ["run", "--yes", "--model", &done, "--agent", "coder", "use it"];
    own(9);
    world.updraft(&run).code(0);
    assert!(told(&world).contains(&"own_8".to_owned()) && told(&world).contains(&"mcp_some_t19".to_owned()));
    assert!(!told(&world).contains(&"search_tools".to_owned()));
    own(10);
    world.updraft(&run).code(0);
    let told = told(&world);
    assert!(told.contains(&"call_tool".to_owned()), "{told:?}");
    assert!(!told.iter().any(|name| name.starts_with("own_") || name.starts_with("mcp_some")), "{told:?}");
}

#[test]
fn what_is_denied_is_denied_through_call_mcp_tool_too() {
    let world = world();
    let model = passed_on(&world);
    let run = ["run", "--yes", "--model", &model, "--agent", "coder", "use it"];
    for denied in
        ["deny = [\"mcp_many_t5\"]\n", "[rules]\ndeny = [\"mcp_*\"]\n", "[rules]\ndeny = [\"call_mcp_tool\"]\n"]
    {
        world.config("config.toml", denied);
        world.updraft(&run).code(0);
        let events = world.updraft(&["events", "last", "--json"]).code(0).out;
        assert!(!was_called(&world) && events.contains("is denied by"), "{denied}: {events}");
    }
    world.config("config.toml", "");
    world.updraft(&run).code(0);
    assert!(was_called(&world), "without a rule it is made");
}

#[test]
fn what_is_asked_about_is_asked_about_through_call_mcp_tool_too() {
    let world = world();
    world.config("config.toml", "[rules]\nask = [\"mcp_many_t5\"]\n");
    let model = passed_on(&world);
    let ran = world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "use it"]).code(3);
    assert!(ran.err.contains("`mcp_many_t5`") && ran.err.contains("Asked because of the rule"), "{}", ran.err);
    assert!(!was_called(&world));
    world.updraft(&["approve", "last"]).code(0);
    world.updraft(&["resume", "last"]).code(0);
    assert!(was_called(&world));
}

#[test]
fn an_agents_own_denial_holds_and_a_tool_that_it_names_is_there() {
    let world = world();
    let agent =
        |rest: &str| world.config("agents/own.md", &format!("---\nname: own\npurpose: Tries\n{rest}\n---\nTry.\n"));
    agent("tools: [mcp]\ndeny: [mcp_many_t5]");
    let model = passed_on(&world);
    world.updraft(&["run", "--model", &model, "--agent", "own", "use it"]).code(0);
    assert!(!was_called(&world));
    agent("tools: [mcp_many_t5]");
    let model = calls(&world, "mcp_many_t5", &json!({}));
    world.updraft(&["run", "--model", &model, "--agent", "own", "use it"]).code(0);
    assert!(was_called(&world));
}

#[test]
fn tools_that_are_not_shown_are_called_by_name_and_held_to_their_promises() {
    let world = world();
    assert_eq!(world.updraft(&["tools", "call", "mcp_many_t5", "{}"]).code(0).out, "done\n");
    world.updraft(&["tools", "call", "mcp_many_t9", "{}"]).code(1).says("has an output schema, but returned no data");
}

#[test]
fn no_server_can_lift_a_rule_by_listing_a_name_that_is_alike() {
    let world = World::new();
    let tools = json!([tool("drop_table"), tool("drop.table")]);
    world.file("db.sh", &server(&tools, "echo called >> called.txt"));
    world.file("more.sh", &server(&json!([tool("table")]), "echo called >> called.txt"));
    world.updraft(&["mcp", "add", "db", "--cwd", ".", "--", "sh", "db.sh"]).code(0);
    world.updraft(&["mcp", "add", "db_drop", "--cwd", ".", "--", "sh", "more.sh"]).code(0);
    let listed = world.updraft(&["tools", "--json"]).code(0).json();
    let names: Vec<&str> = listed.iter().filter_map(|line| line["name"].as_str()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| name.starts_with("mcp_db")).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    let denials = [
        "deny = [\"mcp_db_drop_table\"]\n",
        "[rules]\ndeny = [\"mcp_db_drop_table\"]\n",
        "[rules]\ndeny = [\"mcp_*_table\"]\n",
        "[rules]\nask = [\"mcp_db_drop_table\"]\n",
    ];
    for name in names {
        let model = calls(&world, name, &json!({}));
        for denied in denials {
            world.config("config.toml", denied);
            world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "use it"]);
            assert!(!was_called(&world), "{name} in spite of {denied}");
        }
        world.config("config.toml", "");
        world.updraft(&["run", "--yes", "--model", &model, "--agent", "coder", "use it"]).code(0);
        assert!(was_called(&world), "{name} without a rule");
        std::fs::remove_file(world.ws().join("called.txt")).unwrap();
    }
}
