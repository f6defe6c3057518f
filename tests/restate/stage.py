"""One node and its worker, in which the cells of the contract are tried; what a run does there, and the moments at which it can be cut off."""

import http.client
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "api"))
from node import Node, free_ports  # noqa: E402
from outside import Outside, furnish, plan  # noqa: E402
from records import events_in  # noqa: E402
from world import SECONDS, World  # noqa: E402

# Those that the world outside hears of, so that it can end the worker at that moment.
HEARD = ["command", "web", "two", "approval"]
PLAN = plan(("act", "doer", []), ("end", "thinker", ["act"]))
COUNT = """exec 3<>/dev/tcp/127.0.0.1/PORT
printf 'POST /count/%s HTTP/1.1\\r\\ncontent-length: 0\\r\\n\\r\\n' "$1" >&3
read -r line <&3
echo "$line"
"""


def calls(kind, name):
    """The calls of the step that acts."""
    def command(number, program):
        return "run_command", {"command": f"bash {program}.sh {name}.{number}"}
    return {"model": [], "wait": [], "command": [command(0, "count")], "approval": [command(0, "allow")],
            "write_file": [("write_file", {"path": f"deep/{name}.txt", "content": f"{name}.0\n"})],
            "append_line": [("append_line", {"path": f"{name}.log", "line": f"{name}.0"})],
            "pipe": [("mcp_pipe_count", {"name": f"{name}.0"})], "web": [("mcp_web_count", {"name": f"{name}.0"})],
            "two": [command(0, "count"), ("mcp_web_count", {"name": f"{name}.1"})],
            "question": [("ask_user", {"question": "Which colour?"})]}[kind]


def effects(kind):
    return {"two": 2, "model": 0, "wait": 0, "question": 0}.get(kind, 1)


class Stage(World):
    """One node and its worker, in which cells are tried one after the other. A run's name begins with its kind of effect."""

    def __init__(self, updraft, packages, folder):
        self.node = Node(packages, folder)
        self.outside, self.seen_busy = Outside(self.said), set()
        (listen,) = free_ports(1)
        options = ["--yes", "--network", "host", "--engine", "restate", "--restate", self.node.ingress, "--restate-admin", self.node.admin,
                   "--worker-listen", f"127.0.0.1:{listen}", "--worker-name", "w1"]
        super().__init__(updraft, folder, "[rules]\nask = [\"run_command(bash allow.sh)\"]\n", options=options)
        furnish(self, self.outside)
        for program in ("count", "allow"):
            (self.work / f"{program}.sh").write_text(COUNT.replace("PORT", str(self.outside.port)))

    def said(self, asked):
        kind = asked.run.rsplit("_", 1)[0].removeprefix("again_")
        if asked.step == "plan":
            return PLAN
        if asked.step == "act" and kind == "wait" and asked.turn == 0 and asked.run not in self.seen_busy:
            self.seen_busy.add(asked.run)
            return None
        asks = 2 if asked.run.startswith("again_") else 1
        if "may have happened elsewhere" in asked.told:
            return "acted"  # Whoever takes over a copy is told that, and looks before doing it again.
        if asked.step == "act" and asked.turn < asks and calls(kind, asked.run):
            return calls(kind, asked.run)
        return "acted" if asked.step == "act" else "the end"

    def begin(self, way, name):
        """Starts a run, and says so again if the worker ended before it could answer."""
        order = {"goal": f"<<{name}>> carry it out"}
        if way == "agent":
            order = {"goal": f"[[act]] <<{name}>> carry it out", "agent": "doer"}
        elif way == "swarm":
            order["swarm"] = True
        elif way == "given plan":
            order["plan"] = json.loads(PLAN)
        for _ in range(SECONDS * 10):
            try:
                return self.run(order, headers={"Idempotency-Key": name})
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)  # The worker is being started again.
        raise AssertionError("it is not begun")

    def known(self, name):
        """The id of a run by its name, if the journal has it."""
        done = subprocess.run([self.updraft, "runs", "--json"], env=self.environment, cwd=self.work, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return next((run["run"] for run in map(json.loads, done.stdout.splitlines()) if f"<<{name}>>" in run["goal"]), None)

    def events(self, run):
        done = subprocess.run([self.updraft, "export", run], env=self.environment, cwd=self.work, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return events_in(done.stdout)

    def begin_aside(self, way, name):
        """Starts a run that will be cut off. Returns a list that gets its id."""
        found = []
        threading.Thread(target=lambda: found.append(self.begin(way, name)), daemon=True).start()
        return found

    def until_cut(self, cut, found):
        """Waits for a kill, with a person's word where it is needed to come that far."""
        began = time.monotonic()
        while not cut.wait(0.02):
            assert time.monotonic() - began < SECONDS, f"it was not cut off at {list(self.outside.gates)}; {found}, {list(self.outside.asked)[-4:]}"
            if found and self.server.poll() is None:
                try:
                    for waiting in self.send("GET", f"/runs/{found[0]}").json()["waits"]:
                        self.respond(found[0], waiting)
                except (OSError, http.client.HTTPException):
                    continue  # It was just cut off.

    def cut(self, gate, who):
        """Has the worker, the node or both killed when a gate is reached. Returns an event that is set when that is done."""
        done = threading.Event()

        def act():
            if who != "node":
                self.kill()
            if who != "worker":
                self.node.kill()
            done.set()
            return who != "node"

        self.outside.when(gate, act)
        return done

    def mend(self, who):
        if who != "worker":
            self.node.start()
        if who != "node":
            self.start()

    def set_right(self):
        """Worker and node run, and nothing will be cut off."""
        self.outside.gates.clear()
        if self.node.process.poll() is not None:
            self.node.start()
        if self.server.poll() is not None:
            self.start()

    def finish(self, run):
        """The run at its end, with a person who answers and allows. Raises if it is stuck."""
        began = time.monotonic()
        while time.monotonic() - began < SECONDS * 2:
            seen = self.send("GET", f"/runs/{run}").json()
            if seen["status"] in ("done", "failed", "cancelled"):
                return seen
            for waiting in seen["waits"]:
                self.respond(run, waiting)
            time.sleep(0.03)
        raise AssertionError(f"{run} is stuck: {seen['status']} {seen['waits']} {self.node.stuck()}")

    def respond(self, run, waiting, text="blue", allow=True):
        if waiting["kind"] == "question":
            return self.send("POST", f"/runs/{run}/answer", {"question": waiting["id"], "text": text}).status
        return self.send("POST", f"/runs/{run}/approve", {"approval": waiting["id"], "allow": allow}).status

    def until_waiting(self, run):
        return self.until(run, "waiting")["waits"][0]

    def save(self, aside):
        """Copies what worker and node have on disk."""
        for name in ("home", "work", self.node.name):
            shutil.copytree(self.folder / name, aside / name, symlinks=True)

    def restore(self, aside):
        for name in ("home", "work", self.node.name):
            shutil.rmtree(self.folder / name)
            shutil.copytree(aside / name, self.folder / name, symlinks=True)

    def happened(self, kind, name, number):
        """How often an effect happened, wherever it is to be seen."""
        files = {"write_file": self.work / f"deep/{name}.txt", "append_line": self.work / f"{name}.log", "pipe": self.folder / "counts"}
        if kind in files:
            return files[kind].read_text().split().count(f"{name}.{number}") if files[kind].exists() else 0
        return self.outside.effects[f"{name}.{number}"]


def gate_of(kind, moment, name, way):
    """What has to happen for a kill; None if there is no such moment."""
    has_calls = bool(calls(kind, name))
    # Of two at once, the command may be refused if the other has brought in words from outside.
    effect = f"{name}.1" if kind == "two" else f"{name}.0"
    if moment == "before intent":
        return ("asked", f"{name}:act/0")
    if moment == "before effect":
        return ("before", effect) if kind in HEARD else None
    if moment == "after record":
        return ("asked", f"{name}:act/1") if has_calls else ("asked", f"{name}:end/0") if way != "agent" else None
    if kind in HEARD:
        return ("after", effect)
    return ("asked", f"{name}:act/1") if moment == "during resume" and has_calls else None


if __name__ == "__main__":
    sys.exit(__doc__)
