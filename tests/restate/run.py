"""Carries out runs on a real Restate node: end to end, and the same goals on both engines.

run.py UPDRAFT PACKAGES [one|same]

UPDRAFT is the binary, PACKAGES what packages.py prints for package.json here. No network: the model is scripted, everything
is on loopback. Ends with 0 only if all went well. What happens when things break is in faults.py, contract.py and later.py.
"""

import http.client
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "api"))
from chosen_parts import run_chosen  # noqa: E402
from node import Node, free_ports, post  # noqa: E402
from outside import AGENT, on_pipes  # noqa: E402
from world import SECONDS, World  # noqa: E402

WORDS = ["barley", "copper", "dormer", "ember", "fathom"]
FEW = [{"id": "warp", "agent": "researcher", "prompt": "Look at the warp.", "writes": ["warp"]},
       {"id": "weft", "agent": "researcher", "prompt": "Look at the weft.", "reads": ["warp"], "writes": ["weft"]}]
SIDE_BY_SIDE = [*({"id": f"s{n}", "agent": "coder", "prompt": f"Do part {n}.", "writes": [f"v{n}"]} for n in range(4)),
                {"id": "end", "agent": "researcher", "prompt": "Say what was done.",
                 "reads": [f"v{n}" for n in range(4)], "writes": ["all"]}]


def call(tool, /, **args):
    return {"name": tool, "args": args}


def command(text):
    return call("run_command", command=text)


def on(words, *calls):
    return {"when": {"agent": "coder", "turn": 0, "contains": words}, "answer": {"calls": list(calls)}}


RULES = [
    {"when": {"agent": "planner", "contains": "side by side"}, "answer": {"json": {"steps": SIDE_BY_SIDE}}},
    {"when": {"agent": "planner"}, "answer": {"json": {"steps": FEW}}},
    {"when": {"agent": "clarification", "turn": 0}, "answer": {"calls": [call("ask_user", question="Which colour?")]}},
    on("Write the file", call("write_file", path="made.txt", content="hello\n")),
    on("Run a command", command("echo hello; echo more >&2")),
    on("Run one that fails", command("echo bad; exit 3")),
    on("Print much", command("seq 1 30000")),
    on("Read the notes", call("read_file", path="notes.md")),
    on("Do two things", call("write_file", path="two.txt", content="2\n"), call("read_file", path="notes.md")),
    on("Use code", call("run_python", code="read_file('notes.md')\nlen(read_file('notes.md'))")),
    on("Do what is denied", command("echo denied > denied.txt")),
    {"when": {"agent": "doer", "turn": 0}, "answer": {"calls": [call("mcp_pipe_count", name="counted")]}},
    {"when": {"contains": "Fail at once"}, "answer": {"fail": "no more"}},
    *({"when": {"agent": "restless", "turn": n}, "answer": {"calls": [call("write_file", path=f"on/{n}.txt", content="on\n")]}} for n in range(20)),
]
GOALS = [("Write the file", "coder"), ("Run a command", "coder"), ("Run one that fails", "coder"), ("Print much", "coder"),
         ("Read the notes", "coder"), ("Use code", "coder"), ("Look around", "researcher"), ("Ask me", "clarification"),
         ("Plan it", None), ("Plan it side by side", None)]
# These with two of the words only.
MORE = [("Do two things", "coder"), ("Do what is denied", "coder"), ("Count it", "doer"), ("Fail at once", "researcher"), ("Go on and on", "restless")]
# How they end, if not well; the last one by a limit.
ENDS = {"Fail at once": "failed", "Go on and on": "paused"}
SETTINGS = '[rules]\nask = ["run_command(echo denied)"]\n'
TURNS = 8


def script(rules):
    return json.dumps({"rules": rules, "default": {"text": "Painted."}})


class Worker(World):
    """A server that is a worker of a node."""

    def __init__(self, updraft, folder, node):
        (listen,) = free_ports(1)
        options = ["--yes", "--engine", "restate", "--restate", node.ingress, "--restate-admin", node.admin,
                   "--worker-listen", f"127.0.0.1:{listen}", "--worker-name", "w1"]
        super().__init__(updraft, folder, options=options)
        self.node = node
        (self.folder / "script.json").write_text(script(RULES))

    def updraft_says(self, *arguments):
        done = subprocess.run([self.updraft, *arguments], env=self.environment, cwd=self.work, capture_output=True, text=True,
                              timeout=SECONDS)
        return done.returncode, done.stdout if done.returncode == 0 else done.stdout + done.stderr

    def tell(self, run, given):
        """An input that a person gives to Restate itself."""
        return post(f"{self.node.ingress}/Runs.w1/{run}/tell", {"at": int(time.time() * 1000), "input": given})


def check_end_to_end(worker):
    """A goal, a question that is answered through the API, and one that is answered through Restate."""
    run = worker.run({"goal": "Write the file", "agent": "coder"})
    assert worker.until(run, "done")["answer"] == "Painted."
    assert (worker.work / "made.txt").read_text() == "hello\n"
    for way in ("api", "restate"):
        run = worker.run({"goal": "Ask me", "agent": "clarification"})
        waiting = worker.until(run, "waiting")["waits"][0]["id"]
        if way == "api":
            worker.send("POST", f"/runs/{run}/answer", {"question": waiting, "text": "red"})
        else:
            worker.tell(run, {"answer": {"id": waiting, "text": "red"}})
        worker.until(run, "done")
        code, said = worker.updraft_says("replay", run)
        assert code == 0, said
    # Whoever is not its worker can neither continue a run nor say what happened to its effects.
    run = worker.run({"goal": "Ask me", "agent": "clarification"})
    worker.until(run, "waiting")
    for given in ({"replied": {"id": waiting, "attempt": 1, "reply": {"said": "x"}}}, "import"):
        try:
            worker.tell(run, given)
            raise AssertionError(f"{given} was accepted")
        except OSError as refused:
            assert getattr(refused, "code", None) == 422, refused
    code, said = worker.updraft_says("resume", run)
    assert code != 0 and "is kept by Restate" in said, (code, said)
    # It rests, and its worker reads what is sent from a terminal.
    for command, status in (("pause", "paused"), ("cancel", "cancelled")):
        code, said = worker.updraft_says(command, run)
        assert code == 0, said
        worker.until(run, status)


def ask(worker):
    """A run that waits for an answer, and its question."""
    run = worker.run({"goal": "Ask me", "agent": "clarification"})
    return run, worker.until(run, "waiting")["waits"][0]["id"]


def check_moves(worker):
    """Unfinished runs are given to a node that has lost its data, and to one when they began without any."""
    run, question = ask(worker)
    worker.kill()
    worker.node.kill()
    shutil.rmtree(worker.node.folder / "data")
    worker.node.start()
    worker.start()
    worker.send("POST", f"/runs/{run}/answer", {"question": question, "text": "red"})
    worker.until(run, "done")
    worker.kill()
    options, worker.options = worker.options, ["--yes"]
    worker.start()
    run, question = ask(worker)
    worker.kill()
    worker.options = options
    worker.start()
    worker.send("POST", f"/runs/{run}/answer", {"question": question, "text": "red"})
    worker.until(run, "done")
    _, head = post(f"{worker.node.ingress}/Runs.w1/{run}/head", None)
    assert json.loads(head)["records"] > 1, head
    code, said = worker.updraft_says("replay", run)
    assert code == 0, said


def check_seen(worker):
    """What commands and the page say of runs that Restate keeps."""
    runs = [worker.run({"goal": goal, "agent": "coder"}) for goal in ("Write the file", "Read the notes")]
    for run in runs:
        worker.until(run, "done")
    model = ["--model", worker.model, "--no-sandbox", "--yes"]
    for command, expected in (["events", runs[0]], "made.txt"), (["diff", *runs], "they differ from event 1"), (["fork", runs[0], "--at", "3", *model], "Painted."):
        code, said = worker.updraft_says(*command)
        assert code == 0 and expected in said, (command, code, said)
    _, told = worker.updraft_says("runs", "--json", "--limit", "1")
    assert json.loads(told)["run"] not in runs, "there is no fork"
    cookie = enter(worker)
    assert page(worker, "/")[0] == 401, "a stranger sees the page"
    for path, words in ("/", ["Write the file", "Read the notes"]), (f"/runs/{runs[0]}", ["Write the file", "write_file", "made.txt", "Painted."]):
        status, shown = page(worker, path, cookie)
        assert status == 200 and all(word in shown for word in words), (path, status, shown)


def page(worker, path, cookie=None, form=None):
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=SECONDS)
    headers = {"Cookie": cookie} if cookie else {}
    if form:
        headers |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://127.0.0.1:{worker.port}"}
    connection.request("POST" if form else "GET", path, form, headers)
    answer = connection.getresponse()
    shown = answer.read().decode()
    return answer.status, answer.headers["set-cookie"] if form else shown


def enter(worker):
    """The cookie of a person with a token."""
    status, cookie = page(worker, "/enter", form=f"token={worker.user('see')}")
    assert status == 200 and cookie, (status, cookie)
    return cookie.split(";")[0]


def check_brought_in(worker):
    """A run that began with the embedded engine of another machine, and is not over, continues on Restate."""
    home = worker.folder / "elsewhere"
    home.mkdir()
    given = {**worker.environment, "HOME": str(home), "UPDRAFT_HOME": str(home / "updraft")}

    def there(*words):
        return subprocess.run([worker.updraft, *words], env=given, cwd=worker.work, capture_output=True, text=True, timeout=SECONDS)

    waits = there("run", "--agent", "clarification", "--model", worker.model, "--no-sandbox", "--yes", "Ask me")
    assert waits.returncode == 3, waits
    exported = there("export", "last")
    assert exported.returncode == 0, exported
    brought = worker.send("POST", "/import?id=brought", raw=exported.stdout.encode(), headers={"Content-Type": "application/jsonl"})
    assert brought.status == 201, brought.body
    adopted = worker.send("POST", "/runs/brought/adopt", {})
    assert adopted.status == 200, adopted.body
    waiting = worker.until("brought", "waiting")["waits"][0]["id"]
    # It is in Restate now, and takes its answer there.
    worker.tell("brought", {"answer": {"id": waiting, "text": "red"}})
    assert worker.until("brought", "done")["answer"] == "Painted."
    _, head = post(f"{worker.node.ingress}/Runs.w1/brought/head", None)
    assert json.loads(head)["records"] > 1, head
    code, said = worker.updraft_says("replay", "brought")
    assert code == 0, said


def events_of(world, run):
    """The records of a run, without what differs from run to run: ids, times, the folder, and hashes over them."""
    code, text = Worker.updraft_says(world, "export", run)
    assert code == 0, text
    records = []
    for line in text.splitlines():
        record = json.loads(line)
        if "seq" in record:
            plain = json.dumps(record["e"]).replace(run, "RUN").replace(str(world.folder), "FOLDER")
            plain = re.sub(r"[0-9a-f]{64}", "HASH", plain)
            plain = re.sub(r'"(epoch|modified|milliseconds)": \d+', r'"\1": 0', plain)
            # How long a command and code took; no other number is left out.
            plain = re.sub(r'("seconds": )[\d.e-]+', r"\1 0", plain)
            plain = re.sub(r"(\[exit code \d+, |\[done in )[\d.e-]+ s", r"\1 0 s", plain)
            for event in json.loads(plain):
                if isinstance(event, dict) and "started" in event:
                    # How the agents did so far is noted a moment after a run has ended.
                    event["started"].pop("earlier", None)
                records.append(json.dumps(event))
    return records


def carry_out(world):
    """The answers and events of every goal."""
    found, runs = {}, {}
    for number, word in enumerate(WORDS):
        for goal, agent in GOALS + (MORE if number < 2 else []):
            # Which files a command without a sandbox may have changed is told by times, so by chance.
            shutil.rmtree(world.home / "updraft/origins", ignore_errors=True)
            order = {"goal": f"{goal}, {word}"}
            if agent:
                order["agent"] = agent
            runs[order["goal"]] = run = world.run(order)
            if agent == "clarification":
                waiting = world.until(run, "waiting")["waits"][0]["id"]
                world.send("POST", f"/runs/{run}/answer", {"question": waiting, "text": word})
            # One after the other: what runs see of each other's files would depend on chance.
            until_over(world, run, goal != "Do what is denied", ENDS.get(goal, "done"))
    assert (world.folder / "counts").read_text() == "counted\n" * 2, "the server was not called"
    assert not (world.work / "denied.txt").exists(), "a command was carried out that was denied"
    for goal, run in runs.items():
        seen = world.send("GET", f"/runs/{run}").json()
        answer = seen["answer"]
        if "Go on and on" in goal:
            assert seen["statistics"]["turns"] == TURNS and "limit reached" in seen["message"], seen
        events = events_of(world, run)
        # What happens at the same time is in no certain order.
        found[goal] = answer, sorted(events) if "side by side" in goal or "two things" in goal else events
    return found


def furnish(world):
    """A script, an MCP server, a limit, and a command that people are asked about."""
    home = world.home / "updraft"
    (world.folder / "script.json").write_text(script(RULES))
    (home / "agents").mkdir()
    for name in ("doer", "restless"):
        (home / f"agents/{name}.md").write_text(AGENT.replace("doer", name))
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"pipe": on_pipes(world.folder, world.folder / "counts")}}))
    (home / "config.toml").write_text(SETTINGS)
    world.options = [*world.options, "--max-turns", str(TURNS)]


def check_same(updraft, packages):
    """The same goals on both engines: equal answers, equal events."""
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there, ThreadPoolExecutor() as threads:
        world = World(updraft, here, options=["--yes"])
        furnish(world)
        both = [threads.submit(with_server, world, carry_out), threads.submit(with_node, updraft, packages, there, carry_out, furnish)]
        embedded, restate = (one.result() for one in both)
    assert len(embedded) == 60 and embedded.keys() == restate.keys()
    for goal, (answer, events) in embedded.items():
        other_answer, other_events = restate[goal]
        assert answer == other_answer, (goal, answer, other_answer)
        for number, (one, other) in enumerate(zip(events, other_events)):
            assert one == other, f"{goal}, event {number + 1}:\n  embedded {one}\n  restate  {other}"
        assert len(events) == len(other_events), (goal, len(events), len(other_events))
    print(f"  {len(embedded)} goals, {sum(len(events) for _, events in embedded.values())} events on both")


def until_over(worker, run, allow=True, end="done"):
    """The stuck detector: a run that has not ended in time is an error, with what Restate says."""
    for _ in range(SECONDS * 20):
        seen = worker.send("GET", f"/runs/{run}").json()
        if seen["status"] in (end, "done", "failed", "cancelled"):
            assert seen["status"] == end, seen
            return
        # Commands without a sandbox may bring in words of strangers, so people are asked about the next ones.
        for waiting in seen["waits"]:
            worker.send("POST", f"/runs/{run}/approve", {"allow": allow, "approval": waiting["id"]})
        time.sleep(0.05)
    raise AssertionError(f"run {run} is stuck: {seen['status']} {seen['waits']}\n{json.dumps(worker.node.stuck(), indent=1) if isinstance(worker, Worker) else ''}")


def with_server(world, part):
    # Otherwise people are asked about commands: its files could hold instructions of strangers.
    subprocess.run([world.updraft, "trust", "--yes"], env=world.environment, cwd=world.work, check=True, capture_output=True)
    world.start()
    try:
        return part(world)
    except BaseException:
        print((world.folder / "log").read_text()[-4000:], file=sys.stderr)
        raise
    finally:
        world.close()


def with_node(updraft, packages, folder, part, prepare=lambda worker: None):
    node = Node(packages, folder).start()
    try:
        worker = Worker(updraft, folder, node)
        prepare(worker)
        return with_server(worker, part)
    except BaseException:
        print(node.said(), file=sys.stderr)
        raise
    finally:
        node.close()


def check_one(updraft, packages):
    with tempfile.TemporaryDirectory() as folder:
        with_node(updraft, packages, folder,
                  lambda worker: (check_end_to_end(worker), check_seen(worker), check_brought_in(worker), check_moves(worker)))


if __name__ == "__main__":
    run_chosen({"one": check_one, "same": check_same}, __doc__)
