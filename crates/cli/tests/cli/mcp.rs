//! MCP servers from the command line: configured, checked, trusted, and used by a run.

use serde_json::json;

use crate::world::World;

/// A server in a few lines of shell: it knows one tool, which says what it was told in capitals.
const SERVER: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
    case "$line" in
    *'"method":"initialize"'*) answer '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"method":"tools/list"'*) answer '"result":{"tools":[{"name":"shout","description":"Says it loudly.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}' ;;
    *'"method":"tools/call"'*)
        loud=$(printf '%s' "$line" | sed -n 's/.*"text":"\([a-z ]*\)".*/\1/p' | tr a-z A-Z)
        answer "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$loud\"}]}" ;;
    *'"id":'*) answer '"error":{"code":-32601,"message":"Method not found"}' ;;
    esac
done
"#;

fn world() -> World {
    let world = World::new();
    world.file("server.sh", SERVER);
    world
}

#[test]
fn a_server_is_added_checked_called_and_removed() {
    let world = world();
    world.updraft(&["mcp", "add", "shell", "--env", "KEY=${SECRET}", "--", "sh", "server.sh"]).code(0).says("added");
    world.updraft(&["mcp", "add", "shell", "--", "sh"]).code(2).says("already a server named `shell`");
    world.updraft(&["mcp", "add", "bad", "--url", "ftp://x"]).code(2).says("expected http:// or https://");
    // Its key is not set: that is said, and nothing is started.
    world.updraft(&["mcp", "check"]).code(5).says("the variable `SECRET` is not set");
    world.updraft(&["mcp", "remove", "shell"]).code(0);
    world.updraft(&["mcp", "add", "shell", "--", "sh", "server.sh"]).code(0);
    assert!(world.updraft(&["mcp", "list"]).code(0).out.contains("not met yet"));
    assert_eq!(world.updraft(&["mcp", "check"]).code(0).out, "shell: well; shell 1, 1 tools, MCP 2025-06-18\n");
    assert!(world.updraft(&["mcp", "list"]).code(0).out.contains("1 tools, MCP 2025-06-18"));
    let called = world.updraft(&["tools", "call", "shout", r#"{"text": "hello"}"#]).code(0);
    assert_eq!(called.out, "HELLO\n");
    world.updraft(&["tools", "call", "mcp_shell_shout", "{}"]).code(1).says("do not fit its schema");
    assert!(world.updraft(&["tools"]).code(0).out.contains("mcp_shell_shout"));
    world.updraft(&["mcp", "remove", "shell"]).code(0);
    world.updraft(&["mcp", "remove", "shell"]).code(2).says("there is no server named `shell`");
}

#[test]
fn servers_are_taken_over_from_an_editor_and_their_questions_become_variables() {
    let world = world();
    let theirs = json!({"inputs": [{"id": "api-key"}], "servers": {
        "one": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${input:api-key}"}},
        "two": {"command": "sh", "args": ["server.sh"]}}});
    let file = world.file("vscode.json", &theirs.to_string());
    world.updraft(&["mcp", "import", file.to_str().unwrap()]).code(0).says("these variables must be set: API_KEY");
    let again = world.updraft(&["mcp", "import", file.to_str().unwrap()]).code(0);
    again.says("left alone, since you have servers of the same name: one, two");
    let written = std::fs::read_to_string(world.home().join("mcp.json")).unwrap();
    assert!(written.contains("Bearer ${API_KEY}"), "{written}");
}

#[test]
fn a_workspaces_servers_count_only_once_it_is_trusted() {
    let world = world();
    let servers = json!({"mcpServers": {"planted": {"command": "sh", "args": ["server.sh"]}}});
    world.file(".mcp.json", &servers.to_string());
    let ran = world.updraft(&["mcp", "check"]).code(0);
    assert_eq!(ran.out, "");
    ran.says("its MCP servers");
    assert!(world.updraft(&["trust", "--yes"]).code(0).out.contains(".mcp.json"));
    assert!(world.updraft(&["mcp", "check"]).code(0).out.starts_with("planted: well"));
    world.file(".mcp.json", &json!({"mcpServers": {"other": {"command": "sh", "args": ["server.sh"]}}}).to_string());
    assert_eq!(world.updraft(&["mcp", "check"]).code(0).out, "");
}

#[test]
fn a_run_uses_a_servers_tool() {
    let world = world();
    world.updraft(&["mcp", "add", "shell", "--", "sh", "server.sh"]).code(0);
    let script = json!([{"calls": [{"name": "mcp_shell_shout", "args": {"text": "hello"}}]}, {"text": "It is loud."}]);
    let model = world.script("s.json", &script);
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "coder", "shout hello"]).code(0);
    let done = ran.json().into_iter().filter(|line| line["type"] == "item.completed").map(|line| line.to_string());
    let done: Vec<String> = done.collect();
    assert!(done.iter().any(|line| line.contains("HELLO")), "{done:#?}");
}
