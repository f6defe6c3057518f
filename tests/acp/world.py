"""A folder of its own, a scripted model, and the command that starts the agent in it."""

import json
import os
import subprocess
from pathlib import Path

# A file that runs programs later is written only if a person agrees.
HOOK = {"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}
NOTES = {"path": "notes.md", "content": "one\ntwo\n"}


def call(arguments):
    return {"text": "I begin.", "calls": [{"name": "write_file", "args": arguments}]}


def plan(step, agent):
    return {"json": {"steps": [{"id": step, "agent": agent, "description": f"Does {step}", "prompt": f"Do {step}."}]}}


# A rule looks at the last message of a prompt.
SCRIPT = {
    "rules": [
        {"when": {"agent": "planner", "contains": "Graft"}, "answer": plan("hook", "coder")},
        {"when": {"agent": "planner", "contains": "Inscribe"}, "answer": plan("notes", "coder")},
        {"when": {"agent": "planner", "contains": "Dawdle"}, "answer": plan("slow", "thinker")},
        {"when": {"agent": "planner", "contains": "Ponder"}, "answer": plan("pause", "thinker")},
        {"when": {"agent": "planner", "contains": "Repeat"}, "answer": plan("echo", "coder")},
        {"when": {"agent": "planner"}, "answer": plan("answer", "thinker")},
        {"when": {"has_result": "write_file"}, "answer": {"text": "It is written."}},
        {"when": {"has_result": "mcp_echo_echo"}, "answer": {"text": "It was repeated."}},
        {"when": {"step": "echo"}, "answer": {"calls": [{"name": "mcp_echo_echo", "args": {"text": "hello"}}]}},
        {"when": {"step": "hook"}, "answer": call(HOOK)},
        {"when": {"step": "notes"}, "answer": call(NOTES)},
        {"when": {"step": "slow"}, "answer": {"text": "That took long.", "delay_ms": 600_000}},
        {"when": {"step": "pause"}, "answer": {"text": "I have pondered.", "delay_ms": 2_500}},
    ],
    "default": {"text": "A loom.", "reasoning": "Threads become cloth.", "usage": {"input": 21, "output": 4}},
}


class World:
    def __init__(self, folder, updraft):
        self.updraft, self.home, self.work = updraft, folder / "home", folder / "work"
        self.home.mkdir(parents=True)
        self.work.mkdir()
        (self.work / "notes.md").write_text("one\n")
        script = folder / "script.json"
        script.write_text(json.dumps(SCRIPT))
        self.command = [updraft, "acp", "--model", f"scripted/{script}"]
        self.environment = {"HOME": str(self.home), "UPDRAFT_HOME": str(self.home / "updraft"), "PATH": os.environ["PATH"]}

    @property
    def hook(self):
        return self.work / HOOK["path"]

    def run(self, *command, environment=None):
        """What a program prints."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.work,
                              env={**self.environment, **(environment or {})})
        if done.returncode:
            raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def runs(self):
        """The runs of the folder, newest first."""
        return [json.loads(line) for line in self.run(self.updraft, "runs", "--json").splitlines()]


def made(root, name, updraft):
    return World(Path(root) / name, updraft)
