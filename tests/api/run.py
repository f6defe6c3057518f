"""Uses the HTTP API as programs do: hostile requests to every operation, kill -9 of the server, and schemathesis.

run.py UPDRAFT [PYTHON]

UPDRAFT is the binary, PYTHON the one that environment.py prints for requirements.txt; without it, schemathesis is left out.
No network: the model is scripted, everything is on loopback. Ends with 0 only if all went well.
"""

import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import durable
import hostile
import operations
import recurring
import sockets
from world import World

HERE = Path(__file__).resolve().parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def schemathesis(world, python):
    """Requests made up from the document: the answers must be as it says."""
    for goal, agent in (("Paint it", "clarification"), ("Paint it", "researcher")):
        world.run({"goal": goal, "agent": agent})
    command = [python, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml", "run",
               f"http://127.0.0.1:{world.port}/api/v1/openapi.json",
               "--header", f"Authorization: Bearer {world.token}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=world.folder)
    if done.returncode:
        raise AssertionError(f"schemathesis ended with {done.returncode}:\n{done.stdout[-40000:]}\n{done.stderr[-4000:]}")
    print("  " + next(line.strip() for line in done.stdout.splitlines() if " generated, " in line))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    updraft, python = str(Path(sys.argv[1]).resolve()), sys.argv[2] if len(sys.argv) == 3 else None
    port = free_port()
    parts = [("operations", operations.check, {}), ("hostile requests", hostile.check, {}), ("streams", durable.stream, {}),
             ("sockets", sockets.check, {}), ("recurring", recurring.check, {}), ("keys", durable.keys, {}),
             ("webhooks", lambda world: durable.webhooks(world, port),
              {"settings": durable.settings(port), "environment": {"HOOK_SECRET": durable.SECRET_TEXT}})]
    if python:
        parts.append(("schemathesis", lambda world: schemathesis(world, python), {}))
    for name, part, options in parts:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            world = World(updraft, folder, **options).start()
            try:
                part(world)
            except BaseException:
                print((world.folder / "log").read_text()[-4000:], file=sys.stderr)
                raise
            finally:
                world.close()
        print(f"{name}: ok ({time.monotonic() - began:.1f} s)")


if __name__ == "__main__":
    main()
