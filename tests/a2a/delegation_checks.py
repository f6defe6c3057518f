"""Two servers of ours that delegate to each other: one is killed in the middle, and nothing is done twice."""

import contextlib
import json
import signal
import tempfile
import time
import urllib.request
from pathlib import Path

from world import ASKS, Server, free_port

WEAVE, THREAD = "Please weave a scarf.", "Which thread?"


def calls(tool, message):
    return {"calls": [{"name": tool, "args": {"message": message}}]}


# The first has the weaver of the second weave; for that, the weaver asks a thinker of the first.
FIRST = {
    "rules": [
        {"when": {"agent": "weaver", "turn": 0}, "answer": calls("ask_weaver", WEAVE)},
        {"when": {"has_result": "ask_weaver", "contains": "red scarf"}, "answer": {"text": "The scarf is there."}},
        {"when": {"agent": "painter", "turn": 0}, "answer": calls("ask_painter", "Paint the door.")},
        {"when": {"has_result": "ask_painter", "contains": "blue door"}, "answer": {"text": "The door is blue."}},
        {"when": {"agent": "thinker", "contains": THREAD}, "answer": {"text": "Red thread.", "delay_ms": 2_500}},
    ],
    "default": {"text": "Something went wrong."},
}
SECOND = {
    "rules": [
        {"when": {"agent": "clarification", "turn": 0}, "answer": {"calls": [ASKS]}},
        {"when": {"agent": "clarification", "contains": "blue"}, "answer": {"text": "A blue door."}},
        {"when": {"agent": "adviser", "turn": 0}, "answer": calls("ask_adviser", THREAD)},
        {"when": {"has_result": "ask_adviser", "contains": "Red thread"}, "answer": {"text": "A red scarf."}},
    ],
    "default": {"text": "Something went wrong."},
}


@contextlib.contextmanager
def two(updraft):
    """The two servers, each with the token of the other."""
    with tempfile.TemporaryDirectory() as folder:
        folder, ports = Path(folder).resolve(), (free_port(), free_port())
        first = Server(folder / "first", updraft, FIRST, ports[0])
        second = Server(folder / "second", updraft, SECOND, ports[1])
        about = "purpose: Works elsewhere.\na2a: {}\na2a-token: PEER_TOKEN\na2a-agent: {}\n"
        first.agent("weaver", about.format(second.origin, "adviser"))
        first.agent("painter", about.format(second.origin, "clarification"))
        second.agent("adviser", about.format(first.origin, "thinker"))
        try:
            # Tokens are made when a server first starts.
            first.start().kill()
            second.environment["PEER_TOKEN"] = first.token
            first.environment["PEER_TOKEN"] = second.start().token
            first.start()
            yield first, second
        finally:
            for server in (first, second):
                server.kill()


def asked(server, path, body=None):
    request = urllib.request.Request(f"{server.origin}/api/v1{path}", json.dumps(body).encode() if body else None)
    request.add_header("Authorization", f"Bearer {server.token}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def until(what, seen):
    for _ in range(600):
        found = seen()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen")


def begun(first, second):
    """Begins the work, and waits until the first is asked in its turn."""
    run = asked(first, "/runs", {"goal": "Have a scarf woven", "agent": "weaver"})["id"]
    until("the second asks the first", lambda: [one for one in first.runs() if THREAD in one["goal"]])
    return run


def ends_well(first, second, run):
    view = until("the run ends", lambda: (found := asked(first, f"/runs/{run}"))["status"] in ("done", "failed") and found)
    assert (view["status"], view["answer"]) == ("done", "The scarf is there."), view
    counts = [sum(text in one["goal"] for one in server.runs()) for server, text in ((second, WEAVE), (first, THREAD))]
    assert counts == [1, 1], f"handed over {counts} times"
    events = asked(first, f"/runs/{run}/events?limit=1000")["events"]
    outputs = [event["event"]["replied"]["reply"].get("output") for event in events if event["type"] == "replied"]
    result = next(output for output in outputs if output)
    assert result["untrusted"] and result["origins"] == [f"agent weaver at {second.origin}"], result


def check_they_delegate_to_each_other(updraft, _):
    with two(updraft) as (first, second):
        ends_well(first, second, begun(first, second))


def check_the_one_that_works_is_killed(updraft, _):
    with two(updraft) as (first, second):
        run = begun(first, second)
        second.kill()
        time.sleep(1)
        second.start()
        ends_well(first, second, run)


def check_the_one_that_delegates_is_killed(updraft, _):
    with two(updraft) as (first, second):
        run = begun(first, second)
        first.kill()
        time.sleep(1)
        first.start()
        ends_well(first, second, run)


def check_a_question_of_the_other_is_put_to_the_person(updraft, _):
    with two(updraft) as (first, second):
        run = asked(first, "/runs", {"goal": "Have the door painted", "agent": "painter"})["id"]
        waits = until("the run asks", lambda: asked(first, f"/runs/{run}")["waits"])
        assert "agent painter on another server asks: Which colour? (red / blue)" in waits[0]["text"], waits
        # A server that is stopped cancels nothing, and asks again.
        first.kill(signal.SIGTERM)
        first.start()
        until("the run asks again", lambda: asked(first, f"/runs/{run}")["waits"])
        asked(first, f"/runs/{run}/answer", {"text": "blue"})
        view = until("the run ends", lambda: (found := asked(first, f"/runs/{run}"))["status"] in ("done", "failed") and found)
        assert (view["status"], view["answer"]) == ("done", "The door is blue."), view
        assert len(second.runs()) == 1, second.runs()


def check_a_task_is_cancelled_with_the_run(updraft, _):
    with two(updraft) as (first, second):
        run = begun(first, second)
        asked(first, f"/runs/{run}/cancel", {"cancel": True})
        until("the task is cancelled", lambda: [one["status"] for one in second.runs()] == ["cancelled"])


CHECKS = [
    check_they_delegate_to_each_other,
    check_the_one_that_works_is_killed,
    check_the_one_that_delegates_is_killed,
    check_a_question_of_the_other_is_put_to_the_person,
    check_a_task_is_cancelled_with_the_run,
]
