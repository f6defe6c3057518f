"""The world outside of a worker: its model, an MCP server over HTTP, and the place where effects are counted.

It can do something when a request reaches it (`when`): end the worker, for instance, at exactly that moment.
"""

import json
import re
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOOLS = [{"name": "count", "description": "Counts.",
          "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
          "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}}]
AGENT = "---\nname: doer\npurpose: Does it.\ntools: [files, sandbox, mcp, ask_user]\n---\nYou do it.\n"

# An MCP server on pipes that adds a line to a file for each call.
ON_PIPES = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, result = asked.get("method"), None
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "pipe", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    elif method == "tools/call":
        with open(COUNTS, "a") as counts:
            counts.write(asked["params"]["arguments"]["name"] + "\\n")
        result = {"content": [{"type": "text", "text": "counted"}]}
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


class Asked:
    """A question to the model: the run that its goal names as `<<run>>`, the step that its prompt names as `[[step]]`, its turn."""

    def __init__(self, body):
        messages = body.get("messages", [])
        own = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
        said = [json.dumps(message["content"]) for message in messages]
        everything = "\n".join(said)
        self.run = (re.findall(r"<<(\w+)>>", everything) or [""])[0]
        self.step = (re.findall(r"\[\[(\w+)\]\]", everything) or ["plan"])[0]
        self.turn, self.told = len(own), "\n".join(said[own[-1] + 1 if own else 0:])
        self.place = f"{self.run}:{self.step}/{self.turn}"


class Outside:
    """`script` says what the model does when it is asked: a text, a list of calls, or None if it is busy."""

    def __init__(self, script):
        self.script, self.lock = script, threading.Lock()
        self.asked, self.effects, self.told, self.heard = Counter(), Counter(), {}, {}
        self.gates = {}
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outside.answer(self, json.loads(body or b"null"))

            def do_GET(self):
                self.reply(405, "")

            def reply(self, status, body, kind="application/json", **headers):
                body = body.encode()
                self.send_response(status)
                for name, value in {"content-type": kind, "content-length": len(body), **headers}.items():
                    self.send_header(name.replace("_", "-"), str(value))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                """Whoever asked is gone."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def when(self, gate, act):
        """Does something once, when a gate is reached: ("asked", place), ("before", effect) or ("after", effect).

        `act` returns whether the worker has ended; it gets no answer then, and what it wanted does not happen.
        """
        with self.lock:
            self.gates[gate] = act

    def reach(self, *gate):
        with self.lock:
            act = self.gates.pop(gate, None)
        return bool(act and act())

    def answer(self, request, body):
        path = request.path
        if path.endswith("/chat/completions"):
            return self.ask(request, Asked(body))
        if path == "/mcp":
            return self.mcp(request, body)
        if path.startswith("/count/"):
            return request.reply(200 if self.count(path.removeprefix("/count/")) else 500, "counted")
        return request.reply(404, "")

    def ask(self, request, asked):
        with self.lock:
            self.asked[asked.place] += 1
            unknown = asked.told.count("is unknown")
            if unknown:
                key = f"{asked.run}:{asked.step}"
                self.told[key] = max(unknown, self.told.get(key, 0))
            self.heard[asked.place] = asked.told
        if self.reach("asked", asked.place):
            return None
        said = self.script(asked)
        if said is None:
            body = json.dumps({"error": {"message": "Please try again in 1s."}})
            return request.reply(429, body, retry_after=1)
        delta, finish = {"content": said}, "stop"
        if isinstance(said, list):
            calls = [{"index": n, "id": f"call{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                     for n, (name, given) in enumerate(said)]
            delta, finish = {"tool_calls": calls}, "tool_calls"
        parts = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                 {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
                 {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}]
        stream = "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"
        return request.reply(200, stream, "text/event-stream")

    def count(self, name):
        """The effect itself; False if the worker has ended before it."""
        if self.reach("before", name):
            return False
        with self.lock:
            self.effects[name] += 1
        self.reach("after", name)
        return True

    def mcp(self, request, asked):
        if not asked or "id" not in asked:
            return request.reply(202, "")
        method = asked.get("method")
        if method == "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            if not self.count(asked["params"]["arguments"]["name"]):
                return request.reply(500, "")
            result = {"content": [{"type": "text", "text": "counted"}]}
        else:
            return request.reply(400, "{}")
        return request.reply(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}))


def on_pipes(folder, counts):
    """The settings of the server on pipes."""
    server = folder / "server.py"
    server.write_text(f"TOOLS, COUNTS = {TOOLS!r}, {str(counts)!r}\n" + ON_PIPES)
    return {"command": sys.executable, "args": [str(server)], "trustHints": True, "startSeconds": 120}


def furnish(world, outside):
    """Gives a world the agent, both MCP servers, and this model."""
    home, counts = world.home / "updraft", world.folder / "counts"
    (home / "agents").mkdir(exist_ok=True)
    (home / "agents/doer.md").write_text(AGENT)
    counts.write_text("")
    servers = {"pipe": on_pipes(world.folder, counts),
               "web": {"url": f"http://127.0.0.1:{outside.port}/mcp", "trustHints": True}}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    world.model = "openai-compatible/m"
    world.environment["OPENAI_BASE_URL"] = f"http://127.0.0.1:{outside.port}/v1"


def plan(*steps):
    """A plan of these steps, each as (id, agent, reads); each writes a variable of its own name."""
    return json.dumps({"steps": [{"id": name, "agent": agent, "prompt": f"[[{name}]] do it", "reads": reads, "writes": [name]}
                                 for name, agent, reads in steps]})


if __name__ == "__main__":
    sys.exit(__doc__)
