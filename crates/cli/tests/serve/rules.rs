//! What clients may do with files: the mode and the rules of the settings hold for them as for agents.

use serde_json::json;

use crate::client::{Client, Era, text};
use crate::http::Served;
use crate::world::World;

fn serve(world: &World, flags: &[&str]) -> Client {
    let model = world.script("script.json", &json!([{ "text": "yes" }]));
    let args = [&["mcp", "serve", "--model", &model], flags].concat();
    Client::of(world.command(&args), Era::New, json!({}))
}

#[test]
fn rules_that_deny_and_ask_hold_for_clients() {
    let world = World::new();
    world.config(
        "config.toml",
        "[rules]\ndeny = [\"write_file(locked/**)\", \"read_file(secret/**)\"]\nask = [\"write_file(asked/**)\"]\n",
    );
    world.file("secret/plan.md", "the weft is hidden\n");
    world.file("secret/many.md", &"the weft again\n".repeat(1_000));
    world.file("open/plan.md", "the weft is shown\n");
    std::os::unix::fs::symlink("../secret/plan.md", world.ws().join("open/hidden.md")).unwrap();
    for flags in [&[][..], &["--yes"]] {
        let mut client = serve(&world, flags);
        let write = |path: &str| json!({ "path": path, "content": "x" });
        let why = client.refused("write_file", write("locked/x.txt"));
        assert!(why.contains("denied by the rule `write_file(locked/**)`"), "{why}");
        assert!(client.refused("write_file", write("asked/x.txt")).contains("Asked because of the rule"));
        assert!(!world.ws().join("locked").exists() && !world.ws().join("asked").exists());
        client.call("write_file", write("open/x.txt"));

        assert!(client.refused("read_file", json!({ "path": "secret/plan.md" })).contains("denied by the rule"));
        assert!(client.refused("fetch", json!({ "id": "secret/plan.md" })).contains("denied by the rule"));
        let found = client.data("search", json!({ "query": "weft" }));
        let ids: Vec<&str> =
            found["results"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["open/plan.md"]);
        // Whether a word stands where nobody may read makes no difference, nor how often.
        for query in ["hidden", "absent"] {
            assert_eq!(client.data("search", json!({ "query": query }))["results"], json!([]), "{query}");
        }
        assert_eq!(client.leave(), Some(0));
    }
}

#[test]
fn a_tool_that_is_denied_as_a_whole_is_denied_to_clients_too() {
    let world = World::new();
    world.config("config.toml", "deny = [\"list_files\"]\n[rules]\ndeny = [\"search_files\"]\n");
    let mut client = serve(&world, &[]);
    assert!(client.refused("list_files", json!({})).contains("denied by `deny` in the settings"));
    assert!(client.refused("search", json!({ "query": "hello" })).contains("denied by the rule `search_files`"));
}

#[test]
fn where_nothing_may_be_changed_a_client_only_reads() {
    let world = World::new();
    let mut client = serve(&world, &["--read-only"]);
    let why = client.refused("write_file", json!({ "path": "b.txt", "content": "b" }));
    assert!(why.contains("read-only"), "{why}");
    assert!(!world.ws().join("b.txt").exists());
    assert_eq!(text(&client.call("read_file", json!({ "path": "a.txt" }))), "hello\n");
}

#[test]
fn files_that_run_later_are_not_written_for_a_client_unless_a_rule_names_them() {
    let world = World::new();
    let hook = json!({ "path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n" });
    for flags in [&[][..], &["--yes"]] {
        let mut client = serve(&world, flags);
        let why = client.refused("write_file", hook.clone());
        assert!(why.contains("hook") && why.contains("nobody can approve it"), "{why}");
        assert!(!world.ws().join(".git").exists());
    }
    world.config("config.toml", "[rules]\nallow = [\"write_file(.git/hooks/**)\"]\n");
    serve(&world, &[]).call("write_file", hook);
    assert!(world.ws().join(".git/hooks/pre-commit").exists());
}

#[test]
fn the_same_holds_over_the_bridge() {
    let world = World::new();
    world.config("config.toml", "[rules]\ndeny = [\"write_file(locked/**)\"]\n");
    let model = world.script("script.json", &json!([{ "text": "yes" }]));
    let served = Served::start(&world, &model, 0);
    let mut command = world.command(&["bridge", "--url", &served.bridge]);
    command.env("UPDRAFT_BRIDGE_TOKEN", &served.token);
    let mut client = Client::of(command, Era::Old, json!({}));
    let why = client.refused("write_file", json!({ "path": "locked/x.txt", "content": "x" }));
    assert!(why.contains("denied by the rule"), "{why}");
    assert!(
        client.refused("write_file", json!({ "path": ".envrc", "content": "x" })).contains("nobody can approve it")
    );
    assert!(!world.ws().join("locked").exists() && !world.ws().join(".envrc").exists());
}
