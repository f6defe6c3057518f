"""A worker that is gone in the middle of an answer: Restate has stored a part of it, and goes on asking the address it came from."""

import json
import sys
import threading

from loopback import LoopbackServer, QuietHandler

SET_STATE = 0x0403


def field(number, content):
    """A field of a message: bytes shorter than 128."""
    return bytes([number << 3 | 2, len(content)]) + content


def frame(kind, message):
    return kind.to_bytes(2, "big") + bytes(2) + len(message).to_bytes(4, "big") + message


class FormerWorker(LoopbackServer):
    """It offers the object of a worker's runs, and sets the state when it is asked to `attach`; but says nothing more."""

    def __init__(self, name, state):
        head = json.dumps(state).encode()
        part = frame(SET_STATE, field(1, b"head") + field(3, field(1, head)))
        service = {"name": f"Runs.{name}", "ty": "VIRTUAL_OBJECT", "handlers": [{"name": "attach", "ty": "EXCLUSIVE"}],
                   "retryPolicyInitialInterval": 50, "retryPolicyMaxInterval": 1000, "retryPolicyMaxAttempts": 1000000}
        manifest = json.dumps({"protocolMode": "REQUEST_RESPONSE", "minProtocolVersion": 5, "maxProtocolVersion": 5, "services": [service]})
        former, self.asked = self, threading.Event()

        class Handler(QuietHandler):
            def do_GET(self):
                self.answer("application/vnd.restate.endpointmanifest.v4+json", manifest.encode())

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                if former.asked.is_set():
                    return self.send_error(503)
                self.answer(self.headers["content-type"], part)
                former.asked.set()

            def answer(self, kind, body):
                self.send_response(200)
                for header, value in {"content-type": kind, "content-length": len(body), "x-restate-server": "former"}.items():
                    self.send_header(header, str(value))
                self.end_headers()
                self.wfile.write(body)

        super().__init__(Handler)


if __name__ == "__main__":
    sys.exit(__doc__)
