"""Runs that are carried out while everything breaks: their worker, what they do, what is said to them, and what came of it."""

import glob
import http.client
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "api"))
from node import free_ports  # noqa: E402
from outside import furnish, plan  # noqa: E402
from world import World  # noqa: E402

# Nothing takes this long, in seconds, without any progress, unless it is stuck.
LIMIT = 120
# How long it is then left alone: if it goes on by itself, faults came too often.
ALONE = 60
STEPS = ["command", "pipe", "web", "both", "file", "question"]
# What is counted of each step.
COUNTED = {"command": ["command.0"], "pipe": ["pipe.0"], "web": ["web.0"], "both": ["both.0", "both.1"]}
GONE = (OSError, http.client.HTTPException, ValueError)


def faketime():
    """The library that shifts clocks, if it is installed."""
    return next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)


class ClusterWorker(World):
    """A worker of a cluster. Its workspace and large values are on folders that other machines have."""

    def __init__(self, updraft, folder, cluster, outside):
        self.place, self.moves = cluster.place.worker, 0
        options = ["--yes", "--engine", "restate", "--restate", cluster.ingress, "--restate-admin", cluster.admin,
                   "--worker-name", "w1", "--shared", "--blobs", f"{folder}/blobs", "--worker-listen", self.new_address()]
        if cluster.key:
            options += ["--identity-key", cluster.key]
        super().__init__(updraft, folder, options=options)
        furnish(self, outside)
        # Held while one machine takes the place of another: nobody reads its journal then.
        self.clock, self.moving = self.folder / "clock", threading.RLock()
        if faketime():
            self.clock.write_text("+0")
            self.environment |= {"LD_PRELOAD": faketime(), "FAKETIME_TIMESTAMP_FILE": str(self.clock),
                                 "FAKETIME_CACHE_DURATION": "1", "DONT_FAKE_MONOTONIC": "1"}

    def new_address(self):
        return f"{self.place}:{free_ports(1)[0]}"

    def trust(self):
        """Otherwise people are asked about commands: its files could hold instructions of strangers."""
        code, said = self.says("trust", "--yes")
        assert code == 0, said

    def move(self):
        """Another machine, with the settings of the one before and the shared folders, is to take its place. Returns the old home."""
        before, self.moves = self.home, self.moves + 1
        self.home = self.folder / f"home{self.moves}"
        (self.home / "updraft").mkdir(parents=True)
        for name in ("config.toml", "mcp.json"):
            shutil.copy(before / "updraft" / name, self.home / "updraft")
        shutil.copytree(before / "updraft/agents", self.home / "updraft/agents")
        self.environment = self.environment | {"HOME": str(self.home), "UPDRAFT_HOME": str(self.home / "updraft")}
        self.options[self.options.index("--worker-listen") + 1] = self.new_address()
        self.options = [*(option for option in self.options if option != "--take-over"), "--take-over"]
        self.trust()
        return before

    def says(self, *arguments):
        with self.moving:
            done = subprocess.run([self.updraft, *arguments], env=self.environment, cwd=self.work, capture_output=True, text=True, timeout=LIMIT)
        return done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def warnings(self):
        """The last warnings in its log, without those that every kill brings about."""
        log = self.home / "updraft/general.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        known = ("interrupted, and made again", "call ended", "call refused", "the worker is starting")
        return "\n".join([line for line in lines if (" WARN " in line or "ERROR" in line) and not any(word in line for word in known)][-40:])

    def ask(self, method, path, body=None, headers=None, patience=60):
        """An answer of the worker; None if it did not give one."""
        try:
            return self.send(method, path, body, headers=headers, patience=patience)
        except GONE:
            return None


def script(counts):
    """The model: a plan with all steps at the same time, each with its calls, and the end."""
    def said(asked):
        command = ("run_command", {"command": f"echo {asked.run}:{asked.step}.0 >> {counts}; sleep 0.2"})
        calls = {"command": [command], "pipe": [("mcp_pipe_count", {"name": f"{asked.run}:pipe.0"})],
                 "web": [("mcp_web_count", {"name": f"{asked.run}:web.0"})],
                 "both": [command, ("mcp_web_count", {"name": f"{asked.run}:both.1"})],
                 "file": [("write_file", {"path": f"made/{asked.run}.txt", "content": f"{asked.run}\n"})],
                 "question": [("ask_user", {"question": f"Which colour, {asked.run}?"})]}
        if asked.step == "plan":
            return plan(*((step, "doer", []) for step in STEPS), ("end", "thinker", STEPS))
        return calls[asked.step] if asked.turn == 0 and asked.step in calls else f"{asked.step} is over"
    return said


class Workload:
    """Runs that are carried out while everything breaks, and what was said to them."""

    def __init__(self, cluster, worker, outside, given):
        self.cluster, self.worker, self.outside, self.pause = cluster, worker, outside, given.pause
        self.dice, self.is_over, self.number, self.lock = random.Random(given.seed), threading.Event(), 0, threading.Lock()
        self.totals, self.broken = Counter(), []

    def carry_out(self):
        """One run after the other, until all faults are over."""
        try:
            while not self.is_over.is_set() and not self.broken:
                with self.lock:
                    self.number += 1
                    name = f"r{self.number}"
                self.one(name)
        except BaseException as why:  # Otherwise the thread would end without a word.
            self.broken.append(why)

    def patiently(self, what, act, seen=lambda: None):
        """Tries until there is a result: the worker may be away. If nothing that is seen changes for long, it is stuck."""
        began, before = time.monotonic(), seen()
        while time.monotonic() - began < LIMIT and not self.broken:
            result = act()
            if result is not None:
                return result
            if seen() != before:
                began, before = time.monotonic(), seen()
            time.sleep(0.1)
        assert not self.broken, "another run was broken"
        self.broken.append(AssertionError(f"stuck for {LIMIT} s: {what}\n{json.dumps(self.cluster.stuck(), indent=1)}"))
        time.sleep(ALONE)
        raise AssertionError(f"stuck: {what}; {ALONE} s later: {act() is not None} {seen()}\n{json.dumps(self.cluster.stuck(), indent=1)}")

    def one(self, name):
        """A goal that was accepted, to its end."""
        def begin():
            # The keys of requests are known to one machine only, so the next one is asked for something new.
            named = f"{name}m{self.worker.moves}" if self.worker.moves else name
            order = {"goal": f"<<{named}>> carry it out"}
            # Some give up soon and ask again; what they began must not be left lying.
            answer = self.worker.ask("POST", "/runs", order, {"Idempotency-Key": named}, patience=60 if self.chance(0.7) else 1)
            return (named, answer.json()["id"]) if answer and answer.status == 201 else None

        name, run = self.patiently(f"{name} is not begun", begin)
        accepted, last = {}, []

        def over():
            answer = self.worker.ask("GET", f"/runs/{run}")
            if not answer or answer.status != 200:
                return None
            seen = answer.json()
            last[:] = [seen["status"], seen["waits"], seen["updated"], seen["done"]]
            for waiting in seen["waits"]:
                self.respond(name, run, waiting, accepted)
            if seen["status"] == "paused":
                # A question to a model that was cut off ten times stops a run until a person continues it.
                if (answer := self.worker.ask("POST", f"/runs/{run}/resume", {})) and answer.status == 200:
                    self.totals["resumed by a person"] += 1
            if "told" not in accepted:
                self.tell(name, run, accepted)
            return seen if seen["status"] in ("done", "failed", "cancelled") else None

        try:
            seen = self.patiently(f"{name}, run {run}", over, lambda: list(last))
        except AssertionError as why:
            _, text = self.worker.says("export", run)
            self.broken.append(AssertionError(f"{why}\n{last}\n" + "\n".join(line[:600] for line in text.splitlines()[-6:])))
            raise
        assert seen["status"] == "done", seen
        self.judge(name, run, accepted)

    def chance(self, part):
        with self.lock:
            return self.dice.random() < part

    def respond(self, name, run, waiting, accepted):
        """Answers a question once: through the worker, or through Restate, which takes it while the worker is away."""
        at = waiting["id"]
        if at in accepted:
            return
        if waiting["kind"] == "approval":
            answer = self.worker.ask("POST", f"/runs/{run}/approve", {"allow": True, "approval": at})
            if answer and answer.status == 200:
                accepted[at] = None
            return
        text = f"colour-{name}"
        if self.chance(0.5):
            answer = self.worker.ask("POST", f"/runs/{run}/answer", {"question": at, "text": text})
            is_accepted = bool(answer) and answer.status == 200
        else:
            is_accepted = self.cluster.send("Runs.w1", run, "tell", {"answer": {"id": at, "text": text}}, f"answer-{name}")
        if is_accepted:
            accepted[at] = text

    def tell(self, name, run, accepted):
        """A message to a run, with a text of its own at each attempt."""
        attempt = accepted["attempts"] = accepted.get("attempts", 0) + 1
        text = f"note-{name}-{attempt}"
        answer = self.worker.ask("POST", f"/runs/{run}/tell", {"message": text})
        if answer and answer.status == 200:
            accepted["told"] = text
        elif answer and answer.status == 409:
            accepted["told"] = None  # It is over.

    def judge(self, name, run, accepted):
        """Everything happened once, or its agent was told; what was accepted is there; and the journal replays."""
        code, text = self.patiently(f"{run} cannot be exported", lambda: done(self.worker.says("export", run)))
        events = [event for line in text.splitlines() for event in json.loads(line).get("e", [])]
        counts = (self.worker.folder / "counts").read_text().split()
        calls = outcomes(events)
        doubts = Counter()
        for step, names in COUNTED.items():
            for number, effect in enumerate(names):
                happened = counts.count(f"{name}:{effect}") + self.outside.effects[f"{name}:{effect}"]
                outcome = calls.get((step, number))
                where = f"{name}:{effect} (run {run}, {outcome})"
                assert happened <= 1, f"{where} happened {happened} times"
                assert outcome in ("output", "in_doubt", "rejected"), f"{where} has no outcome"
                assert outcome != "output" or happened == 1, f"{where} is said to be done, and is not"
                assert outcome != "rejected" or happened == 0, f"{where} was refused, and done"
                self.totals[outcome] += 1
                self.totals["happened in doubt"] += outcome == "in_doubt" and happened
                doubts[step] += outcome == "in_doubt"
        for step, number in doubts.items():
            told = self.outside.told.get(f"{name}:{step}", 0)
            assert told == number, f"{number} outcomes of {name}:{step} are in doubt, and its agent was told of {told} (run {run})"
        made = self.worker.work / f"made/{name}.txt"
        assert calls.get(("file", 0)) == "rejected" or made.read_text() == f"{name}\n", f"{made} (run {run})"
        self.inputs(name, run, events, accepted)
        code, said = self.worker.says("replay", run)
        assert code == 0, f"{run} does not replay: {said}"
        self.totals["runs"] += 1

    def inputs(self, name, run, events, accepted):
        """What was accepted is recorded, once."""
        replied = [body for kind, body in map(parts, events) if kind == "replied"]
        for at, text in accepted.items():
            if "/" in at and text:
                heard = [body for body in replied if body["id"] == at]
                assert len(heard) == 1 and text in json.dumps(heard[0]["reply"]), f"the answer to {at} is lost (run {run}): {heard}"
                self.totals["answers"] += 1
        notes = Counter(body["message"] for kind, body in map(parts, events) if kind == "told")
        assert max(notes.values(), default=0) <= 1, f"said once, recorded more than once (run {run}): {notes}"
        if accepted.get("told"):
            assert notes[accepted["told"]] == 1, f"{accepted['told']} is lost (run {run}): {notes}"
            self.totals["messages"] += 1


def done(result):
    return result if result[0] == 0 else None


def parts(event):
    return next(iter(event.items())) if isinstance(event, dict) else (event, {})


def outcomes(events):
    """What became of each call of each step's first turn: the kind of its reply, or that it was refused."""
    found = {}
    for kind, body in map(parts, events):
        if kind in ("replied", "rejected") and "/call." in body["id"]:
            step, number = body["id"].split("/")[0], int(body["id"].rsplit("call.", 1)[1])
            found.setdefault((step, number), next(iter(body["reply"])) if kind == "replied" else "rejected")
    return found


if __name__ == "__main__":
    sys.exit(__doc__)
