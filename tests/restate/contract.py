"""Holds runs on Restate to docs/contract.md: property by property, cut off at chosen moments, counted outside.

contract.py UPDRAFT PACKAGES [--all]

A cell is a property, a way of starting, a kind of effect, a moment, and who is killed then: the worker, the node, or both. Without
--all, each kind of effect, each moment and each victim is tried once. Ends with 0 only if nothing is violated.
"""

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
from node import post  # noqa: E402
from records import decisions, doubts, refused, replies  # noqa: E402
from stage import Stage, effects, gate_of  # noqa: E402
from world import SECONDS  # noqa: E402

WAYS = ["planned", "agent", "swarm", "given plan"]
KINDS = ["model", "command", "write_file", "append_line", "pipe", "web", "two", "question", "approval", "wait"]
MOMENTS = ["before intent", "before effect", "after effect", "after record", "during resume"]
WHO = ["worker", "node", "both"]
PROPERTIES = ["prefix continuation", "effect exactly-once", "fork determinism", "checkpoint validity", "consume-once",
              "recovery determinism", "losers are told", "liveness"]


class Table:
    def __init__(self):
        self.tried, self.violated, self.prefixes = {name: 0 for name in PROPERTIES}, [], []

    def note(self, name, cell, check):
        self.tried[name] += 1
        try:
            check()
        except (AssertionError, OSError, KeyError) as why:
            print(f"violated: {name}: {cell}: {why}", flush=True)
            self.violated.append((name, cell))

    def __str__(self):
        count = {name: sum(1 for violated, _ in self.violated if violated == name) for name in PROPERTIES}
        return "\n".join(f"| {name} | {self.tried[name]} | {count[name]} |" for name in PROPERTIES)


def try_crash(table, stage, cell, name):
    """A run that is cut off and taken up again."""
    way, kind, moment, who = cell
    gate = gate_of(kind, moment, name, way)
    cut = stage.cut(gate, who)
    run = stage.begin_aside(way, name)
    stage.until_cut(cut, run)
    # Whoever started it may not have heard of it; and if the worker lives, it goes on meanwhile.
    known = run[0] if run else stage.known(name)
    before = stage.events(known) if known else []
    table.prefixes.append(len(before))
    asked = dict(stage.outside.asked)
    stage.mend(who)
    run = the(run)
    if moment == "during resume" and who != "node":
        gate = ("asked", f"{name}:act/1")
        again = stage.cut(gate, "worker")
        # Unless it has come further already, it is killed there.
        if again.wait(20) or stage.outside.gates.pop(gate, None) is None:
            again.wait(SECONDS)
            stage.mend("worker")
    ended = []
    table.note("liveness", cell, lambda: ended.append(is_over(stage.finish(run))))
    if ended:
        after = stage.events(run)
        table.note("prefix continuation", cell, lambda: goes_on(stage, run, name, before, after, asked))
        table.note("effect exactly-once", cell, lambda: is_done_once(stage, kind, name, after, who))


def raises(why):
    raise why


def the(found):
    """The id, once it is known."""
    for _ in range(SECONDS * 20):
        if found:
            return found[0]
        time.sleep(0.05)
    raise AssertionError("the run was not begun")


def is_over(seen):
    assert seen["status"] == "done" and seen["answer"] in ("the end", "acted"), seen


def goes_on(stage, run, name, before, after, asked):
    assert after[:len(before)] == before, "the journal does not begin as it was"
    for place in {f"{name}:{at.split('/')[0]}/{at.split('/')[2]}" for at in replies(before) if "/ask." in at}:
        assert asked.get(place) == stage.outside.asked.get(place), f"{place} was answered, and is asked again"
    assert max(replies(after).values(), default=0) <= 1, replies(after)
    done = subprocess.run([stage.updraft, "replay", run, "--strict"], env=stage.environment, cwd=stage.work, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def is_done_once(stage, kind, name, after, who):
    unknown = doubts(after)
    for number in range(effects(kind)):
        count = stage.happened(kind, name, number)
        assert count <= 1, f"{name}.{number} happened {count} times"
        assert count == 1 or number in unknown | refused(after), f"{name}.{number} is lost, and nobody was told"
    told = stage.outside.told.get(f"{name}:act", 0)
    assert told == len(unknown), f"{len(unknown)} are in doubt, and {told} were told"
    assert who != "node" or not unknown, "the worker lived, and still something is in doubt"


def try_fork(table, stage, way, kind, name):
    """Two forks at the same event decide the same, and repeat nothing."""
    run = stage.begin(way, name)
    is_over(stage.finish(run))
    events = stage.events(run)
    at = next(n for n, event in enumerate(events, 1) if event.get("replied", {}).get("id", "").endswith("call.0"))
    forks = []
    for _ in range(2):
        forked = stage.send("POST", f"/runs/{run}/fork", {"at": at})
        assert forked.status == 201, forked.body
        forks.append(forked.json()["id"])
        is_over(stage.finish(forks[-1]))

    def same():
        first, second = (decisions(stage.events(fork), fork) for fork in forks)
        assert first == second, [line for line in first + second if (line in first) != (line in second)][:4]
        for number in range(effects(kind)):
            count = stage.happened(kind, name, number)
            assert count == 1, f"{name}.{number} happened {count} times"

    table.note("fork determinism", (way, kind), same)


def try_recovery(table, stage, way, kind, moment, name):
    """Taken up twice from the same state: of the worker, and of Restate."""
    cut = stage.cut(gate_of(kind, moment, name, way), "both")
    run = stage.begin_aside(way, name)
    stage.until_cut(cut, run)
    assert run, "it was cut off before anybody knew of it"
    run = run[0]
    saved = stage.folder / "saved"
    stage.save(saved)
    seen = dict(stage.outside.effects), dict(stage.outside.asked)
    found = []
    for attempt in range(2):
        if attempt:
            stage.kill()
            stage.node.kill()
            stage.restore(saved)
            stage.outside.effects.clear()
            stage.outside.effects.update(seen[0])
        stage.mend("both")
        is_over(stage.finish(run))
        found.append(decisions(stage.events(run), run))
    shutil.rmtree(saved)

    def same():
        first, second = found
        assert first == second, [line for line in first + second if (line in first) != (line in second)][:4]

    table.note("recovery determinism", (way, kind, moment), same)


def try_word(table, stage, way, name):
    """A person's word: used for its question, once, whatever happens in between; the next question needs another."""
    run = stage.begin(way, name)
    waiting = stage.until_waiting(run)

    def second_is_refused():
        assert stage.respond(run, waiting) == 200
        assert stage.respond(run, waiting, "red") != 200, "a second answer is taken"
        is_over(stage.finish(run))
        assert stage.respond(run, waiting, "red") != 200, "an answer is taken when all is over"
        heard = stage.outside.heard[f"{name}:act/1"]
        assert "blue" in heard and "red" not in heard, heard

    table.note("consume-once", (way, "a second answer"), second_is_refused)


def try_word_and_crash(table, stage, way, who, name):
    """Restate has accepted an answer, and the worker is away."""
    run = stage.begin(way, name)
    at = stage.until_waiting(run)["id"]
    stage.kill()
    body = {"at": int(time.time() * 1000), "input": {"answer": {"id": at, "text": "green"}}}
    post(f"{stage.node.ingress}/Runs.w1/{run}/tell/send", body, {"idempotency-key": name})
    if who == "both":
        stage.node.kill()
    cut = stage.cut(("asked", f"{name}:act/1"), "worker")
    stage.mend("both" if who == "both" else "worker")

    def used_once():
        assert cut.wait(SECONDS), "the answer is not used"
        stage.start()
        is_over(stage.finish(run))
        assert "green" in stage.outside.heard[f"{name}:act/1"]
        assert replies(stage.events(run))[at] == 1

    table.note("consume-once", (way, "an answer, and a crash before it is used", who), used_once)


def try_same_again(table, stage, way, name):
    """The same question again needs a new answer."""
    run = stage.begin(way, name)
    first = stage.until_waiting(run)
    assert stage.respond(run, first) == 200

    def asked_again():
        for _ in range(SECONDS * 20):
            waits = stage.send("GET", f"/runs/{run}").json()["waits"]
            if waits and waits[0]["id"] != first["id"]:
                break
            time.sleep(0.05)
        assert waits and waits[0]["id"] != first["id"], "nobody is asked the second time"
        is_over(stage.finish(run))

    table.note("consume-once", (way, "a second question"), asked_again)


def try_losing_verdicts(table, stage, way, name):
    """Of several that allow and deny at once, one wins and the others are told."""
    run = stage.begin(way, name)
    waiting = stage.until_waiting(run)
    words = [True, False, True, False]
    with ThreadPoolExecutor() as threads:
        said = list(threads.map(lambda allow: stage.respond(run, waiting, allow=allow), words))
    seen = stage.finish(run)

    def one_wins():
        is_over(seen)
        # Whoever says the same a moment later is right as well.
        winners = {word for word, status in zip(words, said) if status == 200}
        assert len(winners) == 1, f"these were told that theirs counts: {winners}"
        assert stage.happened("approval", name, 0) == int(winners.pop()), "another word was followed"
        given = [event["replied"] for event in stage.events(run) if event.get("replied", {}).get("id") == waiting["id"]]
        assert len(given) == 1, given

    table.note("losers are told", (way, "approvals and denials"), one_wins)


def try_losing_owners(table, stage, way, name):
    """A run that is paused is resumed once; and nobody else becomes its worker, or continues it without Restate."""
    run = stage.begin(way, name)
    waiting = stage.until_waiting(run)
    assert stage.send("POST", f"/runs/{run}/pause", {}).status == 200
    stage.until(run, "paused")
    with ThreadPoolExecutor() as threads:
        said = [one.status for one in threads.map(lambda _: stage.send("POST", f"/runs/{run}/resume", {}), range(3))]
    # All of them want the same, and have it.
    table.note("losers are told", (way, "resumes"), lambda: resumed_once(stage.events(run), said))

    def are_told():
        words = ["serve", "--listen", "127.0.0.1:0", "--workspace", str(stage.work), "--model", stage.model, *stage.options]
        for command, why in (words, "runs already on this machine"), (["resume", run], "is kept by Restate"):
            done = subprocess.run([stage.updraft, *command], env=stage.environment, cwd=stage.work, capture_output=True, text=True, timeout=SECONDS)
            assert done.returncode != 0 and why in done.stderr, (command, done)
        assert stage.respond(run, waiting) == 200
        is_over(stage.finish(run))

    table.note("losers are told", (way, "other processes"), are_told)


def resumed_once(events, statuses):
    count = sum(1 for event in events if "resumed" in event)
    assert count == 1 and 200 in statuses, f"resumed {count} times: {statuses}"


def try_losers(table, stage, way, name):
    """Of several that answer at once, one wins and the others are told."""
    run = stage.begin(way, name)
    waiting = stage.until_waiting(run)
    words = ["red", "green", "black", "white"]
    with ThreadPoolExecutor() as threads:
        said = list(threads.map(lambda word: stage.respond(run, waiting, word), words))
    seen = stage.finish(run)

    def one_wins():
        is_over(seen)
        winners = [word for word, status in zip(words, said) if status == 200]
        assert len(winners) == 1, f"these were told that theirs counts: {winners}"
        assert winners[0] in stage.outside.heard[f"{name}:act/1"]

    table.note("losers are told", (way, "answers"), one_wins)


def try_moved(table, stage, way, name):
    """Exported from Restate after a crash, it continues on the embedded engine of another home."""
    cut = stage.cut(("after", f"{name}.0"), "both")
    run = stage.begin_aside(way, name)
    stage.until_cut(cut, run)
    exported = subprocess.run([stage.updraft, "export", run[0]], env=stage.environment, cwd=stage.work, capture_output=True, text=True, check=True)
    other = stage.folder / "other"
    shutil.copytree(stage.home / "updraft/agents", other / "agents")
    (other / "run.jsonl").write_text(exported.stdout)
    environment = {**stage.environment, "UPDRAFT_HOME": str(other)}

    def updraft(*words):
        done = subprocess.run([stage.updraft, *words], env=environment, cwd=stage.work, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stderr)

    def goes_on_there():
        updraft("import", str(other / "run.jsonl"), "--id", "copy")
        updraft("resume", "copy", "--workspace", str(stage.work), "--mode", "full", "--no-sandbox", "--model", stage.model)
        assert stage.outside.effects[f"{name}.0"] == 1, stage.outside.effects[f"{name}.0"]
        updraft("replay", "copy", "--strict")

    table.note("checkpoint validity", (way, "exported, imported and taken up"), goes_on_there)
    stage.mend("both")
    stage.finish(run[0])


def logged(stage, run, word):
    """The entry of a run's log in Restate that contains a word. Until all partitions have a leader again, a query sees only some."""
    query = f"select service_key, value_utf8 from state where service_name = 'Log.w1' and service_key like '{run}~%'"
    deadline = time.time() + 60
    while True:
        _, found = post(f"{stage.node.admin}/query", {"query": query}, {"accept": "application/json"})
        rows = json.loads(found)["rows"]
        for row in rows:
            if word in row["value_utf8"]:
                return row
        assert time.time() < deadline, f"no entry of {run} has the word {word}: {[row['service_key'] for row in rows]}"
        time.sleep(0.2)


def try_damaged(table, stage, way, name):
    """A log that was changed in Restate is refused in words, and nothing is done with it."""
    run = stage.begin(way, name)
    at = stage.until_waiting(run)["id"]
    stage.kill()
    row = logged(stage, run, "colour")
    key, changed = row["service_key"], list(row["value_utf8"].replace("colour", "flavour").encode())
    post(f"{stage.node.admin}/services/Log.w1/state", {"object_key": key, "new_state": {"entry": changed}})
    time.sleep(0.5)
    stage.start()

    def is_refused():
        try:
            post(f"{stage.node.ingress}/Runs.w1/{run}/tell", {"at": 1, "input": {"answer": {"id": at, "text": "blue"}}})
        except urllib.error.HTTPError as fault:
            assert fault.code == 422 and b"is not what was written" in fault.read(), fault
        else:
            raise AssertionError("an answer was decided about with a log that was changed")

    table.note("checkpoint validity", (way, "its log in Restate was changed"), is_refused)


def cells(dice, every):
    """The cells of crashes: all, or each kind of effect, each moment and each victim at least once."""
    found = [(way, kind, moment, who) for way in WAYS for kind in KINDS for moment in MOMENTS for who in WHO
             if gate_of(kind, moment, "x", way)]
    if every:
        return found
    dice.shuffle(found)
    chosen, seen = [], set()
    for cell in found:
        if not set(cell[1:]) <= seen:
            chosen.append(cell)
            seen |= set(cell[1:])
    return chosen


def main():
    every = "--all" in sys.argv
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if len(words) != 2:
        sys.exit(__doc__)
    seed = random.randrange(1 << 32)
    print(f"  seed {seed}")
    dice, table, began = random.Random(seed), Table(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(str(Path(words[0]).resolve()), words[1], folder)
        stage.node.start()
        try:
            subprocess.run([stage.updraft, "trust", "--yes"], env=stage.environment, cwd=stage.work, check=True, capture_output=True)
            stage.start()
            for number, cell in enumerate(cells(dice, every)):
                try:
                    try_crash(table, stage, cell, f"{cell[1]}_{number}")
                except AssertionError as why:
                    table.note("liveness", cell, lambda why=why: raises(why))
                    stage.set_right()
            for number, way in enumerate(WAYS if every else ["agent", "given plan"]):
                try_fork(table, stage, way, "command", f"command_f{number}")
                try_word(table, stage, way, f"question_w{number}")
                try_word_and_crash(table, stage, way, ["worker", "both"][number % 2], f"question_c{number}")
                try_same_again(table, stage, way, f"again_question_{number}")
                try_losers(table, stage, way, f"question_l{number}")
                try_losing_verdicts(table, stage, way, f"approval_l{number}")
                try_losing_owners(table, stage, way, f"question_o{number}")
                try_recovery(table, stage, way, ["command", "web"][number % 2], "after effect", f"{['command', 'web'][number % 2]}_r{number}")
            try_moved(table, stage, "planned", "command_m")
            try_damaged(table, stage, "agent", "question_d")
        except BaseException:
            print(stage.log.read_text()[-3000:], stage.node.said(), file=sys.stderr)
            raise
        finally:
            if stage.server and stage.server.poll() is None:
                stage.kill()
            stage.node.close()
            stage.outside.close()
    print("| property | cells tried | violated |\n|---|---|---|")
    print(table)
    print(f"  {sum(map(bool, table.prefixes))} of {len(table.prefixes)} had records when they were cut off, {max(table.prefixes)} events at most")
    print(f"contract: {'ok' if not table.violated else 'VIOLATED'} (after {time.monotonic() - began:.1f} s)")
    sys.exit(1 if table.violated else 0)


if __name__ == "__main__":
    main()
