"""A server of ours on a workspace of its own, with a scripted model, and a client of its HTTP API."""

import copy
import http.client
import json
import os
import signal
import subprocess
import time
from pathlib import Path

SECONDS = 60
ASK = {"name": "ask_user", "args": {"question": "Which colour?", "options": ["red", "blue"]}}
WRITE = {"name": "write_file", "args": {"path": "made.txt", "content": "hello\n"}}
STEPS = [{"id": "warp", "agent": "researcher", "prompt": "Look at the warp.", "writes": ["warp"]},
         {"id": "weft", "agent": "researcher", "prompt": "Look at the weft.", "reads": ["warp"], "writes": ["weft"]}]
SCRIPT = {"rules": [{"when": {"agent": "planner"}, "answer": {"json": {"steps": STEPS}}},
                    {"when": {"agent": "coder", "turn": 0, "contains": "write the file"}, "answer": {"calls": [WRITE]}},
                    {"when": {"agent": "clarification", "turn": 0}, "answer": {"calls": [ASK]}}],
          "default": {"text": "Painted."}}
ROLES = ["see", "steer", "administer"]


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class World:
    """A server; `start` and `kill` may be called again and again."""

    def __init__(self, updraft, folder, settings="", environment=None, options=()):
        self.updraft, self.folder, self.server, self.port = updraft, Path(folder), None, 0
        self.options, self.model = options, f"scripted/{self.folder / 'script.json'}"
        self.home, self.work, self.log = self.folder / "home", self.folder / "work", self.folder / "log"
        self.work.mkdir()
        (self.home / "updraft").mkdir(parents=True)
        (self.home / "updraft/config.toml").write_text(settings)
        (self.work / "notes.md").write_text("# Looms\nA loom weaves cloth.\n")
        (self.folder / "script.json").write_text(json.dumps(SCRIPT))
        self.environment = {"HOME": str(self.home), "UPDRAFT_HOME": str(self.home / "updraft"),
                            "PATH": os.environ["PATH"], **(environment or {})}

    def start(self):
        command = [self.updraft, "serve", "--listen", f"127.0.0.1:{self.port}", "--workspace", str(self.work),
                   "--model", self.model, "--no-sandbox", *self.options]
        log = open(self.log, "ab")
        self.server = subprocess.Popen(command, stderr=log, stdout=log, env=self.environment, cwd=self.work)
        for _ in range(SECONDS * 20):
            said = self.log.read_text()
            if "MCP at" in said.rsplit("\0", 1)[-1]:
                break
            if self.server.poll() is not None:
                raise AssertionError(f"the server ended:\n{said}")
            time.sleep(0.05)
        else:
            raise AssertionError("the server does not start")
        said = said.rsplit("\0", 1)[-1]
        self.port = int(said.split("MCP at http://127.0.0.1:")[1].split("/")[0])
        self.token = Path(said.split("token: in ")[1].splitlines()[0]).read_text().strip()
        return self

    def beside(self):
        """Another server of the same workspace."""
        other = copy.copy(self)
        other.server, other.port, other.log = None, 0, self.folder / "log of another"
        return other

    def kill(self):
        """As a crash: nothing is said or written any more."""
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()
        self.end_log()

    def end_log(self):
        """What follows in the log is of another process."""
        with open(self.log, "a") as log:
            log.write("\0")

    def memory(self):
        """The most memory that the server has had, in bytes."""
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def send(self, method, path, body=None, token=None, headers=None, raw=None, patience=SECONDS):
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=patience)
        sent = {"Authorization": f"Bearer {token or self.token}", **(headers or {})}
        if body is not None:
            raw = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, f"/api/v1{path}", raw, sent)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def run(self, body, **more):
        started = self.send("POST", "/runs", body, **more)
        assert started.status == 201, (started.status, started.body)
        return started.json()["id"]

    def until(self, run, status):
        for _ in range(SECONDS * 20):
            seen = self.send("GET", f"/runs/{run}").json()
            if seen["status"] == status:
                return seen
            time.sleep(0.05)
        raise AssertionError(f"{run} is {seen['status']}, not {status}")

    def user(self, role):
        added = self.send("POST", "/users", {"name": f"a-{role}", "role": role})
        assert added.status == 201, added.body
        return added.json()["token"]

    def operations(self):
        """Every operation of the document: method, path, description."""
        document = self.send("GET", "/openapi.json").json()
        for path, item in document["paths"].items():
            for method, operation in item.items():
                if method in ("get", "post", "put", "delete"):
                    yield method.upper(), path.removeprefix("/api/v1"), operation

    def close(self):
        if self.server.poll() is None:
            self.server.terminate()
            self.server.wait(SECONDS)


def is_problem(answer):
    """Whether an answer is problem details with its own status."""
    kind = answer.headers.get("content-type", "")
    return kind == "application/problem+json" and answer.json()["status"] == answer.status and bool(answer.json()["detail"])
