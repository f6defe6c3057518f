"""The official JavaScript client (client.mjs), over JSON-RPC and over HTTP with JSON."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from world import served


def check_the_official_client_does_everything(updraft, node):
    program = Path(node) / "node_modules/node/bin/node"
    with served(updraft) as server, tempfile.TemporaryDirectory(dir=node) as folder:
        # Packages are looked for above the file that imports them.
        script = shutil.copy(Path(__file__).with_name("client.mjs"), folder)
        for binding in ("JSONRPC", "HTTP+JSON"):
            said = subprocess.run([program, script, server.origin, server.token, binding], capture_output=True, text=True,
                                  timeout=120, check=False)
            assert said.returncode == 0 and said.stdout.endswith("ok\n"), f"{binding}: {said.stdout}{said.stderr}"


CHECKS = [check_the_official_client_does_everything]
