"""The services on loopback: judges every body, then plays the conversation of `fake.story` in that dialect."""

import json
import os
import re
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from urllib.parse import parse_qs, urlsplit

from fake.memory import began_here
from rules import MODULES, Refused, fault_in
from rules.refusal import expect

MODEL = r"models/(?P<model>[^/:]+):streamGenerateContent"
ROUTES = {
    r"/v1/chat/completions": "openai",
    r"/v1/responses": "responses",
    r"/v1/messages": "anthropic",
    r"/api/chat": "ollama",
    rf"/v1(beta)?/{MODEL}": "gemini",
    rf"/v1(beta1)?/projects/[^/]+/locations/[^/]+/publishers/google/{MODEL}": "gemini",
}
MOST_BYTES_AT_ONCE = 48
ONE_JUDGE_AT_A_TIME = threading.Lock()  # the filters for warnings are the whole process's


class Service(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        dialect = next((dialect for path, dialect in ROUTES.items() if re.fullmatch(path, url.path)), None)
        if dialect is None:
            self.refuse(404, f"no such path: {url.path}", "")
            return
        try:
            with ONE_JUDGE_AT_A_TIME:
                self.check_head(dialect, url)
                events = answer(dialect, url.path, sent)
        except Refused as refusal:
            self.refuse(422, str(refusal), dialect)
        except Exception:  # noqa: BLE001: whatever it is, the test that asked shall see it
            self.refuse(500, traceback.format_exc(), dialect)
        else:
            self.send_stream(dialect, events)

    def check_head(self, dialect, url):
        """What the services want besides the body."""
        kind = self.headers.get("Content-Type", "")
        expect(kind.split(";")[0] == "application/json", f"content-type: `{kind}`, expected application/json")
        has_bearer = self.headers.get("Authorization", "").startswith("Bearer ")
        query = parse_qs(url.query)
        if dialect == "anthropic":
            expect(self.headers.get("x-api-key") or has_bearer, "x-api-key: missing")
            expect(self.headers.get("anthropic-version"), "anthropic-version: missing")
        if dialect == "gemini":
            expect(self.headers.get("x-goog-api-key") or "key" in query or has_bearer, "x-goog-api-key: missing")
            expect(query.get("alt") == ["sse"], "alt=sse: missing; without it the answer is one list")

    def refuse(self, status, fault, dialect):
        """An error in the shape of the dialect."""
        error = {"message": fault, "type": "invalid_request_error", "code": status, "status": "INVALID_ARGUMENT"}
        shape = {"error": fault} if dialect == "ollama" else {"type": "error", "error": error}
        content = json.dumps(shape, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def send_stream(self, dialect, events):
        """Each piece is a chunk of its own, so that the cuts reach the reader however the bytes travel."""
        kind = "application/x-ndjson" if dialect == "ollama" else "text/event-stream"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in cut(b"".join(events)):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        """Says nothing: the answers say it all."""


def answer(dialect, place, sent):
    """The whole answer, or a refusal of what was sent."""
    try:
        body = json.loads(sent)
    except ValueError as error:
        raise Refused(f"the body is not JSON: {error}") from error
    fault = fault_in(dialect, body)
    expect(fault is None, fault)
    return list(import_module(f"fake.{MODULES[dialect]}").stream(body, began_here(place, body)))


def cut(content):
    """Pieces that respect neither events nor lines, and cut through every character of more than one byte."""
    piece = bytearray()
    for byte in content:
        continues_a_character = byte & 0b1100_0000 == 0b1000_0000
        if continues_a_character or len(piece) == MOST_BYTES_AT_ONCE:
            yield bytes(piece)
            piece.clear()
        piece.append(byte)
    yield bytes(piece)


def start():
    """A server on a free port of loopback, and its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def serve_until_stdin_ends():
    """Prints the address. Ends with its parent, whose end of the pipe closes however it ends."""
    _, address = start()
    print(address, flush=True)
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)
