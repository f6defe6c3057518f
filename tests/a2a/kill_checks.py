"""Our server, killed with kill -9 at any moment of a task: no message is taken twice, nothing is lost, and other servers are told."""

import contextlib
import http.server
import json
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from world import ASKS, Server

SCRIPT = {
    "rules": [
        {"when": {"agent": "clarification", "turn": 0}, "answer": {"calls": [ASKS]}},
        {"when": {"agent": "clarification"}, "answer": {"text": "Painted.", "delay_ms": 600}},
    ],
    "default": {"text": "A loom.", "delay_ms": 1_200},
}
# Seconds from the message to the kill: before the run begins, while the model is asked, about when it answers.
MOMENTS = [0, 0.05, 0.2, 0.6, 1.2, 1.5]
OVER = ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED")


class Receiver(http.server.ThreadingHTTPServer):
    """Another server, which takes what it is told."""

    def __init__(self):
        told = self.told = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/told"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def states(self, task):
        updates = [update.get("statusUpdate") or update.get("task") for update in list(self.told)]
        return [one["status"]["state"] for one in updates if one and task in (one.get("taskId"), one.get("id"))]


@contextlib.contextmanager
def started(updraft):
    receiver = Receiver()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder).resolve() / "one", updraft, SCRIPT).start()
        try:
            yield server, receiver
        finally:
            server.kill()
            receiver.shutdown()


def call(server, method, params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json", "A2A-Version": "1.0"}
    with urllib.request.urlopen(urllib.request.Request(f"{server.origin}/a2a", body, headers), timeout=30) as answer:
        said = json.load(answer)
    assert "result" in said, said
    return said["result"]


def message(name, text, agent, **place):
    parts = {"messageId": name, "role": "ROLE_USER", "parts": [{"text": text}], **place}
    return {"tenant": agent, "message": parts, "configuration": {"returnImmediately": True}}


def sent(server, request):
    """Sends a message from a thread of its own: the server may be killed before it answers."""

    def send():
        with contextlib.suppress(urllib.error.URLError, OSError, ValueError):
            call(server, "SendMessage", request)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def until(what, seen):
    deadline = time.monotonic() + 60
    while not (found := seen()):
        assert time.monotonic() < deadline, f"{what} did not happen"
        time.sleep(0.05)
    return found


def task_in(server, task, states):
    def look():
        found = call(server, "GetTask", {"id": task})
        return found["status"]["state"] in states and found

    return until(f"{states[0]} of {task}", look)


def check_a_message_leads_to_one_task_however_often_the_server_is_killed(updraft, _):
    with started(updraft) as (server, receiver):
        tasks = []
        for number, moment in enumerate(MOMENTS):
            request = message(f"m{number}", f"What is it, number {number}?", "thinker")
            thread = sent(server, request)
            time.sleep(moment)
            server.kill()
            thread.join()
            server.start()
            # The same message again: it was taken before the kill, or is taken now.
            task = call(server, "SendMessage", request)["task"]["id"]
            assert call(server, "SendMessage", request)["task"]["id"] == task, "another task for the same message"
            tasks.append(task)
        for task in tasks:
            found = task_in(server, task, OVER)
            texts = [part["text"] for artifact in found["artifacts"] for part in artifact["parts"]]
            assert (found["status"]["state"], texts) == ("TASK_STATE_COMPLETED", ["A loom."]), found
        assert sorted(run["run"] for run in server.runs()) == sorted(set(tasks)) and len(tasks) == len(MOMENTS)


def check_an_answer_counts_once_and_other_servers_are_told_the_end(updraft, _):
    with started(updraft) as (server, receiver):
        task = call(server, "SendMessage", message("ask", "Paint it", "clarification"))["task"]["id"]
        task_in(server, task, ("TASK_STATE_INPUT_REQUIRED",))
        call(server, "CreateTaskPushNotificationConfig", {"taskId": task, "url": receiver.url})
        server.kill()
        server.start()
        task_in(server, task, ("TASK_STATE_INPUT_REQUIRED",))
        reply = message("reply", "blue", "", taskId=task)
        thread = sent(server, reply)
        time.sleep(0.3)
        server.kill()
        thread.join()
        server.start()
        # The same again: it was taken before the kill, or is taken now.
        call(server, "SendMessage", reply)
        found = task_in(server, task, OVER)
        assert found["status"]["state"] == "TASK_STATE_COMPLETED", found
        answers = [one for one in found["history"] if one["role"] == "ROLE_USER" and one["parts"][0].get("text") == "blue"]
        assert len(answers) == 1, found["history"]
        until("the other server hears of the end", lambda: "TASK_STATE_COMPLETED" in receiver.states(task))
        assert len(server.runs()) == 1, server.runs()


CHECKS = [
    check_a_message_leads_to_one_task_however_often_the_server_is_killed,
    check_an_answer_counts_once_and_other_servers_are_told_the_end,
]
