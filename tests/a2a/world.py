"""Real servers, each on a workspace of its own, with scripted models."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

ASKS = {"name": "ask_user", "args": {"question": "Which colour?", "options": ["red", "blue"]}}
SCRIPT = {
    "rules": [
        {"when": {"contains": "Slowly"}, "answer": {"text": "late", "delay_ms": 600_000}},
        {"when": {"agent": "clarification", "turn": 0}, "answer": {"calls": [ASKS]}},
    ],
    "default": {"text": "A loom."},
}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    def __init__(self, folder, updraft, script=None, port=0, environment=None):
        self.updraft, self.home, self.work = updraft, folder / "home", folder / "work"
        self.home.mkdir(parents=True)
        self.work.mkdir()
        (folder / "script.json").write_text(json.dumps(script or SCRIPT))
        self.environment = {"HOME": str(self.home), "UPDRAFT_HOME": str(self.home / "updraft"), "PATH": os.environ["PATH"],
                            **(environment or {})}
        self.process, self.port, self.model = None, port or free_port(), f"scripted/{folder / 'script.json'}"
        self.origin = f"http://127.0.0.1:{self.port}"

    def agent(self, name, front):
        """Adds an agent of the user."""
        folder = self.home / "updraft" / "agents"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(f"---\nname: {name}\n{front}---\n")

    def start(self):
        command = [self.updraft, "serve", "--listen", f"127.0.0.1:{self.port}", "--workspace", str(self.work),
                   "--model", self.model, "--yes"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=self.environment)
        said = ""
        # Other things may be said first, for example which runs are taken up again.
        while "token: in " not in said:
            line = self.process.stderr.readline()
            assert line, f"the server did not start:\n{said}"
            said += line
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.token = Path(re.search(r"token: in (.*)", said).group(1)).read_text().strip()
        return self

    def kill(self, how=signal.SIGKILL):
        self.process.send_signal(how)
        self.process.wait()

    def runs(self):
        """The runs of the workspace, newest first."""
        said = subprocess.run([self.updraft, "runs", "--json"], capture_output=True, text=True, env=self.environment,
                              check=True, cwd=self.work)
        return [json.loads(line) for line in said.stdout.splitlines()]


@contextlib.contextmanager
def served(updraft):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder).resolve() / "one", updraft).start()
        try:
            yield server
        finally:
            server.kill()
