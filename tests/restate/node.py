"""A real Restate node of its own, from npm: started, killed and asked by tests."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

SECONDS = 60


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def post(url, body, headers=None, timeout=SECONDS):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.status, answer.read()


class Node:
    """One node; `start` and `kill` may be called again and again."""

    def __init__(self, packages, folder, name="restate"):
        self.binary = Path(packages) / "node_modules/@restatedev/restate-server-linux-x64/bin/restate-server"
        self.name, self.folder, self.process = name, Path(folder) / name, None
        (self.folder / "tmp").mkdir(parents=True)
        self.ingress_port, self.admin_port, self.node_port = free_ports(3)
        self.ingress, self.admin = f"http://127.0.0.1:{self.ingress_port}", f"http://127.0.0.1:{self.admin_port}"
        self.config = self.folder / "node.toml"
        self.write_config()

    def write_config(self):
        self.config.write_text(f"""
cluster-name = "test"
node-name = "n1"
base-dir = "{self.folder / 'data'}"
bind-address = "127.0.0.1:{self.node_port}"
advertised-address = "http://127.0.0.1:{self.node_port}"
listen-mode = "tcp"
auto-provision = true
default-num-partitions = 4
rocksdb-total-memory-size = "256 MiB"
[admin]
bind-address = "127.0.0.1:{self.admin_port}"
[ingress]
bind-address = "127.0.0.1:{self.ingress_port}"
""")

    def start(self):
        for _ in range(20):
            self.launch()
            for _ in range(SECONDS * 10):
                if self.process.poll() is not None:
                    break  # Its addresses may still be in use for a moment after a kill.
                if self.is_ready():
                    return self
                time.sleep(0.1)
            time.sleep(0.5)
        raise AssertionError("the node does not start:\n" + self.said())

    def launch(self):
        log = open(self.folder / "log", "ab")
        environment = {"PATH": os.environ["PATH"], "TMPDIR": str(self.folder / "tmp"), "DO_NOT_TRACK": "1", "RESTATE_LOG_FORMAT": "compact"}
        self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, env=environment, cwd=self.folder)

    def command(self):
        return [self.binary, "--no-logo", "-c", self.config]

    def is_ready(self):
        try:
            for url in (f"{self.ingress}/restate/health", f"{self.admin}/health"):
                urllib.request.urlopen(url, timeout=2).close()
            return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def said(self):
        return (self.folder / "log").read_text()[-3000:]

    def query(self, sql):
        _, answer = post(f"{self.admin}/query", {"query": sql}, {"accept": "application/json"})
        return json.loads(answer)["rows"]

    def stuck(self):
        """Invocations that are not over: those that are tried again and again, or wait for a person."""
        return self.query("select target, status, retry_count, last_failure from sys_invocation where status <> 'completed'")


if __name__ == "__main__":
    sys.exit(__doc__)
