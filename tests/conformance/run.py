"""Holds a client against the official MCP conformance suite, counted strictly.

run.py PACKAGES COMMAND [--jobs N] [--only TEXT] [--expect N]

PACKAGES is the folder that packages.py prints; COMMAND is the client, without blanks in its path: the suite appends the
address of its server to it.

The suite's own totals pass clients that do nothing: they count checks, not scenarios, and its checks of the wire succeed
with next to no traffic. So the scenarios come from the frozen lists in the package; each runs in a process of its own,
and passes only if that process ends with 0 *and* a real check succeeded. Everything else has failed, also where no check
ran at all. What the lists do not score is run and shown, but not counted. Ends with 0 only if every scored scenario
passed; with --expect N, only if exactly N did (a client that does nothing must get 0).
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REVISIONS = ["2025-11-25", "2026-07-28"]
# A reconnect that load makes 50 ms early or late fails this one, so it has the machine to itself.
ALONE = ["sse-retry"]
SECONDS = 30


def scenarios(package, revision):
    """The client's scenarios of one frozen list: those that count, and those that do not, with the reason."""
    text = (package / "requirements" / f"{revision}.yaml").read_text()
    parts = dict(re.findall(r"^(\w+):\n((?:(?:  .*|)\n)+)", text, re.MULTILINE))
    scored = re.findall(r"^  - (\S+)$", parts["client"], re.MULTILINE)
    other = re.findall(r"  - scenario: (\S+)\n    leg: client\n    reason: (\S+)", parts.get("not_scored", ""))
    return scored, other


class Result:
    def __init__(self, revision, name, reason):
        self.revision, self.name, self.reason = revision, name, reason
        self.code, self.checks, self.log = None, [], ""

    def real(self, status):
        return [c for c in self.checks if c["status"] == status and not c["id"].startswith("wire-schema")]

    def bad(self):
        return [c for c in self.checks if c["status"] in ("FAILURE", "WARNING")]

    def passed(self):
        return self.code == 0 and bool(self.real("SUCCESS"))

    def passed_by_checks(self):
        return bool(self.real("SUCCESS")) and not [c for c in self.checks if c["status"] == "FAILURE"]

    def why(self):
        lines = [f"    {c['status']} {c['id']}: {c.get('errorMessage') or c.get('description')}" for c in self.bad()]
        if not self.real("SUCCESS"):
            lines.append("    no real check succeeded")
        lines.append(f"    the suite ended with {self.code}")
        return "\n".join(lines + [f"    | {line}" for line in self.log.strip().splitlines()[-8:]])


def run(package, node, command, result):
    with tempfile.TemporaryDirectory() as folder:
        args = ["client", "--command", command, "--scenario", result.name, "--spec-version", result.revision]
        args += ["--force", "--timeout", str(SECONDS * 1000), "-o", folder]
        suite = [node, str(package / "dist" / "index.js"), *args]
        try:
            done = subprocess.run(suite, capture_output=True, text=True, timeout=4 * SECONDS)
            result.code, result.log = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            result.code, result.log = "no end", "it did not end in time"
        for file in Path(folder).glob("**/checks.json"):
            result.checks += json.loads(file.read_text())
    mark = "ok" if result.passed() else "FAILED"
    print(f"{mark:7}{result.revision} {result.name}{f' (not scored: {result.reason})' if result.reason else ''}", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("packages", type=Path)
    parser.add_argument("command")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="")
    parser.add_argument("--expect", type=int)
    wanted = parser.parse_args()
    package = wanted.packages / "node_modules" / "@modelcontextprotocol" / "conformance"
    node = str(wanted.packages / "node_modules" / "node" / "bin" / "node")
    planned = []
    for revision in REVISIONS:
        scored, other = scenarios(package, revision)
        planned += [Result(revision, name, "") for name in scored]
        if wanted.expect is None:
            planned += [Result(revision, name, reason) for name, reason in other]
    planned = [one for one in planned if wanted.only in one.name]
    alone = [one for one in planned if one.name in ALONE]
    with concurrent.futures.ThreadPoolExecutor(wanted.jobs) as pool:
        list(pool.map(lambda one: run(package, node, wanted.command, one), [p for p in planned if p not in alone]))
    for one in alone:
        run(package, node, wanted.command, one)
    return report([one for one in planned if not one.reason], wanted.expect)


def report(scored, expected):
    failed = [one for one in scored if not one.passed()]
    for one in failed if expected is None else []:
        print(f"\n{one.revision} {one.name}\n{one.why()}")
    for one in scored:
        for check in one.real("SKIPPED") if one.passed() else []:
            print(f"skipped in {one.revision} {one.name}: {check['id']}")
    passed = len(scored) - len(failed)
    by_checks = sum(one.passed_by_checks() for one in scored)
    print(f"\n{passed} passed, {len(failed)} failed (by checks alone: {by_checks} of {len(scored)})")
    if expected is not None:
        return 0 if scored and passed == expected else 1
    return 0 if scored and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
