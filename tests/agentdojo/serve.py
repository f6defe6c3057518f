"""A suite's tools as an MCP server on standard input and output: serve.py SUITE STATE hints|plain

The environment lies in the file STATE, and is written there after every call with the calls that were made.
"""

import json
import os
import pickle
import sys


def answer(message, tools, call):
    """What MCP answers to one message; nothing to a notification."""
    if "id" not in message:
        return None
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        version = params.get("protocolVersion", "2025-06-18")
        about = {"name": "agentdojo", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "ping":
        result = {}
    elif method == "tools/list":
        result = {"tools": tools}
    elif method == "tools/call":
        text, is_error = call(params["name"], params.get("arguments") or {})
        result = {"content": [{"type": "text", "text": text}], "isError": is_error}
    else:
        error = {"code": -32601, "message": f"no method {method}"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def main(suite, state, with_hints):
    import bench

    suite = bench.suite_of(suite)

    def call(name, arguments):
        with open(state, "rb") as file:
            environment, made = pickle.load(file)
        text, is_error = bench.call(suite, environment, name, arguments)
        made.append((name, arguments))
        with open(f"{state}.new", "wb") as file:
            pickle.dump((environment, made), file)
        os.replace(f"{state}.new", state)
        return text, is_error

    tools = bench.listed(suite, with_hints)
    for line in sys.stdin:
        reply = answer(json.loads(line), tools, call)
        if reply:
            print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3] == "hints")
