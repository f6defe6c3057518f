"""What runs on Restate cost beside the embedded engine, on the same machine at the same time of day.

cost.py UPDRAFT PACKAGES [--rounds N]

Both engines carry out the same goals with a scripted model, in turns: embedded, Restate, embedded, … Printed are medians and their
ratios, since times on another machine are different. Use a release build, and a machine that does nothing else.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
from node import Node, free_ports  # noqa: E402
from world import SECONDS, World  # noqa: E402

TURNS, STEPS, RUNS = 12, 20, 24
CHAIN = [{"id": f"s{n}", "agent": "researcher", "prompt": f"Part {n}.", "writes": [f"v{n}"],
          **({"reads": [f"v{n - 1}"]} if n else {})} for n in range(STEPS)]
PAIR = CHAIN[:2]


def read(turn):
    return {"calls": [{"name": "read_file", "args": {"path": f"part-{turn}.md"}}]}


RULES = [{"when": {"agent": "planner", "contains": "a chain"}, "answer": {"json": {"steps": CHAIN}}},
         {"when": {"agent": "planner"}, "answer": {"json": {"steps": PAIR}}},
         *({"when": {"agent": "coder", "turn": turn}, "answer": read(turn)} for turn in range(TURNS - 1))]


class Engine(World):
    """A server with one of the engines."""

    def __init__(self, updraft, folder, node=None, name="w1"):
        options = ["--yes"]
        if node:
            (listen,) = free_ports(1)
            options += ["--engine", "restate", "--restate", node.ingress, "--restate-admin", node.admin,
                        "--worker-listen", f"127.0.0.1:{listen}", "--worker-name", name]
        folder = Path(folder)
        folder.mkdir()
        super().__init__(updraft, folder, options=options)
        for turn in range(TURNS):
            (self.work / f"part-{turn}.md").write_text(f"Part {turn} is about looms.\n")
        (self.folder / "script.json").write_text(json.dumps({"rules": RULES, "default": {"text": "Painted."}}))

    def __enter__(self):
        subprocess.run([self.updraft, "trust", "--yes"], env=self.environment, cwd=self.work, check=True, capture_output=True)
        return self.start()

    def __exit__(self, *_):
        self.close()

    def over(self, run):
        for _ in range(SECONDS * 200):
            seen = self.send("GET", f"/runs/{run}").json()
            if seen["status"] in ("done", "failed", "cancelled"):
                assert seen["status"] == "done", seen
                return seen
            time.sleep(0.005)
        raise AssertionError(f"{run} is stuck")

    def took(self, order):
        began = time.monotonic()
        run = self.run(order)
        self.over(run)
        return time.monotonic() - began

    def first_event(self):
        """From the request until an event has come over the stream."""
        began = time.monotonic()
        run = self.run({"goal": "Look around", "agent": "researcher"})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        connection.request("GET", f"/api/v1/runs/{run}/stream", headers={"Authorization": f"Bearer {self.token}"})
        connection.getresponse().readline()
        took = time.monotonic() - began
        connection.close()
        self.over(run)
        return took

    def measures(self):
        """One value of each: seconds."""
        return {"a run with one answer": self.took({"goal": "Look around", "agent": "researcher"}),
                "a turn with a call": self.took({"goal": "Read it", "agent": "coder"}) / TURNS,
                "a step": self.took({"goal": "Do a chain"}) / STEPS,
                "the first event": self.first_event()}


def seconds_of(pid):
    """The processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes_of(pid):
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def rate(engines):
    """Runs of two steps per second, four at a time on each worker."""
    with ThreadPoolExecutor(4 * len(engines)) as threads:
        began = time.monotonic()
        list(threads.map(lambda n: engines[n % len(engines)].took({"goal": f"Do {n}"}), range(RUNS * len(engines))))
        return RUNS * len(engines) / (time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("updraft", type=Path)
    parser.add_argument("packages")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    updraft = str(given.updraft.resolve())
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        folder = Path(folder)
        node = Node(given.packages, folder).start()
        stack.callback(node.close)
        embedded = stack.enter_context(Engine(updraft, folder / "embedded"))
        workers = [stack.enter_context(Engine(updraft, folder / f"w{n}", node, f"w{n}")) for n in range(1, 5)]
        both = {"embedded": embedded, "restate": workers[0]}
        for engine in both.values():
            engine.measures()  # The first of each is not counted.
        found = {name: {} for name in both}
        for _ in range(given.rounds):
            for name, engine in both.items():
                for what, value in engine.measures().items():
                    found[name].setdefault(what, []).append(value)
        print("| | embedded | Restate | ratio |\n|---|---|---|---|")
        for what in found["embedded"]:
            one, other = (statistics.median(found[name][what]) * 1000 for name in both)
            print(f"| {what} | {one:.1f} ms | {other:.1f} ms | {other / one:.1f} |")
        processor = {"embedded": embedded.server.pid, "worker": workers[0].server.pid, "node": node.process.pid}
        before = {name: seconds_of(pid) for name, pid in processor.items()}
        for engine in both.values():
            for _ in range(3):
                engine.took({"goal": "Read it", "agent": "coder"})
        spent = {name: (seconds_of(pid) - before[name]) / (3 * TURNS) * 1000 for name, pid in processor.items()}
        print(f"\nprocessor time of a turn: embedded {spent['embedded']:.1f} ms; worker {spent['worker']:.1f} ms and node {spent['node']:.1f} ms")
        print("\n| runs per second | |\n|---|---|")
        print(f"| embedded | {rate([embedded]):.1f} |", flush=True)
        for count in (1, 2, 4):
            print(f"| Restate, {count} workers | {rate(workers[:count]):.1f} |", flush=True)
        size = sum(path.stat().st_blocks * 512 for path in node.folder.rglob("*") if path.is_file()) / 1e6
        print(f"\nmemory: embedded {megabytes_of(embedded.server.pid):.0f} MB, worker {megabytes_of(workers[0].server.pid):.0f} MB, node {megabytes_of(node.process.pid):.0f} MB; "
              f"the node's folder: {size:.0f} MB")


if __name__ == "__main__":
    main()
