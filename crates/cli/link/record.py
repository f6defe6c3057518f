"""Writes the list of functions that run before and during the first question to a model: `order.txt`, for the linker.

    UPDRAFT_KEEP_SYMBOLS=1 cargo build --profile dist -p updraft
    python3 crates/cli/link/record.py target/dist/updraft

It needs `qemu-x86_64` (Debian: `qemu-user`), which logs the name of each function that it translates. The list is sorted, so that it
changes little from one recording to the next. Names contain a hash of a crate's dependencies, so the list has to be recorded again after
these have changed; how many functions the former list still named is printed.
"""
import http.server, json, os, re, subprocess, sys, tempfile, threading

HERE = os.path.dirname(os.path.abspath(__file__))


class Model(http.server.BaseHTTPRequestHandler):
    """Answers every question with one word, as a stream."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        chunk = {"id": "1", "object": "chat.completion.chunk", "model": "gpt-4o"}
        word = {"index": 0, "delta": {"role": "assistant", "content": "Hello."}, "finish_reason": None}
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        lines = [json.dumps({**chunk, "choices": [choice]}) for choice in (word, end)] + ["[DONE]"]
        body = "".join(f"data: {line}\n\n" for line in lines).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


def executed(program):
    """The names of the functions that one short run executes."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, UPDRAFT_HOME=home, OPENAI_API_KEY="x")
        env["OPENAI_BASE_URL"] = f"http://127.0.0.1:{server.server_port}/v1"
        os.mkdir(f"{home}/folder")
        emulator = ["qemu-x86_64", "-d", "in_asm", "-D", f"{home}/log"]
        run = [program, "run", "--model", "openai-compatible/gpt-4o", "--agent", "coder", "Say hello"]
        subprocess.run(emulator + run, cwd=f"{home}/folder", env=env, check=True, stdout=subprocess.DEVNULL)
        return set(re.findall(r"^IN: (\S+)", open(f"{home}/log").read(), re.M))


def main():
    names = sorted(executed(os.path.abspath(sys.argv[1])))
    order = os.path.join(HERE, "order.txt")
    former = set(open(order).read().split()) if os.path.exists(order) else set()
    with open(order, "w") as file:
        file.writelines(f"{name}\n" for name in names)
    print(f"{len(names)} functions; {len(former.intersection(names))} of them were in the former list")


main()
