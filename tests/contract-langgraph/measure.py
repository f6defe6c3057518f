"""The probes of docs/contract.md on LangGraph with its SqliteSaver: the same table.

    PYTHON=$(python3 tests/judges/environment.py tests/contract-langgraph/requirements.txt)
    $PYTHON tests/contract-langgraph/measure.py [-v]

Every life is a process that kills itself with SIGKILL at a gate, and every call says `durability="sync"`. LangGraph asks
its users to make effects idempotent; what is counted here is what happens to those that are not.
"""

import sqlite3
import sys
import tempfile
from collections import defaultdict

from graphs import KINDS, THREAD, WAYS, World, answer, begin, go_on
from lives import at_once, copy, live

PROPERTIES = ["prefix continuation", "effect exactly-once", "fork determinism", "checkpoint validity", "consume-once",
              "recovery determinism", "losers are told", "liveness"]
CUTS = ["before", "after", "recorded", "during resume"]
PROCESSES = 4
rows = defaultdict(lambda: [0, []])


def note(name, cell, why):
    rows[name][0] += 1
    if why:
        rows[name][1].append(f"{name}: {cell}: {why}")


def word(kind):
    return "yes" if kind == "approval" else "blue"


def lead_up_to(way, kind, cut):
    """A folder in which a run was cut off; with a person's word where it needs one."""
    folder = tempfile.mkdtemp()
    gate = "after" if cut == "during resume" else cut
    if kind in ("question", "approval"):
        live(folder, None, begin, way, kind)
        life = live(folder, gate, answer, way, kind, word(kind))
    else:
        life = live(folder, gate, begin, way, kind)
    assert life.killed, (way, kind, cut, life.words)
    if cut == "during resume":
        live(folder, "recorded", go_on, way, kind)
    return folder


def history(world, way, kind):
    """The checkpoints, oldest first."""
    states = list(world.app(way, kind).get_state_history(THREAD))
    return [state.config["configurable"]["checkpoint_id"] for state in reversed(states)]


def ended(world, way, kind):
    state = world.app(way, kind).get_state(THREAD)
    return {"values": state.values, "next": state.next, "waits": len(state.interrupts)}


def recover(folder, way, kind):
    """Goes on; a person says it again where they are asked again."""
    for _ in range(4):
        life = live(folder, None, go_on, way, kind)
        if not life.ok:
            return life, None
        now = live(folder, None, ended, way, kind).value
        if not now["waits"]:
            return life, now
        live(folder, None, answer, way, kind, word(kind))
    return life, now


def crash(way, kind, cut):
    cell = f"{way}, {kind}, {cut}"
    folder = lead_up_to(way, kind, cut)
    before = live(folder, None, history, way, kind).value
    first, second = folder, copy(folder)
    came = []
    for there in (first, second):
        life, now = recover(there, way, kind)
        came.append((life.value, now))
        is_over = life.ok and now and not now["next"] and "the end" in str(life.value)
        note("liveness", cell, None if is_over else f"it does not end: {life.words}")
        after = live(there, None, history, way, kind).value or []
        done = World(there).done()
        again = done.count("before") > 1
        note("prefix continuation", cell,
             "a finished step is run again" if again else None if after[:len(before)] == before else "the history changed")
        twice = sorted({name for name in done if name != "before" and done.count(name) > 1})
        lost = not any(name != "before" for name in done)
        note("effect exactly-once", cell, f"{twice} happened twice" if twice else "lost" if lost else None)
    note("recovery determinism", cell, None if came[0] == came[1] else f"{came[0]} and {came[1]}")


def fork(way, kind):
    """Two forks from the checkpoint before the end."""
    folder = tempfile.mkdtemp()
    live(folder, None, begin, way, kind)
    done = World(folder).done()

    def from_there(world):
        app = world.app(way, kind)
        if way == "functional":
            # Its checkpoints are those of whole runs: the oldest is where it began.
            at = list(app.get_state_history(THREAD))[-1].config
        else:
            at = next(state.config for state in app.get_state_history(THREAD) if state.next == ("end",))
        return app.invoke(None, at, durability="sync")

    first = live(folder, None, from_there)
    second = live(folder, None, from_there)
    same = first.ok and second.ok and first.value == second.value
    again = way != "functional" and World(folder).done() != done
    note("fork determinism", f"{way}, {kind}",
         f"they differ: {first.words} {second.words}" if not same else "a fork did again what was recorded" if again else None)


def consume(way, kind):
    """A second word after the first; a crash before it is used; the same question twice."""
    folder = tempfile.mkdtemp()
    live(folder, None, begin, way, kind)
    live(folder, None, answer, way, kind, word(kind))
    done = World(folder).done()
    live(folder, None, answer, way, kind, "red")
    # That it is ignored without a word is counted under "losers are told".
    note("consume-once", f"{way}, {kind}, a second word", "it is used as well" if World(folder).done() != done else None)

    folder = tempfile.mkdtemp()
    live(folder, None, begin, way, kind)
    live(folder, "before", answer, way, kind, word(kind))
    life, _ = recover(folder, way, kind)
    acts = [name for name in World(folder).done() if name != "before"]
    note("consume-once", f"{way}, {kind}, a crash before it is used",
         None if len(acts) == 1 and life.ok else f"{acts} {life.words}")


def losers(way, kind):
    folder = tempfile.mkdtemp()
    if kind == "effect":
        live(folder, "before", begin, way, kind)
        lives = at_once(folder, [(go_on, way, kind)] * PROCESSES)
    else:
        live(folder, None, begin, way, kind)
        words = ["red", "green", "blue", "black"] if kind == "question" else ["yes", "no", "yes", "no"]
        lives = at_once(folder, [(answer, way, kind, one) for one in words])
    acts = [name for name in World(folder).done() if name != "before"]
    winners = sum(life.ok for life in lives)
    why = None
    if len(acts) > 1:
        why = f"{len(acts)} of them acted: {acts}"
    elif winners > 1 and kind != "effect":  # those who come when all is over may well be shown the end
        why = f"{winners} were told that theirs counts"
    note("losers are told", f"{way}, {kind}", why)


def cut_to(path, parts):
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[:len(data) // parts])


def put(path, data, mode="wb"):
    with open(path, mode) as file:
        file.write(data)


def letter(path, old, new):
    """Other letters where a checkpoint keeps a value, once all of the log is in the database."""
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with open(path, "rb") as file:
        data = file.read()
    put(path, data.replace(old, new))


DAMAGES = {
    "the database is cut in half": lambda path: cut_to(path, 2),
    "the database is cut to a few bytes": lambda path: cut_to(path, 1000),
    "the database is garbage": lambda path: put(path, b"x" * 10_000),
    "the database is empty space": lambda path: put(path, b"\0" * 8192),
    "the log is garbage": lambda path: put(path + "-wal", b"x" * 10_000),
    "the log is cut in half": lambda path: cut_to(path + "-wal", 2),
    "the log ends in garbage": lambda path: put(path + "-wal", b"x" * 5_000, "ab"),
    "a recorded value has other letters": lambda path: letter(path, b"was", b"wax"),
}


def damage(way, name):
    """Refused in words, or gone on with as it was; never with another state, and never from the beginning."""
    folder = lead_up_to(way, "effect", "after")
    whole = copy(folder)
    live(whole, None, go_on, way, "effect")
    DAMAGES[name](folder + "/db.sqlite")
    life = live(folder, None, go_on, way, "effect")
    why = None
    if World(folder).done().count("before") > World(whole).done().count("before"):
        why = "a finished step is run again"
    elif life.ok and way != "functional" and life.value.get("before") != "was":
        why = f"it goes on with another state: {life.value}"
    elif not life.ok and not life.words:
        why = "it ends without a word"
    note("checkpoint validity", f"{way}, {name}", why)


def main():
    for way in WAYS:
        for kind in KINDS:
            for cut in CUTS:
                crash(way, kind, cut)
            if kind in ("question", "approval"):
                consume(way, kind)
            else:
                fork(way, kind)
            if kind != "two at once":
                losers(way, kind)
        for name in DAMAGES:
            damage(way, name)
    print("| property | cells tried | violated |\n|---|---|---|")
    for name in PROPERTIES:
        print(f"| {name} | {rows[name][0]} | {len(rows[name][1])} |")
    if "-v" in sys.argv:
        for _, violated in rows.values():
            print(*violated, sep="\n")


if __name__ == "__main__":
    main()
