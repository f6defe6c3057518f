"""Measures how much a terminal program writes besides the text, while a model's answer is streamed to it.

    python3 flicker.py [--rate CHARACTERS_PER_SECOND] [--columns N] -- COMMAND ...

Starts a model server on loopback (chat completions, streamed) and the command on a pseudoterminal with OPENAI_BASE_URL set to it;
types one message, waits for the end of the answer, and prints bytes written / characters streamed. Any program that speaks
this protocol can be measured in the same way.
"""

import argparse, fcntl, json, os, pty, select, signal, struct, sys, termios, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SENTENCE = "The tide comes in and the tide goes out, twice a day and a little later each. "
TEXT = (SENTENCE * 3 + "\n\n") * 6 + "This is the end of it."

arguments = argparse.ArgumentParser()
arguments.add_argument("--rate", type=float, default=400)
arguments.add_argument("--columns", type=int, default=80)
arguments.add_argument("--ready", type=float, default=2.0, help="seconds until the program takes keys")
arguments.add_argument("command", nargs="+")
given = arguments.parse_args()
began = threading.Event()


class Model(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        began.set()
        for at in range(0, len(TEXT), 4):
            self.send({"delta": {"content": TEXT[at : at + 4]}})
            time.sleep(4 / given.rate)
        self.send({"delta": {}, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def send(self, choice):
        self.wfile.write(b"data: " + json.dumps({"choices": [{"index": 0, **choice}]}).encode() + b"\n\n")
        self.wfile.flush()


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
child, terminal = pty.fork()
if child == 0:
    os.environ.update(OPENAI_BASE_URL=f"http://127.0.0.1:{server.server_port}/v1", OPENAI_API_KEY="key", TERM="xterm-256color")
    os.execvp(given.command[0], given.command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, given.columns, 0, 0))
written, counted, typed, deadline = b"", 0, False, time.time() + 120
ready = time.time() + given.ready
while time.time() < deadline:
    if not typed and time.time() > ready:
        os.write(terminal, b"Tell me a story\r")
        typed = True
    if select.select([terminal], [], [], 0.05)[0]:
        part = os.read(terminal, 65536)
        written += part
        counted += len(part) if began.is_set() else 0
    elif b"end of it." in written:
        break
os.kill(child, signal.SIGTERM)
print(f"{(counted - len(TEXT)) / len(TEXT):.2f} bytes besides the text for each of {len(TEXT)} characters")
