//! Resources and prompts of MCP servers, at the command line and in a run.

use serde_json::json;

use crate::world::World;

/// A library in a few lines of shell.
const SERVER: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
    case "$line" in
    *'"method":"initialize"'*) answer '"result":{"protocolVersion":"2025-06-18","capabilities":{"resources":{},"prompts":{}},"serverInfo":{"name":"shell","version":"1"}}' ;;
    *'"method":"resources/list"'*) answer '"result":{"resources":[{"uri":"book://one","name":"One","description":"The first."}]}' ;;
    *'"method":"resources/read"'*) answer '"result":{"contents":[{"uri":"book://one","text":"It begins.\u001b[2J"}]}' ;;
    *'"method":"prompts/list"'*) answer '"result":{"prompts":[{"name":"review","description":"Reviews.","arguments":[{"name":"title","required":true}]}]}' ;;
    *'"method":"prompts/get"'*'"title":"Emma"'*) answer '"result":{"messages":[{"role":"user","content":{"type":"text","text":"Review Emma."}}]}' ;;
    *'"id":'*) answer '"error":{"code":-32601,"message":"Method not found"}' ;;
    esac
done
"#;

#[test]
fn what_a_server_holds_is_listed_read_and_used_by_a_run() {
    let world = World::new();
    world.file("server.sh", SERVER);
    world.updraft(&["mcp", "add", "lib", "--cwd", ".", "--", "sh", "server.sh"]).code(0);
    assert_eq!(world.updraft(&["mcp", "resources"]).code(0).out, "lib  book://one  One  The first.\n");
    assert_eq!(world.updraft(&["mcp", "read", "lib", "book://one"]).code(0).out, "It begins.\\u{1b}[2J\n");
    assert_eq!(world.updraft(&["mcp", "prompts", "lib"]).code(0).out, "lib  review  Reviews. (title)\n");
    assert_eq!(world.updraft(&["mcp", "prompt", "lib", "review", "title=Emma"]).code(0).out, "user: Review Emma.\n");
    world.updraft(&["mcp", "prompt", "lib", "review", "Emma"]).code(2).says("expected NAME=VALUE");
    world.updraft(&["mcp", "read", "who", "x"]).code(2).says("there is no MCP server named `who`");
    let read = json!({"name": "mcp_read_resource", "args": {"server": "lib", "uri": "book://one"}});
    let model = world.script("s.json", &json!([{"calls": [read]}, {"text": "It is a book."}]));
    let ran = world.updraft(&["run", "--json", "--model", &model, "--agent", "coder", "read"]).code(0);
    assert!(ran.out.contains("It begins."), "{}", ran.out);
}
