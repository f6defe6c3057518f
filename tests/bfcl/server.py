"""An MCP server over pipes with the tools of one BFCL prompt: server.py TOOLS.json CALLS. Notes each call as a line of CALLS."""

import json
import sys


def main(tools, calls):
    with open(tools) as file:
        tools = [
            {
                "name": one["name"],
                "description": one["description"],
                "inputSchema": one["parameters"],
                "annotations": {"readOnlyHint": True},
            }
            for one in json.load(file)
        ]
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        params = message.get("params") or {}
        match message["method"]:
            case "initialize":
                result = {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "bfcl", "version": "1"},
                }
            case "tools/list":
                result = {"tools": tools}
            case "tools/call":
                with open(calls, "a") as file:
                    file.write(json.dumps({"name": params["name"], "arguments": params.get("arguments") or {}}) + "\n")
                result = {"content": [{"type": "text", "text": "done"}]}
            case _:
                result = {}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


main(*sys.argv[1:])
