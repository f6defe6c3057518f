"""Takes the place of workers that are gone, where that is hardest.

taking_over.py UPDRAFT PACKAGES [beside|bound]

`beside`: a worker that is gone in the middle of a command and of a question is taken over by a process that shares its journal with another
worker of the same folder; the same order, sent again, does not begin at that other worker. `bound`: Restate has stored a part of an answer
of a worker that is gone, and asks for the rest at its address. Also that nobody else has the place: a second process, or another address.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "api"))
from chosen_parts import run_chosen  # noqa: E402
from former_worker import FormerWorker  # noqa: E402
from node import Node, free_ports, post  # noqa: E402
from run import RULES, command, on, script  # noqa: E402
from workers import Headless, SharedServer, environment, refused, says, signing_node, started  # noqa: E402
from world import SECONDS  # noqa: E402


def patiently(what, act):
    for _ in range(SECONDS * 10):
        found = act()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(what)


def check_beside(updraft, packages):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        node, key = signing_node(packages, folder)
        work = folder / "work"
        work.mkdir()
        more = ["--shared", "--blobs", str(folder / "blobs")]
        one = SharedServer(updraft, folder / "one", work, "s1", node, key, more)
        two = SharedServer(updraft, folder / "two", work, "s2", node, key, [*more, "--labels", "gpu"])
        for server in (one, two):
            (server.folder / "script.json").write_text(script([on("Wait long", command("sleep 15")), *RULES]))
        beside = one.beside()
        beside.options = [*two.options, "--take-over"]
        node.start()
        try:
            # The last to start is asked about the workspace. If that one is gone, it takes some ten seconds until another is.
            two.start()
            one.start()
            try_beside(one, two, beside, node, folder)
        except BaseException:
            for server in (one, two, beside):
                print(server.log.read_text()[-2500:] if server.log.exists() else "", file=sys.stderr)
            raise
        finally:
            for server in (beside, one, two):
                if server.server:
                    server.close()
            node.close()


def try_beside(one, two, beside, node, folder):
    def order(*arguments):
        return started(one.updraft, one.environment, one.work, node, *arguments)

    asked = order("--label", "gpu", "--agent", "clarification", "Ask me")["run"]
    cut = order("--label", "gpu", "--agent", "coder", "Wait long")["run"]
    assert order("--label", "gpu", "--agent", "researcher", "--id", "twice", "Look")["worker"] == "s2"
    # The other worker has copies of its runs by then.
    waiting = one.until(asked, "waiting")["waits"][0]["id"]
    patiently("the command is not copied", lambda: '"begun"' in one.says("export", cut)[1])
    one.until("twice", "done")
    two.kill()
    shutil.rmtree(two.home)
    two.server = None
    assert order("--agent", "researcher", "--id", "twice", "Look") == {"run": "twice", "worker": "s2"}
    others = [str(folder / "others") if option == str(folder / "blobs") else option for option in beside.options]
    refused(beside.says("serve", "--workspace", beside.work, *others), "keeps large values elsewhere", "--blobs")
    beside.start()
    refused(beside.says("serve", "--workspace", beside.work, *beside.options), "a worker `s2` runs already on this machine")
    beside.until(cut, "done")
    assert '"in_doubt"' in beside.says("export", cut)[1]
    # They have one journal, so what is said to one is said to the other.
    answered = one.send("POST", f"/runs/{asked}/answer", {"question": waiting, "text": "red"})
    assert answered.status == 200, answered.body
    for server in (beside, one):
        server.until(asked, "done")
    for run in (asked, cut):
        code, _, said = one.says("replay", run)
        assert code == 0, said


def check_bound(updraft, packages):
    with tempfile.TemporaryDirectory() as folder:
        node, work = Node(packages, folder), Path(folder) / "work"
        work.mkdir()
        former = FormerWorker("b1", {"epoch": 7, "records": 0, "digest": ""})
        (port,) = free_ports(1)
        options = ["--workspaces", work, "--restate", node.ingress, "--restate-admin", node.admin, "--worker-listen", f"127.0.0.1:{port}"]
        worker = Headless(updraft, folder, "w", [*options, "--worker-name", "b1"])
        node.start()
        try:
            post(f"{node.admin}/deployments", {"uri": former.url, "use_http_11": True})
            post(f"{node.ingress}/Runs.b1/r1/attach/send", None)
            assert former.asked.wait(SECONDS), "the former worker is not asked"
            bound = "select id from sys_invocation where target_service_name = 'Runs.b1' and pinned_deployment_id is not null"
            patiently("nothing is bound", lambda: node.query(bound))
            former.close()
            worker.start()
            patiently("it stays bound", lambda: not node.stuck())
            _, head = post(f"{node.ingress}/Runs.b1/r1/head", None)
            assert json.loads(head)["epoch"] == 7, head
            # Nor does anybody else get its address.
            code, _, said = says(updraft, environment(Path(folder) / "home of another"), work, "worker", *options, "--worker-name", "b2")
            assert code == 1 and f"cannot listen at `127.0.0.1:{port}`" in said and "--worker-listen" in said, (code, said)
        except BaseException:
            print(worker.log.read_text()[-3000:] if worker.log.exists() else "", node.said(), node.stuck(), file=sys.stderr)
            raise
        finally:
            worker.close()
            node.close()


PARTS = {"beside": check_beside, "bound": check_bound}


if __name__ == "__main__":
    run_chosen(PARTS, __doc__)
