"""Stands before a model's server and takes something out of each request: relay.py ADDRESS

The first part of the path says what: `/all/…` nothing, `/no-schema/…` the form of the answer, `/no-examples/…` the worked
tasks before it. Prints its own address. Ends when stdin does.
"""

import http.server
import json
import os
import sys
import threading
import urllib.error
import urllib.request


def without_schema(body):
    body.pop("response_format", None)


def without_examples(body):
    """They are turns between the system prompt and the request, which is one message."""
    body["messages"] = [body["messages"][0], body["messages"][-1]]


WAYS = {"all": lambda body: None, "no-schema": without_schema, "no-examples": without_examples}


class Relay(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.pass_on(None)

    def do_POST(self):
        self.pass_on(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def pass_on(self, body):
        _, way, path = self.path.split("/", 2)
        if body is not None:
            WAYS[way](body)
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.server.model}/{path}", data, {"Content-Type": "application/json"})
        try:
            response = urllib.request.urlopen(request, timeout=300)
        except urllib.error.HTTPError as refused:
            response = refused
        answer = response.read()
        self.send_response(response.status)
        self.send_header("Content-Type", response.headers["Content-Type"])
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def end_with_stdin():
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)


def main(model):
    threading.Thread(target=end_with_stdin, daemon=True).start()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    server.model = model
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
