"""A small HTTP server on loopback, for what a test puts in the place of another program."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    """Answers without a line in the log for each request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


class LoopbackServer:
    """Serves with a handler until it is closed."""

    def __init__(self, handler):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
