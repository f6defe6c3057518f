"""A real S3-compatible store of its own, SeaweedFS from PyPI: started, killed, asked and changed by tests.

It verifies signatures and knows several keys: ADMIN may do everything, WEAVER reads and writes the bucket `looms`, READER only reads it.
"""

import datetime
import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from node import SECONDS, free_ports

ADMIN, WEAVER, READER = "ADMINKEY0815", "WEAVERKEY4711", "READERKEY4242"
SECRETS = {ADMIN: "admin-secret-8c1f", WEAVER: "weaver-secret-f00d", READER: "reader-secret-77aa"}
RIGHTS = {ADMIN: ["Admin", "Read", "Write", "List"], WEAVER: ["Read:looms", "Write:looms", "List:looms"], READER: ["Read:looms", "List:looms"]}


class Store:
    """One store; `start` and `kill` may be called again and again."""

    def __init__(self, python, folder):
        self.binary, self.folder, self.process = Path(python).parent / "weed", Path(folder) / "store", None
        (self.folder / "data").mkdir(parents=True)
        names = ("master", "volume", "filer", "s3", "master.grpc", "volume.grpc", "filer.grpc", "s3.grpc")
        *ports, self.secure_port = free_ports(len(names) + 1)
        self.ports = dict(zip(names, ports))
        self.url, self.filer = f"http://127.0.0.1:{self.ports['s3']}", f"http://127.0.0.1:{self.ports['filer']}"
        identities = [{"name": name, "credentials": [{"accessKey": name, "secretKey": secret}], "actions": RIGHTS[name]} for name, secret in SECRETS.items()]
        (self.folder / "keys.json").write_text(json.dumps({"identities": identities}))
        self.certificate = self.folder / "certificate.pem"
        self.secure_url = f"https://127.0.0.1:{self.secure_port}"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=store",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
                        "-keyout", self.folder / "key.pem", "-out", self.certificate], check=True, capture_output=True)

    def command(self):
        ports = [f"-{name.removesuffix('.grpc')}.port{'.grpc' if name.endswith('.grpc') else ''}={port}" for name, port in self.ports.items()]
        # Nothing is reported to anybody, and nothing is offered beyond this machine.
        return [self.binary, "-alsologtostderr=true", f"-logdir={self.folder}", "server", "-master.telemetry=false", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
                f"-dir={self.folder / 'data'}", *ports, "-filer", "-s3", f"-s3.config={self.folder / 'keys.json'}", "-s3.autoCreateBucket=false",
                "-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.iam=false",
                f"-s3.port.https={self.secure_port}", f"-s3.cert.file={self.certificate}", f"-s3.key.file={self.folder / 'key.pem'}",
                "-volume.preStopSeconds=0", "-master.volumeSizeLimitMB=64", "-master.electionTimeout=300ms", "-master.heartbeatInterval=100ms",
                f"-filer.localSocket={self.folder / 'filer.sock'}", f"-s3.localSocket={self.folder / 's3.sock'}"]

    def start(self):
        log = open(self.folder / "log", "ab")
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "TMPDIR": str(self.folder)}
        self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, env=environment, cwd=self.folder)
        for _ in range(SECONDS * 20):
            assert self.process.poll() is None, self.said()
            if self.is_ready():
                return self
            time.sleep(0.05)
        raise AssertionError("the store does not start:\n" + self.said())

    def is_ready(self):
        """Whether an object can be written; the bucket is made for that."""
        try:
            return self.ask("PUT", "/looms") in (200, 409) and self.ask("PUT", "/looms/ready", b"yes") == 200
        except OSError:
            return False

    def ask(self, method, path, body=b""):
        """The status of a signed request."""
        now, payload = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ"), hashlib.sha256(body).hexdigest()
        headers = {"host": f"127.0.0.1:{self.ports['s3']}", "x-amz-content-sha256": payload, "x-amz-date": now}
        scope, names = f"{now[:8]}/us-east-1/s3/aws4_request", ";".join(headers)
        canonical = "\n".join([method, path, "", *(f"{name}:{value}" for name, value in headers.items()), "", names, payload])
        key = f"AWS4{SECRETS[ADMIN]}".encode()
        for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"):
            key = hmac.digest(key, part.encode(), "sha256")
        headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={ADMIN}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, body or None, headers, method=method), timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    def objects(self, folder="/buckets/looms"):
        """The names of all objects, as the store has them on disk."""
        request = urllib.request.Request(f"{self.filer}{urllib.parse.quote(folder)}/?limit=10000", headers={"accept": "application/json"})
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            entries = json.load(answer)["Entries"] or []
        found = []
        for entry in entries:
            is_folder = entry["Mode"] & (1 << 31)
            found += self.objects(entry["FullPath"]) if is_folder else [entry["FullPath"].removeprefix("/buckets/looms/")]
        return found

    def place(self, name):
        return f"{self.filer}/buckets/looms/{urllib.parse.quote(name)}"

    def read(self, name):
        with urllib.request.urlopen(self.place(name), timeout=SECONDS) as answer:
            return answer.read()

    def change(self, name, content):
        """Gives an object other content, as somebody would who has the store's disk."""
        request = urllib.request.Request(self.place(name), content, {"content-type": "application/octet-stream"}, method="PUT")
        urllib.request.urlopen(request, timeout=SECONDS).close()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill()
        for port in self.ports.values():
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()

    def said(self):
        return (self.folder / "log").read_text()[-3000:]


if __name__ == "__main__":
    sys.exit(__doc__)
