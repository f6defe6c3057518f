"""What takes long or changes under runs on Restate: a question answered a day later, a cancel, an upgrade of the program.

later.py UPDRAFT PACKAGES [--runs N] [--from BINARY] [--cancels N]

A day passes for the worker by libfaketime, while everything is down; the node's program is static and keeps its clock. The upgrade is
from BINARY (by default a copy of UPDRAFT) to UPDRAFT, with N runs under way.
"""

import argparse
import filecmp
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
from node import Node, free_ports, post  # noqa: E402
from outside import Outside, furnish, plan  # noqa: E402
from records import doubts, events_in, refused  # noqa: E402
from workload import faketime  # noqa: E402
from world import SECONDS, World  # noqa: E402


def script(counts):
    def said(asked):
        calls = {"ask": [("ask_user", {"question": "Which colour?"})],
                 "act": [("run_command", {"command": f"echo {asked.run} >> {counts}; sleep 0.2"})],
                 "sleep": [("run_command", {"command": f"sh -c 'sleep 987654 # {asked.run}' & sleep 987654"})]}
        if asked.step == "plan":
            return plan(("ask", "doer", []), ("act", "doer", ["ask"]), ("end", "thinker", ["act"]))
        return calls[asked.step] if asked.turn == 0 and asked.step in calls else f"{asked.step} is over"
    return said


class NodeAndWorker(World):
    def __init__(self, updraft, packages, folder):
        self.node, self.outside = Node(packages, folder), Outside(script(Path(folder) / "counts"))
        (listen,) = free_ports(1)
        options = ["--yes", "--engine", "restate", "--restate", self.node.ingress, "--restate-admin", self.node.admin,
                   "--worker-listen", f"127.0.0.1:{listen}", "--worker-name", "w1"]
        super().__init__(updraft, folder, options=options)
        furnish(self, self.outside)

    def __enter__(self):
        self.node.start()
        subprocess.run([self.updraft, "trust", "--yes"], env=self.environment, cwd=self.work, check=True, capture_output=True)
        return self.start()

    def __exit__(self, kind, *_):
        if kind:
            print(self.log.read_text()[-3000:], self.node.said(), file=sys.stderr)
        self.close()
        self.node.close()
        self.outside.close()

    def says(self, *words):
        done = subprocess.run([self.updraft, *words], env=self.environment, cwd=self.work, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def waiting(self, run):
        return self.until(run, "waiting")["waits"][0]["id"]

    def over(self, run):
        """Waits for the end, and allows what has to be allowed."""
        for _ in range(SECONDS * 20):
            seen = self.send("GET", f"/runs/{run}").json()
            if seen["status"] in ("done", "failed", "cancelled"):
                return seen["status"]
            for waits in seen["waits"]:
                if waits["kind"] == "approval":
                    self.send("POST", f"/runs/{run}/approve", {"approval": waits["id"], "allow": True})
            time.sleep(0.05)
        raise AssertionError(f"{run} is stuck: {seen['status']} {json.dumps(self.node.stuck())}")


def a_day_later(updraft, packages, folder):
    """Everything is killed while a run waits for a person; a day later it is started, and the answer counts."""
    world = NodeAndWorker(updraft, packages, folder)
    clock = world.folder / "clock"
    clock.write_text("+0")
    world.environment |= {"LD_PRELOAD": faketime(), "FAKETIME_TIMESTAMP_FILE": str(clock), "DONT_FAKE_MONOTONIC": "1"}
    with world:
        runs = [world.run({"goal": f"<<d{n}>> carry it out"}) for n in range(2)]
        questions = [world.waiting(run) for run in runs]
        world.kill()
        world.node.kill()
        clock.write_text("+90000")
        world.node.start()
        world.start()
        given = {"answer": {"id": questions[0], "text": "red"}}
        post(f"{world.node.ingress}/Runs.w1/{runs[0]}/tell", {"at": int(time.time() * 1000) + 90_000_000, "input": given})
        # One after the other: what one command has seen could make the other's unsafe, which is then refused.
        assert world.over(runs[0]) == "done"
        world.send("POST", f"/runs/{runs[1]}/answer", {"question": questions[1], "text": "red"})
        for run in runs:
            assert world.over(run) == "done"
            world.says("replay", run)
            records = map(json.loads, world.says("export", run).splitlines())
            times = [record["at"] for record in records if "seq" in record]
            assert times[-1] - times[0] > 86_400_000, "no day has passed"
        counts = (world.folder / "counts").read_text().split()
        assert sorted(counts) == ["d0", "d1"], counts
    print("  2 questions answered after a restart of everything, 25 hours later: both used, each command done once")


def sleepers(name):
    """Processes of a command that is to be cancelled."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"sleep 987654" in (entry / "cmdline").read_bytes().replace(b"\0", b" "):
                environment = (entry / "environ").read_bytes()
                if name.encode() in environment or name.encode() in os.readlink(entry / "cwd").encode():
                    found.append(entry.name)
        except OSError:
            continue
    return found


def cancels(updraft, packages, folder, count):
    """How long it takes from a cancel until no process of the command is left."""
    took = {"the API": [], "Restate": []}
    with NodeAndWorker(updraft, packages, folder) as world:
        for n in range(count):
            for way, times in took.items():
                run = world.run({"goal": f"[[sleep]] <<c{n}{way[-1]}>> carry it out", "agent": "doer"})
                until(lambda: len(sleepers(str(world.folder))) >= 2)
                began = time.monotonic()
                if way == "the API":
                    world.send("POST", f"/runs/{run}/cancel")
                else:
                    body = {"at": int(time.time() * 1000), "input": {"cancel": {"by": "ann"}}}
                    post(f"{world.node.ingress}/Runs.w1/{run}/tell", body)
                until(lambda: not sleepers(str(world.folder)))
                times.append(time.monotonic() - began)
                assert world.over(run) == "cancelled"
    for way, times in took.items():
        print(f"  a cancel through {way} ends a command and its children: {len(times)} tried, the slowest took {max(times) * 1000:.0f} ms "
              f"(all: {', '.join(f'{took * 1000:.0f}' for took in sorted(times))})")


def until(holds):
    for _ in range(SECONDS * 100):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it does not come to pass")


def upgrade(updraft, packages, folder, old, runs):
    """A third of the runs wait for a person, a third is working, and a third is about to, when the program is replaced."""
    program = Path(folder) / "updraft"
    shutil.copy(old, program)
    with NodeAndWorker(str(program), packages, folder) as world:
        with ThreadPoolExecutor(4) as threads:
            begun = list(threads.map(lambda n: world.run({"goal": f"<<u{n}>> carry it out"}), range(runs)))
        questions = {run: world.waiting(run) for run in begun}

        def answer(run):
            said = world.send("POST", f"/runs/{run}/answer", {"question": questions[run], "text": "red"})
            assert said.status == 200, said.body

        third = runs // 3
        for run in begun[:third]:
            answer(run)
        world.close()
        with open(world.log, "a") as log:
            log.write("\0")
        # Restate takes these while no worker is there.
        for run in begun[third:2 * third]:
            body = {"at": int(time.time() * 1000), "input": {"answer": {"id": questions[run], "text": "red"}}}
            post(f"{world.node.ingress}/Runs.w1/{run}/tell/send", body)
        os.remove(program)
        shutil.copy(updraft, program)
        began = time.monotonic()
        world.start()
        for run in begun[2 * third:]:
            answer(run)
        unknown, untaken = [], []
        for n, run in enumerate(begun):
            assert world.over(run) == "done"
            events = events_in(world.says("export", run))
            count = (world.folder / "counts").read_text().split().count(f"u{n}")
            assert count <= 1, f"the command of {run} was done {count} times"
            unknown += [run] if doubts(events) else []
            # One that was allowed is refused if words of strangers have come in since; the agent is told that too.
            untaken += [run] if refused(events) else []
            assert count or run in unknown or run in untaken, f"the command of {run} is missing, and nobody was told"
        took = time.monotonic() - began
        done = len((world.folder / "counts").read_text().split())
        for run in begun[::10]:
            world.says("replay", run)
        assert not world.node.stuck(), world.node.stuck()
    by = "itself" if filecmp.cmp(old, updraft, shallow=False) else "another one"
    print(f"  the program was replaced by {by} under {runs} runs: all done {took:.1f} s later, {done} commands done once, {len(unknown)} in doubt and told, "
          f"{len(untaken)} refused, 0 repeated")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("updraft", type=Path)
    parser.add_argument("packages")
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--cancels", type=int, default=2)
    parser.add_argument("--from", dest="old", type=Path)
    given = parser.parse_args()
    updraft, began = str(given.updraft.resolve()), time.monotonic()
    parts = [("cancel", lambda folder: cancels(updraft, given.packages, folder, given.cancels)),
             ("upgrade", lambda folder: upgrade(updraft, given.packages, folder, given.old or updraft, given.runs))]
    if faketime():
        parts.insert(0, ("a day later", lambda folder: a_day_later(updraft, given.packages, folder)))
    else:
        print("  SKIP  a day later: no libfaketime (apt install libfaketime)")
    for name, part in parts:
        with tempfile.TemporaryDirectory() as folder:
            part(folder)
        print(f"{name}: ok (after {time.monotonic() - began:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
