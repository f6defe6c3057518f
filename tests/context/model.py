"""A model on loopback that works for forty turns with long outputs, and then looks at what it is still told.

It counts a token for every four bytes of a request, refuses what is longer than its window, and once refuses a request that
would fit. It plays the same turn again if it is asked again. One that talks much leaves less to shorten, so that summaries are
needed."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dialects import ANSWERS, refusal

TURNS = 40
BYTES_OF_AN_OUTPUT = 90_000
TOLD_AT, WRITES_AT, FIGURE_AT = 5, 8, 3
TOLD = "Never touch vault.txt, whatever happens."
FIGURE = "the pressure was 4711.25 hPa"
ROUTES = [(r".*/chat/completions", "openai"), (r".*/responses", "responses"), (r".*/messages", "anthropic"),
          (r".*:streamGenerateContent", "gemini")]


class Script:
    """What the model does, and what it has seen."""

    def __init__(self, window, refuses_at=None, told=lambda: None, at_request=lambda number, kind: None, talk=0):
        self.window, self.refuses_at, self.told, self.at_request = window, refuses_at, told, at_request
        self.turn, self.requests, self.refusals, self.rewrites, self.last, self.faults = 0, [], 0, 0, "", []
        self.summaries, self.talk = 0, " I think about it." * (talk // 18)
        self.lock = threading.Lock()

    def output(self, turn):
        """The command of a turn: it prints long lines without end, and marks where its turn ends."""
        figure = FIGURE if turn == FIGURE_AT else "nothing"
        return ("python3 -c \"n = 0\nfor i in range(1100):\n    print('turn %d line', i, 'of a log that says', "
                "'%s' if i == 700 else 'x' * 50, i * %d)\nprint('END-OF-%d.')\"" % (turn, figure, turn + 7, turn))

    def next(self, body, text):
        """Text and calls for a request, or None if it is refused."""
        tokens = len(body) // 4
        self.requests.append(tokens)
        kind = "summary" if "Summarise the conversation so far" in text[-3000:] else "turn"
        self.at_request(len(self.requests), kind)
        if tokens > self.window or (self.refuses_at == self.turn and not self.refusals):
            self.refusals += 1
            return None
        if kind == "summary":
            self.summaries += 1
            return "Task: read the logs. Done so far: some turns.", []
        if self.turn == 0 or f"END-OF-{self.turn}." in text or f"note {self.turn}" in text[-4000:]:
            self.turn += 1
        turn = self.turn
        if turn == TOLD_AT:
            self.told()
        if turn == WRITES_AT:
            return "", [(f"c{turn}", "write_file", {"path": "notes/eight.md", "content": f"note {turn} END-OF-{turn}.\n"}),
                        (f"d{turn}", "run_command", {"command": self.output(turn)})]
        if turn <= TURNS:
            return f"Turn {turn}.{self.talk}", [(f"c{turn}", "run_command", {"command": self.output(turn)})]
        if turn == TURNS + 1:
            self.look(text)
            self.turn += 1
            return "", [("look", "search_files", {"path": f"@out/{FIGURE_AT}", "pattern": "pressure"})]
        if FIGURE not in text[-6000:]:
            self.faults.append("the figure of turn 3 was not found again")
        return "done", []

    def look(self, text):
        """At the end: what must still be said, or be one named read away."""
        for what in (TOLD, "notes/eight.md", f"@out/{FIGURE_AT}"):
            if what not in text:
                self.faults.append(f"`{what}` is not in the request of turn {TURNS + 1}")


def serve(script, port=0):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_):
            pass

        def send(self, status, kind, content):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self):
            self.send(404, "application/json", b'{"error": {"message": "no such path"}}')

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            dialect = next((name for route, name in ROUTES if re.fullmatch(route, self.path.split("?")[0])), None)
            if dialect is None:
                return self.do_GET()
            text = body.decode().replace("\\n", "\n")
            with script.lock:
                if not text.startswith(script.last[: len(script.last) // 2]):
                    script.rewrites += 1
                said = script.next(body, text)
                script.last = text[: len(text) - 200]
            if said is None:
                return self.send(400, "application/json", refusal(dialect, len(body) // 4, script.window).encode())
            answer = ANSWERS[dialect](*said, len(body) // 4)
            self.send(200, "text/event-stream", answer.encode())

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):
            """A program that is killed closes its connections."""

    server = Server(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
