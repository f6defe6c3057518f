"""Holds a server against the official MCP conformance suite, counted strictly.

conformance.py PACKAGES --url URL [--only TEXT] [--expect N]
conformance.py PACKAGES --server PROGRAM [--only TEXT] [--expect N]

PACKAGES is the folder that packages.py prints for suite/package.json. PROGRAM serves the suite's fixtures and prints its
address as the first line (crates/mcp/examples/conformance).

The suite's own totals pass servers that are not there: they count checks, not scenarios, and its checks of the wire
succeed with next to no traffic. So the scenarios come from the frozen lists in the package; each runs in a process of its
own, one after the other, and passes only if that process ends with 0 *and* a real check succeeded. Everything else has
failed, also where no check ran at all. What the lists do not score is run and shown, but not counted. Ends with 0 only if
every scored scenario passed; with --expect N, only if exactly N did (an address where nobody listens must get 0).
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REVISIONS = ["2025-11-25", "2026-07-28"]
SECONDS = 30


def scenarios(package, revision):
    """The server's scenarios of one frozen list: those that count, and those that do not, with the reason."""
    text = (package / "requirements" / f"{revision}.yaml").read_text()
    parts = dict(re.findall(r"^(\w+):\n((?:(?:  .*|)\n)+)", text, re.MULTILINE))
    scored = re.findall(r"^  - (\S+)$", parts["server"], re.MULTILINE)
    other = re.findall(r"  - scenario: (\S+)\n    leg: server\n    reason: (\S+)", parts.get("not_scored", ""))
    return [(name, "") for name in scored] + other


def judge(node, package, url, revision, name):
    """The suite's exit code, its checks, and its words."""
    with tempfile.TemporaryDirectory() as folder:
        args = ["server", "--url", url, "--scenario", name, "--spec-version", revision, "--force"]
        suite = [node, str(package / "dist" / "index.js"), *args, "--timeout", str(SECONDS * 1000), "-o", folder]
        try:
            done = subprocess.run(suite, capture_output=True, text=True, timeout=4 * SECONDS)
            code, log = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, log = "no end", "it did not end in time"
        checks = [check for file in Path(folder).glob("**/checks.json") for check in json.loads(file.read_text())]
    return code, checks, log


def report(revision, name, reason, code, checks, log, quiet):
    """Whether the scenario passed; says so, and if not, why."""
    real = [check for check in checks if not check["id"].startswith("wire-schema")]
    passed = code == 0 and any(check["status"] == "SUCCESS" for check in real)
    note = f" (not scored: {reason})" if reason else ""
    print(f"{'ok' if passed else 'FAILED':7}{revision} {name}{note}", flush=True)
    for check in real:
        if check["status"] == "SKIPPED":
            print(f"       skipped: {check['id']}")
    if not passed and not quiet:
        for check in checks:
            if check["status"] in ("FAILURE", "WARNING"):
                print(f"       {check['status']} {check['id']}: {check.get('errorMessage') or check.get('description')}")
        print(f"       the suite ended with {code}")
        print("".join(f"       | {line}\n" for line in log.strip().splitlines()[-8:]), end="")
    return passed


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--url")
    parser.add_argument("--server")
    parser.add_argument("--only", default="")
    parser.add_argument("--expect", type=int)
    wanted = parser.parse_args()
    package = wanted.packages / "node_modules" / "@modelcontextprotocol" / "conformance"
    node = str(wanted.packages / "node_modules" / "node" / "bin" / "node")
    server, url = None, wanted.url
    if wanted.server:
        server = subprocess.Popen([wanted.server], stdout=subprocess.PIPE, text=True)
        url = server.stdout.readline().strip()
    counts = {True: 0, False: 0}
    try:
        for revision in REVISIONS:
            for name, reason in scenarios(package, revision):
                if wanted.only in name and not (reason and wanted.expect is not None):
                    code, checks, log = judge(node, package, url, revision, name)
                    passed = report(revision, name, reason, code, checks, log, wanted.expect is not None)
                    if not reason:
                        counts[passed] += 1
    finally:
        if server:
            server.terminate()
            server.wait()
    print(f"\n{counts[True]} passed, {counts[False]} failed")
    scored = counts[True] + counts[False]
    good = counts[True] == wanted.expect if wanted.expect is not None else counts[False] == 0
    return 0 if scored and good else 1


if __name__ == "__main__":
    sys.exit(main())
