"""Measures how much a terminal program writes besides the text, while a model's answer is streamed to it.

    python3 flicker.py [--rate CHARACTERS_PER_SECOND] [--columns N] [--env NAME=VALUE] -- COMMAND ...

Starts a model server on loopback that speaks chat completions, responses and generateContent, and the command on a
pseudoterminal; types one message, waits for the end of the answer, and prints bytes written / characters streamed.
`{base}` in the command and in variables is the server's address. OPENAI_BASE_URL and GOOGLE_GEMINI_BASE_URL are set to it.
"""

import argparse, fcntl, json, os, pty, re, select, signal, struct, termios, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Prose that does not repeat itself: some programs stop a model that does.
WORDS = """tide moon water harbour boat rope captain letter island winter storm lamp window bread morning market bridge river stone
garden orchard wagon village road hill forest owl fox snow fire kitchen table clock tower bell ship whale song silver coin map
compass star night cloud rain wind sail anchor shore sand shell pearl fisher net song story end""".split()


def prose():
    seed, paragraphs = 7, []
    for _ in range(6):
        sentences = []
        for _ in range(3):
            words = []
            for _ in range(13):
                seed = (seed * 1103515245 + 12345) % 2**31
                words.append(WORDS[seed // 65536 % len(WORDS)])
            sentences.append(" ".join(words).capitalize() + ".")
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(paragraphs) + "\n\nThis is the end of it."


TEXT = prose()

arguments = argparse.ArgumentParser()
arguments.add_argument("--rate", type=float, default=400)
arguments.add_argument("--columns", type=int, default=80)
arguments.add_argument("--rows", type=int, default=24)
arguments.add_argument("--ready", type=float, default=2.0, help="seconds until the program takes keys")
arguments.add_argument("--env", action="append", default=[])
arguments.add_argument("--keep", help="a file for all that the program writes")
arguments.add_argument("command", nargs="+")
given = arguments.parse_args()
began, ended = threading.Event(), threading.Event()


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}], "models": []}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        # Programs also ask for titles and the like; those get a short answer.
        is_aside = "enerateContent" in self.path and "stream" not in self.path or b"title" in body[:400].lower()
        is_first = b"Tell me a story" in body and not is_aside and not began.is_set()
        text = TEXT if is_first else "A story"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        parts = [text[at : at + 4] for at in range(0, len(text), 4)]
        dialect = self.responses_api if "/responses" in self.path else self.gemini if "enerateContent" in self.path else self.chat
        if is_first:
            began.set()
        dialect(parts, 4 / given.rate if is_first else 0)
        if is_first:
            ended.set()
        self.close_connection = True

    def chat(self, parts, pause):
        for part in parts:
            self.data({"choices": [{"index": 0, "delta": {"role": "assistant", "content": part}}]})
            time.sleep(pause)
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        self.data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def gemini(self, parts, pause):
        for at, part in enumerate(parts):
            candidate = {"content": {"role": "model", "parts": [{"text": part}]}, "index": 0}
            if at == len(parts) - 1:
                candidate["finishReason"] = "STOP"
            self.data({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 18}})
            time.sleep(pause)

    def responses_api(self, parts, pause):
        reply = {"id": "r", "object": "response", "status": "in_progress", "model": "m", "output": []}
        message = {"id": "i", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        place = {"item_id": "i", "output_index": 0, "content_index": 0}
        self.event("response.created", response=reply)
        self.event("response.output_item.added", output_index=0, item=message)
        for part in parts:
            self.event("response.output_text.delta", **place, delta=part)
            time.sleep(pause)
        content = [{"type": "output_text", "text": "".join(parts), "annotations": []}]
        message = {**message, "status": "completed", "content": content}
        self.event("response.output_item.done", output_index=0, item=message)
        usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
        self.event("response.completed", response={**reply, "status": "completed", "output": [message], "usage": usage})

    def event(self, kind, **fields):
        self.wfile.write(f"event: {kind}\n".encode())
        self.data({"type": kind, **fields})

    def data(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()


def answer(terminal, part):
    """What a terminal answers to questions about itself."""
    replies = [
        (rb"\x1b\[6n", b"\x1b[1;1R"),
        (rb"\x1b\[c", b"\x1b[?62;22c"),
        (rb"\x1b\[\?u", b"\x1b[?0u"),
        (rb"\x1b\]10;\?", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
        (rb"\x1b\]11;\?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
    ]
    for question, reply in replies:
        for _ in re.findall(question, part):
            os.write(terminal, reply)


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
child, terminal = pty.fork()
if child == 0:
    os.environ.update(OPENAI_BASE_URL=f"{base}/v1", GOOGLE_GEMINI_BASE_URL=base, OPENAI_API_KEY="key", GEMINI_API_KEY="key")
    os.environ.update(TERM="xterm-256color", LANG="C.UTF-8")
    os.environ.update(pair.replace("{base}", base).split("=", 1) for pair in given.env)
    command = [word.replace("{base}", base) for word in given.command]
    os.execvp(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", given.rows, given.columns, 0, 0))
written, counted, stage, deadline, over = b"", b"", 0, time.time() + 120, None
ready = time.time() + given.ready
while time.time() < deadline:
    if stage == 0 and time.time() > ready:
        os.write(terminal, b"Tell me a story")
        stage, ready = 1, time.time() + 0.7
    if stage == 1 and time.time() > ready:
        os.write(terminal, b"\r")
        stage = 2
    if select.select([terminal], [], [], 0.05)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            break
        answer(terminal, part)
        written += part
        counted += part if began.is_set() else b""
    # Until a second after the last part of the answer.
    if ended.is_set() and over is None:
        over = time.time() + 1
    if over is not None and time.time() > over:
        break
os.kill(child, signal.SIGTERM)
if given.keep:
    open(given.keep, "wb").write(written)
if not ended.is_set():
    print("the answer was not streamed to its end")
else:
    sequences = sum(map(len, re.findall(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.", counted)))
    print(f"{(len(counted) - len(TEXT)) / len(TEXT):.2f} bytes besides the text for each of {len(TEXT)} characters; ", end="")
    print(f"{sequences / len(TEXT):.2f} of them in escape sequences")
