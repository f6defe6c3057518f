"""An MCP server on pipes that asks: `old` speaks 2025-06-18, `new` 2026-07-28. It counts what it did in done.txt.

Each line of done.txt is one time that a tool did its work, so that a test sees what was done twice.
"""
import json
import sys

ERA = sys.argv[1]
FORM = {"type": "object", "required": ["size"], "properties": {
    "size": {"type": "string", "enum": ["small", "large"]}, "count": {"type": "integer", "default": 1}}}
ASKS = {"mode": "form", "message": "Which size?", "requestedSchema": FORM}
VISIT = {"mode": "url", "message": "Please sign in", "url": "https://shop.example/pay", "elicitationId": "e1"}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "say hello"}}],
          "systemPrompt": "Be brief.", "maxTokens": 1000000}
NAMES = ["order", "visit", "sample", "task", "ready"]


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def did(what):
    with open("done.txt", "a", encoding="utf-8") as file:
        file.write(what + "\n")


def text(words):
    return {"content": [{"type": "text", "text": words}], "resultType": "complete"}


def tools():
    hints = {"readOnlyHint": True, "idempotentHint": True}
    return {"tools": [{"name": name, "description": name, "inputSchema": {"type": "object", "properties": {}},
                       **({"annotations": hints} if name == "ready" else {})} for name in NAMES],
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def ask_back(method, params):
    """Asks the client in the old way, and waits for its answer."""
    send({"id": 7000, "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == 7000:
            return message
    sys.exit()


def told(answer):
    return answer.get("result", answer.get("error"))


def call_old(name, params):
    del params
    if name == "sample":
        answer = ask_back("sampling/createMessage", SAMPLE)
    else:
        answer = ask_back("elicitation/create", VISIT if name == "visit" else ASKS)
    did(name)
    return text(json.dumps(told(answer), sort_keys=True))


def call_new(name, params):
    if name == "task":
        did("task begun")
        return {"resultType": "task", **task("working")}
    given = params.get("inputResponses")
    if given:
        did(name)
        return text(json.dumps({"given": given["q"], "state": params.get("requestState")}, sort_keys=True))
    asks = {"method": "elicitation/create", "params": VISIT if name == "visit" else ASKS}
    if name == "sample":
        asks = {"method": "sampling/createMessage", "params": SAMPLE}
    did(name + " asked")
    return {"resultType": "input_required", "inputRequests": {"q": asks}, "requestState": "state-1"}


def task(status, **more):
    return {"taskId": "task-1", "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": None, "pollIntervalMs": 50, **more}


def get_task():
    """Done as soon as the test has put a file there; its result is given as often as it is asked for."""
    try:
        with open("finish.txt", encoding="utf-8") as file:
            return {"resultType": "complete", **task("completed", result=text("task result " + file.read().strip()))}
    except FileNotFoundError:
        return {"resultType": "complete", **task("working")}


def answer(method, params):
    if method == "initialize" and ERA == "old":
        with open("able.json", "w", encoding="utf-8") as file:
            json.dump(params["capabilities"], file)
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "asking", "version": "1"}}
    if method == "server/discover" and ERA == "new":
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "extensions": {
            "io.modelcontextprotocol/tasks": {}}}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "serverInfo": {"name": "asking", "version": "1"}}
    if method == "tools/list":
        return tools()
    if method == "tools/call":
        with open("keys.txt", "a", encoding="utf-8") as file:
            file.write(params["name"] + " " + params["_meta"]["updraft/idempotency-key"] + "\n")
        return (call_old if ERA == "old" else call_new)(params["name"], params)
    if method == "tasks/get":
        return get_task()
    if method == "tasks/cancel":
        did("task cancelled")
        return {"resultType": "complete"}
    return None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        if result is None:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        else:
            send({"id": message["id"], "result": result})


main()
