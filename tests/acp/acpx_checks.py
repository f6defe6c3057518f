"""npm's acpx as an editor. Each of its commands starts the agent anew, so a session that goes on was loaded."""

import json
import shlex
import subprocess
import time
from pathlib import Path


def acpx(world, packages, *words):
    """What a command of acpx says, as JSON lines."""
    for _ in range(20):
        done = subprocess.run(command(world, packages, *words), capture_output=True, text=True, timeout=120, cwd=world.work,
                              env=environment(world, packages))
        # Its process of the command before may still be about to end; it then refuses what comes, and says to try again.
        if "QUEUE_OWNER_CLOSED" not in done.stdout:
            break
        time.sleep(0.5)
    assert done.returncode == 0, f"acpx {words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def environment(world, packages):
    node = Path(packages) / "node_modules/node/bin"
    return {**world.environment, "PATH": f"{node}:{world.environment['PATH']}"}


def command(world, packages, *words):
    program = Path(packages) / "node_modules/.bin/acpx"
    return [str(program), "--agent", shlex.join(world.command), "--cwd", str(world.work), "--ttl", "0.1", "--format", "json", *words]


def text_of(lines, kind):
    """The text of all chunks of a kind, wherever acpx puts them."""
    found = []

    def look(value):
        if isinstance(value, dict):
            if value.get("sessionUpdate") == kind:
                found.append(value["content"]["text"])
            else:
                for part in value.values():
                    look(part)
        elif isinstance(value, list):
            for part in value:
                look(part)

    look(lines)
    return "".join(found)


def conversation(world, packages):
    """A call, a permission, and a session that is loaded for every prompt."""
    acpx(world, packages, "sessions", "new")
    said = acpx(world, packages, "--approve-all", "prompt", "Inscribe the notes")
    assert "It is written." in text_of(said, "agent_message_chunk"), said
    assert (world.work / "notes.md").read_text() == "one\ntwo\n"
    acpx(world, packages, "--approve-all", "prompt", "Graft the hook")
    assert world.hook.exists()
    runs = [run["run"] for run in world.runs()]
    goal = json.loads(world.run(world.updraft, "events", runs[0], "--json").splitlines()[0])["event"]["started"]["goal"]
    assert len(runs) == 2 and goal["follows"] == runs[1] and goal["door"] == "acp", goal


def cancel(world, packages):
    acpx(world, packages, "sessions", "new")
    turn = subprocess.Popen(command(world, packages, "prompt", "Dawdle"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            cwd=world.work, env=environment(world, packages))
    limit = time.monotonic() + 60
    while not any(run["status"] == "running" for run in world.runs()):
        assert time.monotonic() < limit and turn.poll() is None, turn.communicate()
        time.sleep(0.1)
    acpx(world, packages, "cancel")
    said, _ = turn.communicate(timeout=60)
    assert "cancelled" in said, said
    assert world.runs()[0]["status"] == "cancelled"


CHECKS = [conversation, cancel]
