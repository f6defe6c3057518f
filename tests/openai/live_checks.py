"""Answers told while a model writes them. The model is a server that pauses in the middle of its answer."""

import contextlib
import http.server
import json
import signal
import tempfile
import threading
from pathlib import Path

from chat_checks import user
from response_checks import raw_events
from world import World

# It ends where a piece ends: what comes after a piece can change nothing in it.
FIRST = "A loom weaves threads into cloth, and has done so for a very long time. "
REST = "Before it there were only knots. "
OTHER = "Looms are used for weaving, in most parts of the world."
REMARK = "Nobody knows what is in the file, so it has to be read first, from its beginning to its end. " * 15
READ = {"name": "read_file", "arguments": json.dumps({"path": "notes.md"})}
SECONDS = 20


class Writer(http.server.BaseHTTPRequestHandler):
    """Answers each request with the next list of parts: text, calls, or an event that is waited for."""

    def do_POST(self):  # noqa: N802
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        finish = "stop"
        with contextlib.suppress(ConnectionError):
            for part in self.server.answers.pop(0):
                if isinstance(part, threading.Event):
                    self.server.was_patient &= part.wait(SECONDS)
                elif isinstance(part, dict):
                    finish = "tool_calls"
                    self.say({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": part}]})
                else:
                    self.say({"content": part})
            self.say({}, finish)
            self.wfile.write(b"data: [DONE]\n\n")

    def say(self, delta, finish=None):
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m",
                 "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def do_GET(self):  # noqa: N802
        self.send_error(404)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def written(world, *answers):
    """A server of ours whose model gives these answers; its traffic is judged with that of the other."""
    writer = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Writer)
    writer.answers, writer.was_patient = list(answers), True
    threading.Thread(target=writer.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        live = World(Path(folder).resolve(), world.updraft)
        live.model, live.recorder, live.writer = "mine/m", world.recorder, writer
        (live.home / "updraft").mkdir()
        base = f"http://127.0.0.1:{writer.server_port}/v1"
        (live.home / "updraft/config.toml").write_text(f'[providers.mine]\nbase_url = "{base}"\nkey_env = "KEY"\nspeaks = "openai"\n')
        live.environment["KEY"] = "k"
        (live.work / "notes.md").write_text("A loom.\n")
        live.start()
        try:
            yield live
        finally:
            live.stop(signal.SIGKILL)
            writer.shutdown()
            writer.server_close()


def check_chat(world):
    """The beginning of an answer is there before its end is written."""
    go_on = threading.Event()
    with written(world, [FIRST, go_on, REST]) as live:
        stream = live.client().chat.completions.create(model="updraft/thinker", messages=[user("What is it?")], stream=True)
        text = ""
        for chunk in stream:
            text += chunk.choices[0].delta.content or ""
            if text == FIRST:
                go_on.set()
        assert live.writer.was_patient and text == FIRST + REST, text


def check_remark(world):
    """Long words before a call are set apart from the answer, and the answer is whole."""
    go_on = threading.Event()
    with written(world, [REMARK, go_on, READ], [FIRST]) as live:
        text = ""
        for chunk in live.client().chat.completions.create(model="updraft/coder", messages=[user("What is it?")], stream=True):
            text += chunk.choices[0].delta.content or ""
            if text:
                go_on.set()
        remark, _, answer = text.partition("\n\n---\n\n")
        assert live.writer.was_patient and REMARK.startswith(remark) and answer == FIRST, text
    with written(world, ["I read it. ", READ], [FIRST]) as live:
        chunks = list(live.client().chat.completions.create(model="updraft/coder", messages=[user("What is it?")], stream=True))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        assert text == FIRST, text
    with written(world, [REMARK, READ], [FIRST]) as live:
        events = list(live.client().responses.create(model="updraft/coder", input="What is it?", stream=True))
        messages = [item for item in events[-1].response.output if item.type == "message"]
        assert [(item.phase, item.content[0].text) for item in messages] == [("commentary", REMARK), (None, FIRST)], messages


def deltas(events):
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")


def until_written(live):
    """A response in the background, watched until FIRST is there: its id, the events so far, and the stream."""
    stream = live.client().responses.create(model="updraft/thinker", input="What is it?", background=True, stream=True)
    text, made = "", None
    for event in stream:
        made = made or event.response.id
        if event.type == "response.output_text.delta":
            text += event.delta
        if text == FIRST:
            break
    stream.response.close()
    return made, live.recorder.exchanges[-1].events()


def check_resumed_response(world):
    """A stream that is cut off in the middle of the answer goes on there, with the same numbers as when it is read again."""
    go_on = threading.Event()
    with written(world, [FIRST, go_on, REST]) as live:
        made, begun = until_written(live)
        go_on.set()
        rest = raw_events(live, f"/v1/responses/{made}?stream=true&starting_after={begun[-1]['sequence_number']}")
        again = raw_events(live, f"/v1/responses/{made}?stream=true")
        assert live.writer.was_patient and begun + rest == again, (begun, rest, again)
        assert deltas(again) == FIRST + REST and [event["sequence_number"] for event in again] == list(range(len(again)))


def check_killed_server(world):
    """A server that is killed in the middle of an answer asks again: what it then says comes after what the client has."""
    go_on = threading.Event()
    with written(world, [FIRST, go_on], [OTHER]) as live:
        made, begun = until_written(live)
        last = begun[-1]["sequence_number"]
        live.stop(signal.SIGKILL)
        go_on.set()
        live.start()
        rest = raw_events(live, f"/v1/responses/{made}?stream=true&starting_after={last}")
        assert rest[-1]["type"] == "response.completed" and rest[0]["sequence_number"] > last, rest
        assert deltas(rest) == OTHER and rest[-1]["response"]["output"][-1]["content"][0]["text"] == OTHER, rest
        again = raw_events(live, f"/v1/responses/{made}?stream=true")
        assert [event for event in again if event["sequence_number"] > last] == rest, again


CHECKS = [check_chat, check_remark, check_resumed_response, check_killed_server]
