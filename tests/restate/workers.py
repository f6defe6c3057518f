"""Carries out runs on several workers of one Restate node that signs its requests.

workers.py UPDRAFT PACKAGES [refused|headless|shared|limits]

`refused`: addresses, keys, tokens and folders that may not be used. `headless`: `updraft worker` with two workspaces and a label, behind
proxies that ask for a token, killed in between. `shared`: two workers on one folder see each other's runs and answer for each other; a third
takes the place of one that is gone, from what Restate knows alone; exports go from either engine to the other. `limits`: two workers stay
within one limit of a model.
"""

import base64
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "api"))
from chosen_parts import run_chosen  # noqa: E402
from loopback import LoopbackServer, QuietHandler  # noqa: E402
from node import Node, free_ports, post  # noqa: E402
from outside import Outside  # noqa: E402
from run import RULES, script  # noqa: E402
from world import SECONDS, World  # noqa: E402

DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
MODEL_KEY = "mk-weaver-4b7f21c09a3e58d6"
OTHER_KEY = "publickeyv1_AfQwmwfgEZhrWpvv8N52SHpRtZqGGaFr4AZN6qtYWSiY"


def signing_node(packages, folder):
    """A node that signs its requests, and its public key as it writes it."""
    node, key = Node(packages, folder), Path(folder) / "identity.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
    public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout[-32:]
    number, text = int.from_bytes(public, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = DIGITS[digit] + text
    zeros = len(public) - len(public.lstrip(b"\0"))
    with open(node.config, "a") as config:
        config.write(f'[worker.invoker]\nrequest-identity-private-key-pem-file = "{key}"\n')
    return node, "publickeyv1_" + "1" * zeros + text


def environment(home):
    (home / "updraft").mkdir(parents=True, exist_ok=True)
    return {"HOME": str(home), "UPDRAFT_HOME": str(home / "updraft"), "PATH": os.environ["PATH"]}


class TokenProxy(LoopbackServer):
    """In front of an address of Restate: passes on only what has the token."""

    def __init__(self, target):
        proxy, self.passed, self.refused = self, 0, 0

        class Handler(QuietHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if self.headers.get("authorization") != "Bearer secret":
                    proxy.refused += 1
                    return self.answer(401, b"{}")
                proxy.passed += 1
                connection = http.client.HTTPConnection("127.0.0.1", target, timeout=SECONDS)
                connection.request("POST", self.path, body, {name: value for name, value in self.headers.items() if name.lower() != "host"})
                answer = connection.getresponse()
                self.answer(answer.status, answer.read())

            def answer(self, status, body):
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        super().__init__(Handler)


def says(updraft, given, work, *arguments):
    done = subprocess.run([updraft, *map(str, arguments)], env=given, cwd=work, capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stdout, done.stderr


def refused(done, *words):
    code, out, said = done
    assert code == 2, (code, out, said)
    for word in words:
        assert word in said, (word, said)


class Headless:
    """`updraft worker`; `start` and `kill` may be called again and again."""

    def __init__(self, updraft, folder, name, options):
        self.updraft, self.folder, self.options = updraft, Path(folder), options
        self.environment, self.log = environment(self.folder / f"home of {name}"), self.folder / f"log of {name}"
        (self.folder / "script.json").write_text(script(RULES))

    def start(self):
        log = open(self.log, "ab")
        before = self.log.stat().st_size
        command = [self.updraft, "worker", "--model", f"scripted/{self.folder / 'script.json'}", "--no-sandbox", "--yes", *map(str, self.options)]
        self.process = subprocess.Popen(command, stderr=log, stdout=log, env=self.environment, cwd=self.folder)
        for _ in range(SECONDS * 20):
            if "ready" in self.log.read_text()[before:]:
                return self
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError("the worker does not start:\n" + self.log.read_text())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(SECONDS) == 143

    def until(self, run, status):
        for _ in range(SECONDS * 10):
            _, out, _ = says(self.updraft, self.environment, self.folder, "runs", "--json")
            seen = [one["status"] for one in map(json.loads, out.splitlines()) if one["run"] == run]
            if seen == [status]:
                return
            time.sleep(0.1)
        raise AssertionError(f"{run} is {seen}, not {status}\n{self.log.read_text()[-3000:]}")


def started(updraft, given, work, node, *arguments):
    code, out, said = says(updraft, given, work, "worker", "start", "--json", "--restate", node.ingress, *arguments)
    assert code == 0, said
    return json.loads(out)


def check_refused(updraft, packages):
    """Addresses beyond this machine need signatures, encryption and a token; each is said."""
    with tempfile.TemporaryDirectory() as folder:
        given, work, token = environment(Path(folder) / "home"), Path(folder) / "work", Path(folder) / "token"
        work.mkdir()
        token.write_text("secret\n")

        def worker(*options):
            return says(updraft, given, work, "worker", *options)

        refused(worker("--worker-listen", "0.0.0.0:9080"), "requests need not be signed", "--identity-key")
        refused(worker("--worker-listen", "0.0.0.0:9080", "--identity-key", OTHER_KEY), "--worker-url")
        refused(worker("--worker-url", "http://10.0.0.9:9080"), "requests need not be signed")
        refused(worker("--identity-key", "abc"), "`abc` is not a public key")
        refused(worker("--restate", "http://10.0.0.1:8080"), "not encrypted", "https://")
        refused(worker("--restate-admin", "http://10.0.0.1:9070", "--restate-token", token), "not encrypted")
        refused(worker("--restate", "https://restate.example"), "no token", "--restate-token")
        refused(worker("--shared"), "--blobs")
        refused(says(updraft, given, work, "worker", "start", "--restate", "http://10.0.0.1:8080", "x"), "not encrypted")
        refused(says(updraft, given, work, "serve", "--engine", "restate", "--restate", "http://10.0.0.1:8080"), "not encrypted")


def check_headless(updraft, packages):
    """Two workspaces in one process, a label, requests without a signature, and a kill while a question waits."""
    with tempfile.TemporaryDirectory() as folder:
        node, key = signing_node(packages, folder)
        one, two = Path(folder) / "one", Path(folder) / "two"
        for work in (one, two):
            work.mkdir()
            (work / "notes.md").write_text("# Looms\n")
        (port,) = free_ports(1)
        proxies = [TokenProxy(node.ingress_port), TokenProxy(node.admin_port)]
        (Path(folder) / "token").write_text("secret\n")
        options = ["--restate", proxies[0].url, "--restate-admin", proxies[1].url, "--restate-token", f"{folder}/token",
                   "--worker-listen", f"127.0.0.1:{port}", "--labels", "gpu,big"]
        worker = Headless(updraft, folder, "w", [*options, "--workspaces", f"{one},{two}", "--identity-key", key])
        node.start()
        try:
            stranger = says(updraft, environment(Path(folder) / "stranger"), one, "worker", *options, "--identity-key", OTHER_KEY)
            assert stranger[0] == 1 and "not made by a key that this worker knows" in stranger[2], stranger
            worker.start()
            try_headless(updraft, worker, node, port, one, two)
            assert all(proxy.passed and not proxy.refused for proxy in proxies)
        except BaseException:
            print(worker.log.read_text()[-3000:], node.said(), file=sys.stderr)
            raise
        finally:
            worker.close()
            node.close()
            for proxy in proxies:
                proxy.close()


def try_headless(updraft, worker, node, port, one, two):
    given = worker.environment
    for path in ("/discover", "/invoke/Hands.x/start"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        connection.request("GET" if path == "/discover" else "POST", path)
        assert connection.getresponse().status == 401, path
    for work in (one, two):
        begun = started(updraft, given, work, node, "--agent", "coder", "--label", "gpu", "Write the file")
        worker.until(begun["run"], "done")
        assert (work / "made.txt").read_text() == "hello\n"
        assert begun["worker"].startswith(work.name)
    again = started(updraft, given, one, node, "--agent", "coder", "--id", "mine", "Write the file")
    assert again["run"] == "mine" == started(updraft, given, one, node, "--agent", "coder", "--id", "mine", "Write the file")["run"]
    worker.until("mine", "done")
    refused(says(updraft, given, one, "worker", "start", "--restate", node.ingress, "--label", "tpu", "x"), "no worker of the workspace has the label `tpu`", "(big, gpu)")
    refused(says(updraft, given, one, "worker", "start", "--restate", node.ingress, "--agent", "nobody", "x"), "nobody")
    refused(says(updraft, given, one, "worker", "start", "--restate", node.ingress, "--workspace-id", "none", "x"), "no such workspace")
    asked = started(updraft, given, one, node, "--agent", "clarification", "Ask me")
    worker.until(asked["run"], "waiting")
    worker.kill()
    # It is accepted while the worker is away.
    tell = {"at": int(time.time() * 1000), "input": {"answer": {"text": "red"}}}
    status, _ = post(f"{node.ingress}/Runs.{asked['worker']}/{asked['run']}/tell/send", tell)
    assert status == 202, status
    worker.start()
    worker.until(asked["run"], "done")
    for run in (asked["run"], "mine"):
        code, _, said = says(updraft, given, one, "replay", run)
        assert code == 0, said


class SharedServer(World):
    """A server that shares its folder with others, with files of its own for Updraft."""

    def __init__(self, updraft, folder, work, name, node, key, more=(), settings=""):
        Path(folder).mkdir()
        (self.listen,) = free_ports(1)
        options = ["--yes", "--engine", "restate", "--restate", node.ingress, "--restate-admin", node.admin, "--identity-key", key,
                   "--worker-listen", f"127.0.0.1:{self.listen}", "--worker-name", name, *more]
        super().__init__(updraft, folder, settings, options=options)
        (self.folder / "script.json").write_text(script(RULES))
        shutil.rmtree(self.work)
        self.work = work

    def says(self, *arguments):
        return says(self.updraft, self.environment, self.work, *arguments)

    def start(self):
        assert self.says("trust", "--yes")[0] == 0
        return super().start()

    def events(self, run):
        code, out, said = self.says("export", run)
        assert code == 0, said
        return [line for line in out.splitlines() if '"seq"' in line[:10]]


def check_shared(updraft, packages):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        node, key = signing_node(packages, folder)
        work, blobs = folder / "work", folder / "blobs"
        work.mkdir()
        (work / "notes.md").write_text("# Looms\nA loom weaves cloth.\n")
        more = ["--shared", "--blobs", str(blobs)]
        one = SharedServer(updraft, folder / "one", work, "s1", node, key, more)
        two = SharedServer(updraft, folder / "two", work, "s2", node, key, [*more, "--labels", "gpu"])
        three = SharedServer(updraft, folder / "three", work, "s2", node, key, more)
        node.start()
        try:
            one.start()
            two.start()
            try_shared(one, two, node)
            try_wrong_folders(updraft, folder, one, node, key, more)
            try_taking_over(one, two, three, node)
            try_exports(updraft, folder, one)
        except BaseException:
            for server in (one, two, three):
                print(server.log.read_text()[-2500:] if server.log.exists() else "", file=sys.stderr)
            raise
        finally:
            for server in (one, two, three):
                if server.server:
                    server.close()
            node.close()


def try_shared(one, two, node):
    """What one worker does is seen by the other, whole; and what people say there reaches it."""
    begun = [started(one.updraft, one.environment, one.work, node, "--agent", "coder", "Print much") for _ in range(2)]
    assert {run["worker"] for run in begun} == {"s1", "s2"}, begun
    begun.append(started(one.updraft, one.environment, one.work, node, "--label", "gpu", "--agent", "coder", "Write the file"))
    assert begun[2]["worker"] == "s2", begun
    for run in (one["run"] for one in begun):
        for server in (one, two):
            server.until(run, "done")
            code, _, said = server.says("replay", run)
            assert code == 0, said
        assert one.events(run) == two.events(run), run
    asked = started(one.updraft, one.environment, one.work, node, "--label", "gpu", "--agent", "clarification", "Ask me")["run"]
    waiting = one.until(asked, "waiting")["waits"][0]["id"]
    answered = one.send("POST", f"/runs/{asked}/answer", {"question": waiting, "text": "red"})
    assert answered.status == 200, answered.body
    for server in (two, one):
        server.until(asked, "done")
    cancelled = started(one.updraft, one.environment, one.work, node, "--label", "gpu", "--agent", "clarification", "Ask me")["run"]
    one.until(cancelled, "waiting")
    one.send("POST", f"/runs/{cancelled}/cancel", {})
    for server in (two, one):
        server.until(cancelled, "cancelled")


def try_wrong_folders(updraft, folder, one, node, key, more):
    """A copy of the folder, the folder without --shared, and other large values are refused."""
    copy = folder / "copy"
    shutil.copytree(one.work, copy)
    place = ["worker", "--restate", node.ingress, "--restate-admin", node.admin, "--identity-key", key, "--worker-name", "s9",
             "--worker-listen", f"127.0.0.1:{free_ports(1)[0]}", "--yes"]
    given = environment(folder / "home of s9")
    refused(says(updraft, given, copy, *place, *more), "the same path on every machine")
    refused(says(updraft, given, one.work, *place), "is shared with other machines")
    refused(says(updraft, given, one.work, *place, "--shared", "--blobs", folder / "others"), "keeps large values elsewhere")
    (one.work / ".updraft-shared/worker-s1").unlink()
    refused(says(updraft, given, one.work, *place, *more), "not the folder that the worker `s1` has")
    (one.work / ".updraft-shared/worker-s1").write_text((Path(one.environment["UPDRAFT_HOME"]) / "worker.id").read_text())


def try_taking_over(one, two, three, node):
    """A worker whose machine is gone: another one gets its runs from Restate, and continues them."""
    asked = started(one.updraft, one.environment, one.work, node, "--label", "gpu", "--agent", "clarification", "Ask me")["run"]
    waiting = one.until(asked, "waiting")["waits"][0]["id"]
    known = {run["id"] for run in two.send("GET", "/runs").json()["runs"]}
    two.kill()
    shutil.rmtree(two.home)
    two.server = None
    # New runs go to those that are there.
    assert [started(one.updraft, one.environment, one.work, node, "--agent", "researcher", "Look")["worker"] for _ in range(2)] == ["s1"] * 2
    refused(three.says("serve", "--workspace", three.work, *three.options), "the worker `s2` is on another machine", "--take-over")
    three.options = [*three.options, "--take-over"]
    three.start()
    # Those of the other worker follow a moment later.
    for _ in range(SECONDS * 10):
        if known <= {run["id"] for run in three.send("GET", "/runs").json()["runs"]}:
            break
        time.sleep(0.1)
    else:
        raise AssertionError("some runs are missing")
    assert three.send("POST", f"/runs/{asked}/answer", {"question": waiting, "text": "red"}).status == 200
    for server in (three, one):
        server.until(asked, "done")
    for run in known:
        assert three.events(run) == one.events(run), run
        code, _, said = three.says("replay", run)
        assert code == 0, said


def try_exports(updraft, folder, one):
    """Runs go from either engine to the other, finished or not."""
    given, work = environment(folder / "home of the journal"), folder / "elsewhere"
    work.mkdir()
    model = ["--model", f"scripted/{one.folder / 'script.json'}", "--no-sandbox", "--yes"]
    done = one.run({"goal": "Write the file", "agent": "coder"})
    one.until(done, "done")
    asked = one.run({"goal": "Ask me", "agent": "clarification"})
    one.until(asked, "waiting")
    for run in (done, asked):
        file = folder / f"{run}.jsonl"
        file.write_text(one.says("export", run)[1])
        assert says(updraft, given, work, "import", file)[0] == 0
        assert says(updraft, given, work, "replay", run)[0] == 0
    code, _, said = says(updraft, given, work, "fork", done, "--at", "3", *model)
    assert code == 0, said
    code, out, said = says(updraft, given, work, "run", "--agent", "coder", *model, "Write the file")
    assert code == 0, said
    _, out, _ = says(updraft, given, work, "runs", "--json", "--limit", "1")
    run = json.loads(out.splitlines()[0])["run"]
    file = folder / "back.jsonl"
    file.write_text(says(updraft, given, work, "export", run)[1])
    assert one.says("import", file)[0] == 0
    assert one.says("replay", run)[0] == 0
    assert one.events(run), run


class KeyedModel(Outside):
    """Remembers the keys that it was asked with."""

    def __init__(self, script):
        self.keys = set()
        super().__init__(script)

    def ask(self, request, asked):
        self.keys.add(request.headers["authorization"])
        super().ask(request, asked)


def check_key(node, model):
    """The model has got its key, and Restate has not."""
    assert model.keys == {f"Bearer {MODEL_KEY}"}, model.keys
    kept = json.dumps([node.query(f"select * from {table}") for table in ("state", "sys_journal", "sys_invocation")])
    assert "Look again" in kept, "what Restate keeps is not looked at"
    for form in (MODEL_KEY, MODEL_KEY.encode().hex(), base64.b64encode(MODEL_KEY.encode()).decode()[:24]):
        assert form not in kept, "the model's key is in what Restate keeps"


def check_limits(updraft, packages):
    """Two workers, one key, at most one request at the same time: the model never sees two."""
    lock, now, most, seen = threading.Lock(), [0], [0], [0]

    def said(asked):
        with lock:
            now[0] += 1
            seen[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.15)
        with lock:
            now[0] -= 1
        return "Painted."

    outside = KeyedModel(said)
    settings = f'[providers.mine]\nbase_url = "http://127.0.0.1:{outside.port}/v1"\nspeaks = "openai"\nkey_env = "MINE_KEY"\n\n[limits.mine]\nconcurrency = 1\n'
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        node, key = signing_node(packages, folder)
        servers = []
        for name in ("l1", "l2"):
            work = folder / f"work of {name}"
            work.mkdir()
            servers.append(SharedServer(updraft, folder / name, work, name, node, key, settings=settings))
            servers[-1].model = "mine/painter"
            servers[-1].environment["MINE_KEY"] = MODEL_KEY
        node.start()
        try:
            for server in servers:
                server.start()
            runs = [(server, server.run({"goal": f"Look around {n}", "agent": "researcher"})) for n in range(4) for server in servers]
            for server, run in runs:
                server.until(run, "done")
            # The one that registered last is asked about limits; if it is gone, another is.
            servers[1].kill()
            servers[0].until(servers[0].run({"goal": "Look again", "agent": "researcher"}), "done")
            check_key(node, outside)
        except BaseException:
            for server in servers:
                print(server.log.read_text()[-2500:] if server.log.exists() else "", file=sys.stderr)
            raise
        finally:
            for server in servers:
                if server.server:
                    server.close()
            node.close()
            outside.close()
    assert most[0] == 1 and seen[0] >= 9, (most, seen)
    print(f"  {seen[0]} requests of two workers, never two at once, and their key is not in Restate")


PARTS = {"refused": check_refused, "headless": check_headless, "shared": check_shared, "limits": check_limits}


if __name__ == "__main__":
    run_chosen(PARTS, __doc__)
