"""Starts what deploy/restate/compose.yaml describes, without Docker: each service's environment and command, in network namespaces.

deploy.py UPDRAFT PACKAGES

Three nodes must become a cluster whose ingress and admin addresses nobody else reaches; the worker beside the first must be called by all
of them, signed; and `updraft doctor --restate` must find nothing wrong, and say so when a node or the worker is gone. Needs root.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import network
from network import Network
from node import SECONDS
from skips import skip

HERE = Path(__file__).resolve().parent
COMPOSE = HERE.parent.parent / "deploy/restate/compose.yaml"
ASK = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=2).read().decode())"


def services():
    """Every service: read by PyYAML where it is installed, else by Docker."""
    try:
        import yaml
        return yaml.safe_load(COMPOSE.read_text())["services"]
    except ImportError:
        words = ["docker", "compose", "-f", COMPOSE, "config", "--no-interpolate", "--format", "json"]
        return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["services"]


class Deployment:
    def __init__(self, updraft, packages, folder):
        self.updraft, self.folder, self.cables = updraft, Path(folder), Network(3)
        self.program = Path(packages) / "node_modules/@restatedev/restate-server-linux-x64/bin/restate-server"
        self.pem, self.services, self.running = self.folder / "identity.pem", services(), {}
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.pem], check=True, capture_output=True)

    def here(self, text):
        """A text of the compose file with names and paths of this test."""
        for number in (1, 2, 3):
            text = text.replace(f"restate-{number}", self.cables.address(number))
        return text.replace("/run/secrets/identity", str(self.pem))

    def launch(self, name, number, command, environment):
        log = open(self.folder / f"{name}.log", "ab")
        self.running[name] = subprocess.Popen([*self.cables.inside(number), *command], env=environment, stdout=log, stderr=log, cwd=self.folder)

    def node(self, number):
        environment = {name: self.here(str(value)) for name, value in self.services[f"restate-{number}"]["environment"].items()}
        # What the image has and this machine may lack: a folder of its own, and less memory here.
        data = self.folder / f"restate-{number}"
        (data / "tmp").mkdir(parents=True, exist_ok=True)
        environment |= {"RESTATE_BASE_DIR": str(data), "TMPDIR": str(data / "tmp"), "RESTATE_DEFAULT_NUM_PARTITIONS": "4",
                        "RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE": "128 MiB", "RESTATE_LOG_FORMAT": "compact", "PATH": "/usr/bin:/bin"}
        self.launch(f"restate-{number}", number, [self.program, "--no-logo"], environment)

    def worker(self, number, key):
        service = self.services[f"worker-{number}"]
        assert service["network_mode"] == f"service:restate-{number}"
        work, home = self.folder / "workspace", self.folder / "data"
        for folder in (work, home):
            folder.mkdir(exist_ok=True)
        script = self.folder / "script.json"
        script.write_text(json.dumps({"rules": [], "default": {"text": "Painted."}}))
        (home / "config.toml").write_text(f'model = "scripted/{script}"\n')
        command = re.sub(r"\$\{RESTATE_PUBLIC_KEY[^}]*\}", key, self.here(service["command"])).replace("/workspace", str(work))
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "UPDRAFT_HOME": str(home)}
        self.launch(f"worker-{number}", number, [self.updraft, *shlex.split(command)], environment)

    def ask(self, number, url):
        """What a node answers on its own loopback; None if nothing."""
        done = subprocess.run([*self.cables.inside(number), sys.executable, "-c", ASK, url], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None

    def until(self, what, holds):
        for _ in range(SECONDS * 2):
            found = holds()
            if found:
                return found
            time.sleep(0.5)
        raise AssertionError(f"{what} does not come to pass\n{self.said()}")

    def said(self):
        return "\n".join(f"--- {path.name}\n{path.read_text()[-1500:]}" for path in sorted(self.folder.glob("*.log")))

    def says(self, *words):
        """What a command says on the first machine."""
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "UPDRAFT_HOME": str(self.folder / "data")}
        command = [*self.cables.inside(1), self.updraft, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=self.folder / "workspace")
        self.complaint = done.stderr
        return done.stdout

    def order(self):
        said = self.says("worker", "start", "--json", "--workspace-id", "w1", "--agent", "researcher", "Look around")
        assert said, self.complaint
        return json.loads(said)["run"]

    def doctor(self):
        checks = [json.loads(line) for line in self.says("doctor", "--restate", "http://127.0.0.1:8080", "--json").splitlines()]
        return {check["check"]: check for check in checks if check["check"] in ("restate", "cluster", "workers", "waiting", "callback", "clock")}

    def close(self):
        for process in self.running.values():
            process.kill()
            process.wait()
        self.cables.close()


def is_member_count(deployment, number):
    found = deployment.ask(1, "http://127.0.0.1:9070/cluster-health")
    health = json.loads(found)["metadata_cluster_health"] if found else None
    return bool(health) and len(health["members"]) == number


def check(deployment):
    for number in (1, 2, 3):
        deployment.node(number)
    deployment.until("a cluster of three", lambda: is_member_count(deployment, 3))
    log = deployment.folder / "restate-1.log"
    key = deployment.until("a key", lambda: re.search(r"publickeyv1_\w+", log.read_text()))[0]
    for port in (8080, 9070):
        assert deployment.ask(2, f"http://{deployment.cables.address(1)}:{port}/health") is None, f"port {port} is open to others"
    deployment.worker(1, key)
    found = deployment.until("a worker", lambda: (deployment.doctor().get("workers", {}).get("status") == "ok") and deployment.doctor())
    for name, what in (("restate", "Restate 1.7"), ("cluster", "3 nodes"), ("workers", f"at http://{deployment.cables.address(1)}:9080"),
                       ("callback", f"signs with {key}"), ("clock", "agree")):
        assert found[name]["status"] == "ok" and what in found[name]["found"], found[name]
    deployment.until("the worker's readiness", lambda: "\nready" in (deployment.folder / "worker-1.log").read_text())
    run = deployment.order()
    deployment.until("the end of a run", lambda: "Painted." in deployment.says("show", run))
    # Someone who has no key pretends to be Restate.
    refused = subprocess.run([*deployment.cables.inside(2), sys.executable, "-c", ASK, f"http://{deployment.cables.address(1)}:9080/discover"],
                             capture_output=True, text=True)
    assert "HTTP Error 401" in refused.stderr or "HTTP Error 403" in refused.stderr, refused
    deployment.running["restate-1"].kill()
    deployment.running["restate-1"].wait()
    lost = deployment.doctor()
    assert lost["restate"]["status"] == "fail" and lost["restate"]["advice"], lost
    print(f"  three nodes and a worker of {COMPOSE.name}: signed, closed to others; doctor finds nothing, and a node that is gone")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    without = network.why_not()
    if without:
        skip(f"what deploy/restate describes is not started: {without}")
        return
    network.in_own_namespace()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        deployment = Deployment(str(Path(sys.argv[1]).resolve()), sys.argv[2], folder)
        try:
            check(deployment)
        except BaseException:
            print(deployment.said(), file=sys.stderr)
            raise
        finally:
            deployment.close()
    print(f"deploy: ok (after {time.monotonic() - began:.1f} s)")


if __name__ == "__main__":
    main()
