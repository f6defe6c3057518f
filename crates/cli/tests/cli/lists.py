"""An MCP server on pipes whose tools change: `advance` takes it to another state, which is kept in state.txt.

0: advance, gone, shape (size). 1: extra as well. 2: shape takes a width. 3: without gone. It says that its list has changed
before it answers, and one that is started again has the tools of its state.
"""
import json
import sys

NAMES = ["advance", "gone", "shape", "extra"]


def state():
    try:
        with open("state.txt", encoding="utf-8") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def tools(now):
    takes = {"advance": ("to", "integer"), "gone": ("what", "string"), "extra": ("what", "string"),
             "shape": ("width", "integer") if now >= 2 else ("size", "string")}
    names = [name for name in NAMES if (name != "extra" or now >= 1) and (name != "gone" or now < 3)]
    return [{"name": name, "description": name, "inputSchema": {
        "type": "object", "properties": {takes[name][0]: {"type": takes[name][1]}}, "required": [takes[name][0]],
        "additionalProperties": False}, "annotations": {"readOnlyHint": True}} for name in names]


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def call(params):
    name, arguments = params["name"], params.get("arguments", {})
    if name == "advance":
        with open("state.txt", "w", encoding="utf-8") as file:
            file.write(str(arguments["to"]))
        send({"method": "notifications/tools/list_changed"})
    with open("done.txt", "a", encoding="utf-8") as file:
        file.write(f"{name} {json.dumps(arguments)}\n")
    return {"content": [{"type": "text", "text": f"{name} is done"}]}


for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message or method is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}},
                  "serverInfo": {"name": "lists", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": tools(state())}
    elif method == "tools/call":
        result = call(params)
    else:
        send({"id": message["id"], "error": {"code": -32601, "message": "what?"}})
        continue
    send({"id": message["id"], "result": result})
