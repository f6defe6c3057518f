"""A server that dies, hangs, babbles, lies and floods: on pipes, or over streamable HTTP where it prints its port.

Every tool takes a text and, if it answers at all, says that text.
"""

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ON_PIPES = ["echo", "die", "die_after", "hang", "babble", "twice", "foreign", "malformed", "flood", "fail", "big"]
OVER_HTTP = ["echo", "drop", "fall", "refuse", "hang", "break", "foreign", "malformed", "stream", "torn", "lose", "big"]


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def answer(ident, result):
    return json.dumps({"jsonrpc": "2.0", "id": ident, "result": result})


def plain(message, tools):
    """The result of what is no call."""
    if message["method"] == "initialize":
        about = {"name": "chaos", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    if message["method"] == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        hints = {"readOnlyHint": True, "openWorldHint": False}
        return {"tools": [{"name": name, "inputSchema": schema, "annotations": hints} for name in tools]}
    return None


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def on_pipes():
    last = 0
    for line in sys.stdin:
        message = json.loads(line)
        ident = message.get("id")
        if ident is None:
            continue
        if message["method"] != "tools/call":
            result = plain(message, ON_PIPES)
            error = {"jsonrpc": "2.0", "id": ident, "error": {"code": -32601, "message": "no"}}
            say(json.dumps(error) if result is None else answer(ident, result))
            continue
        deed, words = message["params"]["name"], message["params"]["arguments"]["text"]
        good = answer(ident, text(words))
        if deed == "die":
            sys.exit(9)
        elif deed == "hang":
            pass
        elif deed == "babble":
            say("DEBUG calling\n\n\x07{not json\n42\n" + good)
        elif deed == "twice":
            say(good + "\n" + answer(ident, text("a lie")))
        elif deed == "foreign":
            say("\n".join([answer(last, text("a lie")), answer(ident + 1, text("a lie")), good]))
        elif deed == "malformed":
            say(answer(ident, 5))
        elif deed == "fail":
            say(answer(ident, dict(text("it is closed"), isError=True)))
        elif deed == "big":
            say(answer(ident, text("x" * (20 << 20))))
        elif deed == "flood":
            while True:
                say("")
        else:
            say(good)
            if deed == "die_after":
                sys.exit(9)
        last = ident


class OverHttp(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions = set()

    def log_message(self, *_):
        pass

    def reply(self, status, body="", kind="application/json", length=None, session=None):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        self.wfile.write(data)
        if length is not None:
            self.close_connection = True

    def do_GET(self):
        self.reply(405)

    do_DELETE = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        ident, session = message.get("id"), self.headers.get("Mcp-Session-Id")
        if message.get("method") == "initialize":
            session = "s%d" % time.monotonic_ns()
            self.sessions.add(session)
            return self.reply(200, answer(ident, plain(message, OVER_HTTP)), session=session)
        if message.get("method") == "server/discover":
            return self.reply(400)
        if session not in self.sessions:
            return self.reply(404)
        if ident is None:
            return self.reply(202)
        if message["method"] != "tools/call":
            return self.reply(200, answer(ident, plain(message, OVER_HTTP)))
        deed, words = message["params"]["name"], message["params"]["arguments"]["text"]
        good = answer(ident, text(words))
        event = lambda data: "event: message\ndata: " + data + "\n\n"
        if deed == "drop":
            self.close_connection = True
            self.connection.close()
        elif deed == "fall":
            self.reply(503, "out of order")
        elif deed == "refuse":
            self.reply(429, "later")
        elif deed == "hang":
            time.sleep(20)
            self.close_connection = True
        elif deed == "break":
            self.reply(200, good[:20], length=len(good))
        elif deed == "foreign":
            self.reply(200, answer(ident + 1, text("a lie")))
        elif deed == "malformed":
            self.reply(200, "{not json")
        elif deed == "stream":
            lie = event(answer(ident + 1, text("a lie")))
            self.reply(200, lie + event(good), kind="text/event-stream")
        elif deed == "torn":
            self.reply(200, event(good)[:30], kind="text/event-stream", length=999)
        elif deed == "big":
            self.reply(200, answer(ident, text("x" * (20 << 20))))
        else:
            if deed == "lose":
                self.sessions.discard(session)
            self.reply(200, good)


if sys.argv[1] == "http":
    server = ThreadingHTTPServer(("127.0.0.1", 0), OverHttp)
    server.daemon_threads = True
    say(str(server.server_address[1]))
    # It ends with whoever started it.
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
else:
    on_pipes()
