"""The examples of docs/openai.md, run as they stand."""

import json
import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/openai.md"


def examples(kind, word):
    """The blocks of a kind that contain a word."""
    found = re.findall(rf"```{kind}\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return [block for block in found if word in block]


def run(world, command):
    environment = {**world.environment, "UPDRAFT_URL": f"{world.origin}/v1", "UPDRAFT_TOKEN": world.token}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_curl(world):
    [example] = examples("sh", "curl")
    said = json.loads(run(world, ["bash", "-c", example]))
    assert said["choices"][0]["message"]["content"] == "A loom.", said


def check_python(world):
    [example] = examples("python", "OpenAI(")
    said = run(world, [sys.executable, "-c", example])
    assert "… planned: 2 steps" in said and said.endswith("A loom.\n"), said


CHECKS = [check_curl, check_python]
