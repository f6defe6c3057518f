//! An MCP server in a few lines of shell, for tests that need one of their own making.

use serde_json::{Value, json};

/// A server with these tools. `on_call` is shell that may set `text`, in JSON's spelling, before it is given back.
pub(crate) fn server(tools: &Value, on_call: &str) -> String {
    let listed = json!({ "tools": tools }).to_string();
    assert!(!listed.contains('\''), "it stands between single quotes");
    format!(
        r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    answer() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" "$1"; }}
    case "$line" in
    *'"method":"initialize"'*) answer '"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"shell","version":"1"}}}}' ;;
    *'"method":"tools/list"'*) answer '"result":{listed}' ;;
    *'"method":"tools/call"'*)
        text=done
        {on_call}
        printf '{{"jsonrpc":"2.0","id":%s,"result":{{"content":[{{"type":"text","text":"%s"}}]}}}}\n' "$id" "$text" ;;
    *'"id":'*) answer '"error":{{"code":-32601,"message":"Method not found"}}' ;;
    esac
done
"#
    )
}

/// A tool that takes anything, and says that it reads: without network it is called unasked.
pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"},
           "annotations": {"readOnlyHint": true}})
}
