"""Forty turns with outputs of 90 kB, in windows of three sizes, in four dialects, with refusals and kills. What counts: each run
comes to its end, no request is larger than the window, and at the end the model still has what it must have.

    run.py UPDRAFT            one window, one dialect, with kills: half a minute
    run.py UPDRAFT --all      all windows and dialects"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from model import TOLD, TURNS, Script, serve

MODELS = {"openai": "openai-compatible/m", "responses": "openai/m", "anthropic": "anthropic/m", "gemini": "gemini/m"}

# Bytes that a model says in each turn beside its calls, in the smallest window.
TALK = 6_000
# Whether the window is told, and how much is said.
WAYS = [(True, 0), (True, TALK), (False, 0)]


class Trial:
    """One run of `updraft` against one scripted model."""

    def __init__(self, updraft, dialect, window, known, refuses_at, kills, talk):
        self.updraft, self.dialect, self.window = updraft, dialect, window
        self.kills, self.process, self.killed = set(kills), None, 0
        self.folder = tempfile.TemporaryDirectory(prefix="updraft-context.")
        self.home = pathlib.Path(self.folder.name)
        (self.home / "work").mkdir()
        self.script = Script(window, refuses_at, told=self.tell, at_request=self.maybe_kill, talk=talk)
        self.server = serve(self.script)
        self.model = MODELS[dialect] + (f"?window={window}" if known else "")

    def environment(self):
        base = f"http://127.0.0.1:{self.server.server_port}"
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
        return kept | {"HOME": str(self.home), "UPDRAFT_HOME": str(self.home / "state"), "NO_PROXY": "*",
                       "OPENAI_BASE_URL": f"{base}/v1", "OPENAI_API_KEY": "k", "ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": "k",
                       "GEMINI_BASE_URL": base, "GEMINI_API_KEY": "k"}

    def call(self, *arguments, check=True):
        done = subprocess.run([self.updraft, *arguments], cwd=self.home / "work", env=self.environment(), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        assert not check or done.returncode == 0, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def tell(self):
        self.call("tell", "last", TOLD)

    def maybe_kill(self, number, kind):
        """Kills the program when a request of a kind arrives for the first time."""
        stage = "summary" if kind == "summary" else "shortened" if self.was_shortened() else None
        if stage in self.kills and self.process:
            self.kills.discard(stage)
            self.killed += 1
            self.process.kill()

    def was_shortened(self):
        """Whether this request is much shorter than the one before it."""
        sizes = self.script.requests
        return len(sizes) > 1 and sizes[-1] < sizes[-2] * 0.8

    def go(self):
        command = ["run", "--agent", "coder", "--model", self.model, "--max-turns", "200", "Read the logs of forty turns."]
        for _ in range(20):
            self.process = subprocess.Popen([self.updraft, *command], cwd=self.home / "work", env=self.environment(),
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            said, _ = self.process.communicate(timeout=900)
            if self.process.returncode >= 0:
                break
            command = ["resume", "last"]
        faults = list(self.script.faults)
        if self.process.returncode != 0:
            faults.append(f"exit code {self.process.returncode}: {said[-1500:]}")
        if self.kills and self.script.talk:
            faults.append(f"not killed: {self.kills}")
        if not faults:
            faults += self.check_replay()
        return faults

    def check_replay(self):
        """All decisions and all prompts once more, byte by byte."""
        told = json.loads(self.call("replay", "last", "--strict", "--json", check=False))
        return [] if told["same"] and told["prompts"] > TURNS else [f"replay: {told}"[:800]]

    def line(self, faults):
        script = self.script
        largest = max((size for size in script.requests if size <= self.window), default=0)
        return (f"{self.dialect:10} {self.window:7,} {'told' if '?' in self.model else 'learnt':6} {'talks' if script.talk else '':5} requests {len(script.requests):3}  "
                f"tokens {sum(script.requests):10,}  largest {largest:7,}  refused {script.refusals}  prefix changed {script.rewrites:2}  "
                f"summaries {script.summaries:2}  killed {self.killed}  {'ok' if not faults else faults}")


def main():
    updraft = str(pathlib.Path(sys.argv[1]).resolve())
    windows = (32_000, 128_000, 200_000)
    every = [(dialect, window, known, talk) for window in windows for dialect in MODELS for known, talk in WAYS]
    some = [("openai", 32_000, True, TALK), ("anthropic", 32_000, False, 0)]
    failed = 0
    for n, (dialect, window, known, talk) in enumerate(every if "--all" in sys.argv else some):
        kills = ("summary", "shortened") if known else ()
        trial = Trial(updraft, dialect, window, known, refuses_at=7 + 5 * (n % 5), kills=kills, talk=talk * window // 32_000)
        faults = trial.go()
        failed += bool(faults)
        print(trial.line(faults), flush=True)
    sys.exit(f"{failed} failed" if failed else 0)


if __name__ == "__main__":
    main()
