"""Carries out runs on workers that clone a git repository for each run and push what it changed to a branch.

repositories.py UPDRAFT PACKAGES [refused|branches|labels]

`refused`: addresses, branches and rights that may not or cannot be used. `branches`: two workers of one repository that is behind HTTP and a
password: branches, a kill, a branch that somebody else has moved, and a worker that takes the place of one whose machine is gone. `labels`:
the API and the page send runs to a worker with a label.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "api"))
from chosen_parts import run_chosen  # noqa: E402
from loopback import LoopbackServer, QuietHandler  # noqa: E402
from node import free_ports, post  # noqa: E402
from run import RULES, script  # noqa: E402
from workers import Headless, SharedServer, environment, refused, says, signing_node, started  # noqa: E402
from world import SECONDS  # noqa: E402

STEPS = [{"id": "weave", "agent": "coder", "prompt": "Write the file.", "writes": ["cloth"]},
         {"id": "dye", "agent": "clarification", "prompt": "Ask which colour.", "reads": ["cloth"], "writes": ["colour"]},
         {"id": "end", "agent": "coder", "prompt": "Add the label.", "reads": ["colour"], "writes": ["all"]}]
ADD = {"calls": [{"name": "write_file", "args": {"path": "label.txt", "content": "linen\n"}}]}
MORE = [{"when": {"agent": "planner", "contains": "weave and dye"}, "answer": {"json": {"steps": STEPS}}},
        {"when": {"agent": "coder", "turn": 0, "contains": "Add the label"}, "answer": ADD}, *RULES]


def git(folder, *arguments):
    given = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        given |= {f"GIT_{who}_NAME": "Ann", f"GIT_{who}_EMAIL": "ann@example.com"}
    done = subprocess.run(["git", "-C", folder, *arguments], env=given, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.strip()


def make_shop(folder):
    """A bare repository with one commit on `main`."""
    bare, work = folder / "git/shop.git", folder / "seed"
    bare.mkdir(parents=True)
    work.mkdir()
    git(bare, "init", "--quiet", "--bare", "--initial-branch=main")
    git(work, "init", "--quiet", "--initial-branch=main")
    (work / "notes.md").write_text("# Looms\n")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "Begin")
    git(work, "push", "--quiet", str(bare), "main")
    return bare


class GitServer(LoopbackServer):
    """Serves repositories by git's own HTTP backend, to those who have a password. `ann` may push, `bob` may only read."""

    def __init__(self, folder):
        users = {base64.b64encode(f"{name}:secret".encode()).decode(): name for name in ("ann", "bob")}
        self.pushes, self.is_away = [], False
        server, pushes = self, self.pushes

        class Handler(QuietHandler):
            def do_GET(self):
                if server.is_away:
                    self.send_response(503)
                    self.send_header("content-length", "0")
                    return self.end_headers()
                name = users.get(self.headers.get("authorization", "").removeprefix("Basic "))
                if not name:
                    self.send_response(401)
                    self.send_header("www-authenticate", 'Basic realm="shop"')
                    self.send_header("content-length", "0")
                    return self.end_headers()
                path, _, query = self.path.partition("?")
                if name == "bob" and "git-receive-pack" in self.path:
                    self.send_response(403)
                    self.send_header("content-length", "0")
                    return self.end_headers()
                if path.endswith("git-receive-pack"):
                    pushes.append(name)
                self.answer(path, query, name)

            do_POST = do_GET

            def body(self):
                if self.headers.get("transfer-encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("content-length", 0)))
                parts = b""
                while size := int(self.rfile.readline(), 16):
                    parts += self.rfile.read(size)
                    self.rfile.readline()
                return parts

            def answer(self, path, query, name):
                body = self.body()
                given = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                         "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": name, "REMOTE_ADDR": "127.0.0.1",
                         "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
                         "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
                         "GIT_PROTOCOL": self.headers.get("git-protocol", "")}
                done = subprocess.run(["git", "http-backend"], env=given, input=body, capture_output=True, timeout=SECONDS)
                head, _, rest = done.stdout.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
                self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
                for field, value in fields.items():
                    self.send_header(field, value)
                self.send_header("content-length", str(len(rest)))
                self.end_headers()
                self.wfile.write(rest)

        super().__init__(Handler)
        self.url += "/shop.git"


def log_in(home, name):
    """What a user has in the settings of git."""
    home.mkdir(parents=True, exist_ok=True)
    helper = f'!f() {{ echo username={name}; echo password=secret; }}; f'
    (home / ".gitconfig").write_text(f'[credential]\n\thelper = "{helper}"\n[user]\n\tname = Bea\n\temail = bea@example.com\n')


def check_refused(updraft, packages):
    """What cannot be cloned or pushed is said before Restate is told of the worker."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        bare, given = make_shop(folder), environment(folder / "home")

        def worker(address, given=given):
            return says(updraft, given, folder, "worker", "--workspaces", address)

        refused(worker(f"file://{bare}x"), "cannot be read", "git ls-remote")
        refused(worker(f"file://{bare}#none"), "has no branch `none`")
        refused(worker("git+ext::sh"), "none of the known forms")
        refused(worker("https://ann:secret@git.example/x.git"), "contains a user or a password")
        refused(worker("http://git.example/x.git"), "not encrypted")
        refused(worker(f"file://{bare}", {**given, "PATH": str(folder / "nowhere")}), "the program `git` was not found")
        git(bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
        refused(worker(f"file://{bare}"), "no commit on its main branch", "#BRANCH")
        server = GitServer(bare.parent)
        try:
            refused(worker(f"{server.url}#main"), "cannot be read")
            log_in(folder / "home", "bob")
            refused(worker(f"{server.url}#main"), "nothing can be pushed", "403")
        finally:
            server.close()
        start = says(updraft, given, folder, "worker", "start", "--workspace", "http://git.example/x.git", "x")
        refused(start, "not encrypted")


def worker_of(updraft, folder, name, node, key, address, more=()):
    (port,) = free_ports(1)
    log_in(folder / f"home of {name}", "ann")
    options = ["--restate", node.ingress, "--restate-admin", node.admin, "--identity-key", key, "--worker-listen", f"127.0.0.1:{port}",
               "--worker-name", name, "--workspaces", address, "--blobs", folder / "blobs", *more]
    worker = Headless(updraft, folder, name, options)
    (folder / "script.json").write_text(script(MORE))
    return worker


def shown(worker, run):
    code, out, said = says(worker.updraft, worker.environment, worker.folder, "show", "--json", run)
    assert code == 0, said
    return json.loads(out).get("git")


def until(what, holds):
    for _ in range(SECONDS * 10):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError(what)


def clones(worker):
    return list(Path(worker.environment["UPDRAFT_HOME"]).glob("repositories/*/runs/*"))


def check_branches(updraft, packages):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        node, key = signing_node(packages, folder)
        bare = make_shop(folder)
        git(bare, "config", "http.receivepack", "true")
        server = GitServer(bare.parent)
        workers = {"g1": worker_of(updraft, folder, "g1", node, key, server.url),
                   "g2": worker_of(updraft, folder, "g2", node, key, server.url, ["--trust-repositories"])}
        node.start()
        try:
            for worker in workers.values():
                worker.start()
            try_branches(updraft, workers, node, bare, server)
            try_moved_branch(updraft, workers["g1"], node, bare, server)
            try_cancel(updraft, workers, node, bare, server)
            try_kill(updraft, workers, node, bare, server)
            try_taking_over(updraft, folder, workers, node, bare, server)
            assert set(server.pushes) == {"ann"}, server.pushes
        except BaseException:
            for worker in workers.values():
                print(worker.log.read_text()[-3000:], file=sys.stderr)
            raise
        finally:
            for worker in workers.values():
                worker.close()
            node.close()
            server.close()


def try_branches(updraft, workers, node, bare, server):
    """New runs go round. Each has a branch with what it changed, and no clone afterwards; one that changed nothing has none."""
    given = workers["g1"].environment
    begun = [started(updraft, given, bare.parent, node, "--workspace", server.url, "--agent", "coder", "Write the file") for _ in range(2)]
    assert {run["worker"] for run in begun} == {"g1", "g2"}, begun
    assert all(run["branch"] == f"updraft/{run['run']}" for run in begun), begun
    for run, name in ((run["run"], run["worker"]) for run in begun):
        worker = workers[name]
        worker.until(run, "done")
        until("the clone is there", lambda: not clones(worker))
        noted = shown(worker, run)
        assert noted["commit"] == git(bare, "rev-parse", f"updraft/{run}") and "problem" not in noted, noted
        assert git(bare, "show", f"updraft/{run}:made.txt") == "hello"
        assert git(bare, "rev-parse", f"updraft/{run}^") == git(bare, "rev-parse", "main")
        about = git(bare, "log", "-1", "--format=%an <%ae>%n%B", f"updraft/{run}").splitlines()
        assert about[:2] == ["Bea <bea@example.com>", "Write the file"] and f"Updraft-Run: {run}" in about, about
        code, out, _ = says(updraft, worker.environment, bare, "show", run)
        assert code == 0 and f"branch     updraft/{run} at {noted['commit'][:12]} of {server.url}" in out, out
    looked = started(updraft, given, bare, node, "--workspace", server.url, "--agent", "coder", "Read the notes")
    workers[looked["worker"]].until(looked["run"], "done")
    until("the clone is there", lambda: not clones(workers[looked["worker"]]))
    assert "commit" not in shown(workers[looked["worker"]], looked["run"])
    assert looked["run"] not in git(bare, "branch", "--list", "updraft/*")
    refused(says(updraft, given, bare, "worker", "start", "--restate", node.ingress, "--workspace", server.url, "--agent", "nobody", "x"), "nobody")
    assert not any(clones(worker) for worker in workers.values())


def try_moved_branch(updraft, worker, node, bare, server):
    """A branch with this name that is somebody else's is left alone, and the clone is kept until the run is removed."""
    theirs = git(bare, "commit-tree", "main^{tree}", "-p", "main", "-m", "Mine")
    run, has_begun = None, None
    for number in range(4):  # Until it is the turn of this worker.
        run = f"moved{number}"
        git(bare, "update-ref", f"refs/heads/updraft/{run}", theirs)
        has_begun = started(updraft, worker.environment, bare, node, "--workspace", server.url, "--agent", "coder", "--id", run, "Write the file")
        if has_begun["worker"] == "g1":
            break
    worker.until(run, "done")
    until("it is not told", lambda: "somebody else has changed the branch" in (shown(worker, run) or {}).get("problem", ""))
    assert git(bare, "rev-parse", f"updraft/{run}") == theirs
    assert [clone.name for clone in clones(worker)] == [run]
    assert says(updraft, worker.environment, bare, "rm", run)[0] == 0
    assert not clones(worker)


def ask(updraft, workers, node, bare, server, name):
    """A run of this worker that waits for an answer after its first step, which was pushed."""
    for _ in range(4):
        begun = started(updraft, workers[name].environment, bare, node, "--workspace", server.url, "weave and dye")
        if begun["worker"] == name:
            break
        tell(node, begun["worker"], begun["run"], {"cancel": {"by": "ann"}})
    run, branch = begun["run"], f"updraft/{begun['run']}"
    workers[name].until(run, "waiting")
    until("the first step is not pushed", lambda: branch in git(bare, "branch", "--list", branch))
    assert git(bare, "show", f"{branch}:made.txt") == "hello"
    return run


def try_cancel(updraft, workers, node, bare, server):
    """What a run has changed that is cancelled in a terminal is pushed too, as soon as the server is back."""
    worker, run = workers["g1"], ask(updraft, workers, node, bare, server, "g1")
    (clone,) = [folder for folder in clones(worker) if folder.name == run]
    (clone / "shop/half.txt").write_text("half\n")
    (clone / "shop/inner/.git").mkdir(parents=True)
    server.is_away = True
    code, _, said = says(updraft, worker.environment, bare, "cancel", run)
    assert code == 0 and "is cancelled" in said, said
    worker.until(run, "cancelled")
    until("it is not told", lambda: "503" in (shown(worker, run) or {}).get("problem", ""))
    server.is_away = False
    until("it is not pushed", lambda: "problem" not in shown(worker, run))
    noted = shown(worker, run)
    assert noted["commit"] == git(bare, "rev-parse", f"updraft/{run}"), noted
    assert git(bare, "show", f"updraft/{run}:half.txt") == "half"
    # Not all of it could be pushed, so the clone stays.
    assert noted["left_out"] == ["inner (a repository of its own)"] and clone.exists(), noted
    assert says(updraft, worker.environment, bare, "rm", run)[0] == 0 and not clone.exists()


def trusted(worker):
    file = Path(worker.environment["UPDRAFT_HOME"]) / "trusted.json"
    return list(json.loads(file.read_text())) if file.exists() else []


def tell(node, name, run, given):
    post(f"{node.ingress}/Runs.{name}/{run}/tell", {"at": int(time.time() * 1000), "input": given})


def check_ended(worker, run, bare, commits):
    worker.until(run, "done")
    until("the clone is there", lambda: run not in [clone.name for clone in clones(worker)])
    assert git(bare, "show", f"updraft/{run}:label.txt") == "linen"
    assert shown(worker, run)["commit"] == git(bare, "rev-parse", f"updraft/{run}")
    assert git(bare, "rev-list", "--count", f"main..updraft/{run}") == commits


def try_kill(updraft, workers, node, bare, server):
    """A worker that was killed continues in the clone that it had."""
    run = ask(updraft, workers, node, bare, server, "g2")
    (clone,) = [folder for folder in clones(workers["g2"]) if folder.name == run]
    (clone / "shop/unpushed.txt").write_text("kept\n")
    assert trusted(workers["g2"]) == [str(clone / "shop")] and trusted(workers["g1"]) == []
    workers["g2"].kill()
    workers["g2"].start()
    code, _, said = says(updraft, workers["g2"].environment, bare, "answer", run, "red")
    assert code == 0 and "answer recorded" in said, said
    # One of the steps has written nothing itself, but the file was there when it ended.
    check_ended(workers["g2"], run, bare, "3")
    assert git(bare, "show", f"updraft/{run}:unpushed.txt") == "kept"
    assert trusted(workers["g2"]) == []


def try_taking_over(updraft, folder, workers, node, bare, server):
    """A machine is gone with its clones: another one continues from what was pushed, and the run is told."""
    run = ask(updraft, workers, node, bare, server, "g1")
    worker = workers["g1"]
    worker.kill()
    home = Path(worker.environment["HOME"])
    shutil.rmtree(home)
    log_in(home, "ann")
    environment(home)
    refused(says(updraft, worker.environment, folder, "worker", *map(str, worker.options)), "the worker `g1` is on another machine")
    worker.options = [*worker.options, "--take-over"]
    worker.start()
    tell(node, "g1", run, {"answer": {"text": "red"}})
    check_ended(worker, run, bare, "2")
    code, out, said = says(updraft, worker.environment, folder, "export", run)
    assert code == 0 and "goes on at another machine" in out and f"`updraft/{run}`" in out, (said, out[-2000:])


def check_labels(updraft, packages):
    """Two servers share a folder; a run that asks for the label of one of them goes there, whoever is asked, with all that was said."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        node, key = signing_node(packages, folder)
        work = folder / "work"
        work.mkdir()
        (work / "notes.md").write_text("# Looms\n")
        more = ["--shared", "--blobs", str(folder / "blobs")]
        one = SharedServer(updraft, folder / "one", work, "s1", node, key, more)
        two = SharedServer(updraft, folder / "two", work, "s2", node, key, [*more, "--labels", "gpu"])
        node.start()
        try:
            one.start()
            two.start()
            order = {"goal": "Write the file", "agent": "coder", "label": "gpu", "approvals": "read-only", "variables": {"colour": "blue"}}
            run = one.run(order, headers={"Idempotency-Key": "once"})
            assert one.run(order, headers={"Idempotency-Key": "once"}) == run
            for server in (one, two):
                server.until(run, "done")
            assert not (work / "made.txt").exists()
            code, out, _ = two.says("export", run)
            assert code == 0 and '"colour"' in out
            _, head = post(f"{node.ingress}/Runs.s2/{run}/head", None)
            assert json.loads(head)["records"] > 1, head
            denied = one.send("POST", "/runs", {"goal": "x", "label": "tpu"})
            assert denied.status == 409 and "no worker of the workspace has the label `tpu`" in denied.json()["detail"], denied.body
        except BaseException:
            for server in (one, two):
                print(server.log.read_text()[-2500:], file=sys.stderr)
            raise
        finally:
            for server in (one, two):
                if server.server:
                    server.close()
            node.close()


PARTS = {"refused": check_refused, "branches": check_branches, "labels": check_labels}


if __name__ == "__main__":
    run_chosen(PARTS, __doc__)
