"""What the first request of an agent costs, in tokens of o200k_base, in an empty repository and with nothing set.

    run.py UPDRAFT [--agent NAME] [--model NAME] [--show] [--most TOKENS]

With --show, the request itself is printed. With --most, it fails if there are more."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOAL = "Fix the failing test."
ANSWER = {"id": "x", "object": "chat.completion", "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
          "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}]}


class Recorder(BaseHTTPRequestHandler):
    """Keeps each request for an answer, and answers "done"."""

    def do_GET(self):
        self.reply(200 if self.path.endswith("/models") else 404, {"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            return self.reply(404, {})
        self.server.requests.append(body)
        if not body.get("stream"):
            return self.reply(200, ANSWER)
        choice = {"index": 0, "delta": {"role": "assistant", "content": "done"}, "finish_reason": "stop"}
        chunk = ANSWER | {"object": "chat.completion.chunk", "choices": [choice]}
        return self.send(200, "text/event-stream", f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n")

    def reply(self, status, value):
        self.send(status, "application/json", json.dumps(value))

    def send(self, status, kind, text):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def first_request(updraft, agent, model):
    """The first request for an answer, of a run in an empty repository."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.requests = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="updraft-first.") as folder:
        work = Path(folder) / "work"
        work.mkdir()
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        base = f"http://127.0.0.1:{server.server_port}/v1"
        environment = kept | {"HOME": folder, "UPDRAFT_HOME": f"{folder}/state", "NO_PROXY": "*", "OPENAI_BASE_URL": base, "OPENAI_API_KEY": "k"}
        subprocess.run(["git", "init", "-q", "-b", "main", work], env=environment, check=True)
        done = subprocess.run([updraft, "run", "--agent", agent, "--model", model, GOAL], cwd=work, env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    if not server.requests:
        sys.exit(f"error: no request arrived; exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return server.requests[0]


def counts_of(texts):
    folder = subprocess.run([sys.executable, HERE.parent / "mcp" / "packages.py", HERE / "package.json"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    counted = subprocess.run(["node", HERE / "count.cjs", folder], input=json.dumps(texts), check=True, text=True, stdout=subprocess.PIPE)
    return json.loads(counted.stdout)


def as_sent(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def parts_of(request):
    """What is counted: the texts of messages, and each tool's definition as JSON."""
    parts = []
    for message in request["messages"]:
        content = message["content"]
        text = content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
        parts.append((f"{message['role']} message", text))
    tools = [(tool["function"]["name"], as_sent(tool)) for tool in request.get("tools", [])]
    return parts, tools


def main():
    options = argparse.ArgumentParser()
    options.add_argument("updraft")
    options.add_argument("--agent", default="coder")
    options.add_argument("--model", default="openai-compatible/m")
    options.add_argument("--show", action="store_true")
    options.add_argument("--most", type=int)
    given = options.parse_args()
    request = first_request(str(Path(given.updraft).resolve()), given.agent, given.model)
    messages, tools = parts_of(request)
    counts = counts_of([text for _, text in messages + tools])
    of_messages, of_tools = counts[:len(messages)], counts[len(messages):]
    for (name, text), count in zip(messages, of_messages):
        if given.show:
            print(f"--- {name}\n{text}")
        print(f"{count:6,}  {name}")
    print(f"{sum(of_tools):6,}  {len(tools)} tools")
    for (name, text), count in zip(tools, of_tools):
        if given.show:
            print(f"--- {text}")
        print(f"{count:12,}  {name}")
    print(f"{sum(counts):6,}  in all, by o200k_base")
    if given.show:
        print({key: value for key, value in request.items() if key not in ("messages", "tools")})
    if given.most and sum(counts) > given.most:
        sys.exit(f"error: more than {given.most:,}")


if __name__ == "__main__":
    main()
