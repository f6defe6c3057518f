"""Has programs of others use our server: the official Python and TypeScript clients, FastMCP, mcporter, the Inspector, Codex.

clients.py PACKAGES PYTHON UPDRAFT

PACKAGES is the folder that packages.py prints for clients/package.json, PYTHON the one that environment.py prints for
clients/requirements.txt, UPDRAFT the binary. Each client lists our tools and calls one; all but Codex over pipes and
HTTP. No network: models are scripted, everything is on loopback. Ends with 0 only if all went well.
"""

import contextlib
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOLS = {"query", "search", "fetch", "read_file", "write_file", "list_files", "dispatch_agent_task", "task_status",
         "task_result", "pause_task", "resume_task", "cancel_task", "approve", "answer_question"}
SECONDS = 180


class World:
    def __init__(self, folder, packages, python, updraft):
        self.packages, self.python, self.updraft = packages, python, updraft
        self.node = str(packages / "node_modules/node/bin/node")
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        (self.work / "a.txt").write_text("hello\n")
        script = folder / "script.json"
        script.write_text(json.dumps({"default": {"text": "A loom."}}))
        self.model = ["--workspace", str(self.work), "--model", f"scripted/{script}"]
        # Modules are looked for beside the file that imports them.
        (folder / "node_modules").symlink_to(packages / "node_modules")
        self.typescript = folder / "client.mjs"
        self.typescript.write_text((HERE / "clients/client.mjs").read_text())
        path = f"{Path(self.node).parent}:{os.environ['PATH']}"
        self.environment = {"HOME": str(self.home), "UPDRAFT_HOME": str(self.home / "updraft"), "PATH": path, "KEY": "none"}

    def run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=self.environment, cwd=self.work)
        if done.returncode:
            raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def stdio(self):
        return [self.updraft, "mcp", "serve", *self.model]

    @contextlib.contextmanager
    def served(self):
        """The address and the token of a server over HTTP."""
        command = [self.updraft, "mcp", "serve", "--http", "127.0.0.1:0", *self.model]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=self.environment)
        try:
            said = server.stderr.readline() + server.stderr.readline()
            url = re.search(r"http://\S+", said).group()
            yield url, Path(re.search(r"token: in (.*)", said).group(1)).read_text().strip()
        finally:
            server.terminate()
            server.wait()


def check(said):
    said = json.loads(said)
    assert set(said["tools"]) == TOOLS, said
    assert said["read"] == "hello\n" and said["answer"] == "A loom.", said


def python(world):
    client = [world.python, str(HERE / "clients/client.py")]
    for mode in ["auto", "legacy", "2026-07-28"]:
        check(world.run(*client, mode, "stdio", *world.stdio()))
    with world.served() as (url, token):
        for mode in ["auto", "legacy", "2026-07-28"]:
            check(world.run(*client, mode, "http", url, token))


def typescript(world):
    client = [world.node, str(world.typescript)]
    for era in ["legacy", "modern"]:
        check(world.run(*client, era, "stdio", *world.stdio()))
    with world.served() as (url, token):
        for era in ["legacy", "modern"]:
            check(world.run(*client, era, "http", url, token))


def entries(world, url, token):
    """Our server as clients have it in their files: on pipes and over HTTP."""
    command, *args = world.stdio()
    yield {"command": command, "args": args, "env": world.environment}
    yield {"url": url, "headers": {"Authorization": f"Bearer {token}"}}


def fastmcp(world):
    with world.served() as served:
        for entry in entries(world, *served):
            check(world.run(world.python, str(HERE / "clients/fastmcp_client.py"), json.dumps(entry)))


def mcporter(world):
    file = world.home / "mcporter.json"
    program = [world.node, str(world.packages / "node_modules/mcporter/dist/cli.js"), "--config", str(file)]
    with world.served() as served:
        for entry in entries(world, *served):
            file.write_text(json.dumps({"mcpServers": {"updraft": entry}}))
            listed = json.loads(world.run(*program, "list", "updraft", "--json"))
            read = json.loads(world.run(*program, "call", "updraft.read_file", "path=a.txt"))
            asked = json.loads(world.run(*program, "call", "updraft.query", "query=What?", "agent=thinker"))
            tools = [tool["name"] for tool in listed["tools"]]
            check(json.dumps({"tools": tools, "read": read["text"], "answer": asked["answer"]}))


def inspector(world):
    base = world.packages / "node_modules/@modelcontextprotocol/inspector"
    program = [world.node, str(base / "clients/launcher/build/index.js"), "--cli"]
    listing = ["--method", "tools/list"]
    calling = ["--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a.txt"]
    with world.served() as (url, token):
        remote = [url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
        for target in [world.stdio(), remote]:
            listed = json.loads(world.run(*program, *target, *listing))
            assert {tool["name"] for tool in listed["tools"]} == TOOLS, listed
            called = json.loads(world.run(*program, *target, *calling))
            assert called["content"][0]["text"] == "hello\n", called


class Model(http.server.BaseHTTPRequestHandler):
    """A scripted model: asks for a call of our tool, then says what came of it."""

    heard = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        outputs = [item for item in body["input"] if item.get("type") == "function_call_output"]
        Model.heard += outputs
        if outputs:
            content = [{"type": "output_text", "text": "done", "annotations": []}]
            item = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}
        else:
            arguments = json.dumps({"path": "a.txt"})
            item = {"type": "function_call", "id": "f", "call_id": "c", "namespace": "mcp__updraft", "name": "read_file",
                    "arguments": arguments, "status": "completed"}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events = [("response.created", {"response": {"id": "r"}}),
                  ("response.output_item.done", {"output_index": 0, "item": item}),
                  ("response.completed", {"response": {"id": "r", "output": [item], "usage": usage}})]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for kind, data in events:
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())

    def log_message(self, *_):
        pass


def codex(world):
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{model.server_port}/v1"
    command, *args = world.stdio()
    provider = f'model_providers.fake={{name="fake",base_url="{base}",env_key="KEY",wire_api="responses"}}'
    settings = ["model_provider=fake", "model=scripted", provider,
                f"mcp_servers.updraft.command={json.dumps(command)}", f"mcp_servers.updraft.args={json.dumps(args)}",
                f"mcp_servers.updraft.env={{UPDRAFT_HOME={json.dumps(world.environment['UPDRAFT_HOME'])}}}",
                'mcp_servers.updraft.tools.read_file.approval_mode="approve"']
    flags = [part for setting in settings for part in ("-c", setting)]
    program = [world.node, str(world.packages / "node_modules/@openai/codex/bin/codex.js")]
    world.run(*program, "exec", "--skip-git-repo-check", *flags, "read a.txt")
    model.shutdown()
    assert any("hello" in json.dumps(output) for output in Model.heard), Model.heard


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    packages, python_program, updraft = sys.argv[1:]
    failed = 0
    for client in [python, typescript, fastmcp, mcporter, inspector, codex]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                client(World(Path(folder), Path(packages), python_program, str(Path(updraft).absolute())))
                print(f"ok     {client.__name__}", flush=True)
            except Exception as error:  # every client is tried
                failed += 1
                print(f"FAILED {client.__name__}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
