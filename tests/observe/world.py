"""Updraft in a folder of its own with a scripted model, and small helpers to wait for it."""

import json
import os
import re
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

PATIENCE = 60  # seconds; a test that waits longer waits in vain

PLAN = {"steps": [
    {"id": "look", "agent": "retriever", "prompt": "Look at it.", "writes": ["seen"]},
    {"id": "tell", "agent": "summarizer", "prompt": "Tell it.", "reads": ["seen"], "after": ["look"]},
]}
USAGE = {"input": 100, "output": 20}
SCRIPT = {
    "rules": [
        {"when": {"agent": "planner"}, "answer": {"json": PLAN, "usage": USAGE}},
        {"when": {"step": "look", "turn": 0}, "answer": {
            "reasoning": "I should read the file first.",
            "calls": [{"name": "read_file", "args": {"path": "a.txt"}}, {"name": "read_file", "args": {"path": "missing.txt"}}],
            "usage": USAGE}},
        {"when": {"step": "look"}, "answer": {"text": "It says hello to the world.", "usage": USAGE}},
    ],
    "default": {"text": "**Hello** was said.", "usage": USAGE},
    "price": {"input": 1.0, "output": 2.0},
}


class World:
    def __init__(self, updraft, script=SCRIPT, environment=None, settings=""):
        self.folder = tempfile.TemporaryDirectory(prefix="updraft-observe-")
        root = Path(self.folder.name)
        self.root, self.home, self.workspace = root, root / "home", root / "ws"
        self.workspace.mkdir()
        (self.workspace / "a.txt").write_text("hello\n")
        (root / "script.json").write_text(json.dumps(script))
        self.home.mkdir()
        (self.home / "config.toml").write_text(settings)
        self.updraft = updraft
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.environment = kept | {"UPDRAFT_HOME": str(self.home), "HOME": str(root), "NO_COLOR": "1"} | (environment or {})

    @property
    def model(self):
        return f"scripted/{self.root / 'script.json'}"

    def command(self, *arguments):
        return [self.updraft, *arguments]

    def run(self, *arguments, check=True):
        ran = subprocess.run(self.command(*arguments), cwd=self.workspace, env=self.environment, capture_output=True,
                             text=True, timeout=PATIENCE)
        if check and ran.returncode != 0:
            raise AssertionError(f"{arguments} ended with {ran.returncode}:\n{ran.stdout}\n{ran.stderr}")
        return ran

    def goal(self, goal="Say what the file says", *arguments):
        """Pursues a goal and returns the run's id."""
        self.run("run", goal, "--model", self.model, "--no-sandbox", "--yes", *arguments)
        return json.loads(self.run("show", "last", "--json").stdout)["run"]

    def serve(self):
        return Served(self)

    def close(self):
        self.folder.cleanup()


class Served:
    """`updraft serve` on a free port."""

    def __init__(self, world):
        command = world.command("serve", "--listen", "127.0.0.1:0", "--model", world.model, "--no-sandbox", "--yes")
        self.process = subprocess.Popen(command, cwd=world.workspace, env=world.environment, stderr=subprocess.PIPE, text=True)
        self.said = []
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()
        self.address = until(lambda: self.found(r"MCP at http://([^/]+)/mcp"), "the server's address")
        self.token = Path(until(lambda: self.found(r"token: in (.+)"), "the token's file")).read_text().strip()

    def listen(self):
        for line in self.process.stderr:
            self.said.append(line)

    def found(self, pattern):
        found = re.search(pattern, "".join(self.said))
        return found and found.group(1).strip()

    def get(self, path, token=None):
        headers = {"Authorization": f"Bearer {token or self.token}"}
        with urllib.request.urlopen(urllib.request.Request(f"http://{self.address}{path}", headers=headers)) as answer:
            return answer.read().decode()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(PATIENCE) is not None
        self.reader.join(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def until(look, what):
    """Looks until there is something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if found := look():
                return found
        except (urllib.error.URLError, ConnectionError):
            pass
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")
