"""A real server on a workspace of its own, with a scripted model, and clients whose traffic is recorded."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import httpx2
import openai
from recording import Recorder

ASKS = {"name": "ask_user", "args": {"question": "Which colour?", "options": ["red", "blue"]}}
# A file that runs programs later is written only if a person agrees.
HOOK = {"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}
WRITES = {"name": "write_file", "args": HOOK}
DESCRIBED = '```json\n{"name": "loom", "uses": ["cloth"]}\n```'
LONG = "A loom weaves threads into cloth. " * 12


def plan(*steps):
    """A plan of the planner: each step after the one before it."""
    tasks = [{"id": step, "agent": "thinker", "prompt": f"Do what {step} is about.", "after": list(before)}
             for step, before in zip(steps, [(), *((step,) for step in steps)])]
    return {"json": {"steps": tasks}}


# A rule looks at the last message of a prompt.
SCRIPT = {
    "rules": [
        {"when": {"agent": "planner", "contains": "Wait a moment"}, "answer": plan("begin", "slow")},
        {"when": {"agent": "planner", "contains": "Tell me much"}, "answer": plan("much")},
        {"when": {"agent": "planner"}, "answer": plan("first", "second")},
        {"when": {"step": "slow"}, "answer": {"text": LONG, "delay_ms": 1_500}},
        {"when": {"step": "much"}, "answer": {"text": LONG}},
        {"when": {"contains": "image-1"}, "answer": {"text": "I see the image."}},
        {"when": {"has_result": "write_file"}, "answer": {"text": "That was all."}},
        {"when": {"has_result": "ask_user", "contains": "blue"}, "answer": {"text": "It is blue now."}},
        {"when": {"contains": "Describe it"}, "answer": {"text": DESCRIBED}},
        {"when": {"contains": "Paint the door"}, "answer": {"calls": [ASKS]}},
        {"when": {"contains": "Add the hook"}, "answer": {"calls": [WRITES]}},
        {"when": {"contains": "Take your time"}, "answer": {"text": "That took long.", "delay_ms": 600_000}},
        {"when": {"contains": "Wait a moment"}, "answer": {"text": LONG, "delay_ms": 1_500}},
        {"when": {"contains": "Fail"}, "answer": {"fail": "no more"}},
        {"when": {"contains": "Tell me much"}, "answer": {"text": LONG, "usage": {"input": 40, "output": 90}}},
    ],
    "default": {"text": "A loom.", "usage": {"input": 21, "output": 4}},
}


class World:
    def __init__(self, folder, updraft):
        self.updraft, self.home, self.work = updraft, folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.script = folder / "script.json"
        self.script.write_text(json.dumps(SCRIPT))
        self.environment = {"HOME": str(self.home), "UPDRAFT_HOME": str(self.home / "updraft"), "PATH": os.environ["PATH"]}
        self.recorder, self.server, self.port, self.model = Recorder(), None, 0, f"scripted/{self.script}"

    def start(self):
        command = [self.updraft, "serve", "--listen", f"127.0.0.1:{self.port}", "--workspace", str(self.work),
                   "--model", self.model]
        self.server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=self.environment)
        said = ""
        # Other things may be said first, for example which runs are taken up again.
        while "token: in " not in said:
            line = self.server.stderr.readline()
            assert line, f"the server did not start:\n{said}"
            said += line
        threading.Thread(target=self.server.stderr.read, daemon=True).start()
        self.origin = re.search(r"http://[^/\s]+", said).group()
        self.port = int(self.origin.rpartition(":")[2])
        self.token = Path(re.search(r"token: in (.*)", said).group(1)).read_text().strip()

    def stop(self, how=signal.SIGTERM):
        self.server.send_signal(how)
        self.server.wait()

    def http(self):
        return httpx2.Client(transport=self.recorder, timeout=60)

    def client(self, token=None):
        """The official client; it repeats nothing by itself."""
        return openai.OpenAI(base_url=f"{self.origin}/v1", api_key=token or self.token, http_client=self.http(), max_retries=0)

    def command(self, *words):
        """What a command of the program prints."""
        command = [self.updraft, *words]
        said = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=True, cwd=self.work)
        return said.stdout

    def user(self, name, role):
        """The token of a new user."""
        return self.command("serve", "user", "add", name, "--role", role).strip()

    def runs(self):
        """The runs of the workspace, newest first."""
        return [json.loads(line) for line in self.command("runs", "--json").splitlines()]

    def goal(self, run):
        """The goal of a run, as the journal has it."""
        return json.loads(self.command("events", run, "--json").splitlines()[0])["event"]["started"]["goal"]

    def earlier(self, run):
        """What was said before, as the run has it."""
        return [(message["role"], message["content"]) for message in self.goal(run)["earlier"]["history"]]


@contextlib.contextmanager
def served(updraft):
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder).resolve(), updraft)
        world.start()
        try:
            yield world
        finally:
            world.stop(signal.SIGKILL)
