"""Holds a client or a server of ours against the official MCP conformance suite, counted strictly.

conformance.py PACKAGES --client COMMAND [--jobs N] [--only TEXT] [--expect N]
conformance.py PACKAGES --server PROGRAM [--only TEXT] [--expect N]
conformance.py PACKAGES --url URL [--only TEXT] [--expect N]

PACKAGES is the folder that packages.py prints for suite/package.json. COMMAND is a client, without blanks in its path: the
suite appends the address of its server to it. PROGRAM is a server with the suite's fixtures that prints its address as the
first line (crates/mcp/examples/conformance); URL is one that runs already.

The suite's own totals pass clients that do nothing and servers that are not there: they count checks, not scenarios, and
its checks of the wire succeed with next to no traffic. So the scenarios come from the frozen lists in the package; each
passes only if the suite ends with 0 *and* a real check of it succeeded. Everything else has failed, also where no check ran
at all. What the lists do not score is run and shown, but not counted. Ends with 0 only if every scored scenario passed; with
--expect N, only if exactly N did (whoever does nothing must get 0).

The scenarios of a PROGRAM run one after the other in one process for each revision, all others in processes of their own.
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


def scenarios(package, leg, revision):
    """One side's scenarios of a frozen list, each with the reason why it does not count, where it does not."""
    text = (package / "requirements" / f"{revision}.yaml").read_text()
    parts = dict(re.findall(r"^(\w+):\n((?:(?:  .*|)\n)+)", text, re.MULTILINE))
    scored = re.findall(r"^  - (\S+)$", parts[leg], re.MULTILINE)
    other = re.findall(rf"  - scenario: (\S+)\n    leg: {leg}\n    reason: (\S+)", parts.get("not_scored", ""))
    return [(name, "") for name in scored] + other


class Scenario:
    def __init__(self, revision, name, reason):
        self.revision, self.name, self.reason = revision, name, reason
        self.code, self.checks, self.log = None, [], ""

    def run(self, suite, about, environ):
        with tempfile.TemporaryDirectory() as folder:
            args = [*about, "--scenario", self.name, "--spec-version", self.revision, "--force"]
            args += ["--timeout", str(SECONDS * 1000), "-o", folder]
            try:
                done = subprocess.run([*suite, *args], env=environ, capture_output=True, text=True, timeout=4 * SECONDS)
                self.code, self.log = done.returncode, done.stdout + done.stderr
            except subprocess.TimeoutExpired:
                self.code, self.log = "no end", "it did not end in time"
            for file in Path(folder).glob("**/checks.json"):
                self.checks += json.loads(file.read_text())
        self.show()

    def show(self):
        note = f" (not scored: {self.reason})" if self.reason else ""
        print(f"{'ok' if self.passed() else 'FAILED':7}{self.revision} {self.name}{note}", flush=True)

    def real(self, status):
        return [c for c in self.checks if c["status"] == status and not c["id"].startswith("wire-schema")]

    def passed(self):
        return self.code == 0 and self.passed_by_checks()

    def passed_by_checks(self):
        return bool(self.real("SUCCESS")) and not [c for c in self.checks if c["status"] == "FAILURE"]

    def why(self):
        bad = [c for c in self.checks if c["status"] in ("FAILURE", "WARNING")]
        lines = [f"    {c['status']} {c['id']}: {c.get('errorMessage') or c.get('description')}" for c in bad]
        if not self.real("SUCCESS"):
            lines.append("    no real check succeeded")
        lines.append(f"    the suite ended with {self.code}")
        return "\n".join(lines + [f"    | {line}" for line in self.log.strip().splitlines()[-8:]])


def run_apart(suite, about, planned, environ, jobs):
    """Runs each scenario in a process of its own."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda one: one.run(suite, about, environ), [one for one in planned if one.name not in ALONE]))
    for one in planned:
        if one.name in ALONE:
            one.run(suite, about, environ)


def run_together(suite, about, planned, environ):
    """Runs all scenarios of a revision in one process. How it ends counts for those that failed, or for all if none of them did."""
    with tempfile.TemporaryDirectory() as folder:
        args = [*about, "--requirements", planned[0].revision, "--timeout", str(SECONDS * 1000), "-o", folder]
        try:
            done = subprocess.run([*suite, *args], env=environ, capture_output=True, text=True, timeout=40 * SECONDS)
            code, log = done.returncode, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            code, log = "no end", "it did not end in time"
        for one in planned:
            for place in Path(folder).iterdir():
                if re.fullmatch(rf"(server-)?{re.escape(one.name)}-\d{{4}}-\d\d-\d\dT.*", place.name):
                    one.checks += [check for file in place.glob("checks.json") for check in json.loads(file.read_text())]
    failed = [one for one in planned if not one.reason and not one.passed_by_checks()]
    for one in planned:
        one.code, one.log = code if one in failed or not failed else 0, log
        one.show()


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
    good = not failed if expected is None else passed == expected
    return 0 if scored and good else 1


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("packages", type=Path)
    who = parser.add_mutually_exclusive_group(required=True)
    for side in ["--client", "--server", "--url"]:
        who.add_argument(side)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="")
    parser.add_argument("--expect", type=int)
    wanted = parser.parse_args()
    modules = wanted.packages / "node_modules"
    package = modules / "@modelcontextprotocol" / "conformance"
    suite = [str(modules / "node" / "bin" / "node"), str(package / "dist" / "index.js")]
    leg = "client" if wanted.client else "server"
    planned = [Scenario(revision, *one) for revision in REVISIONS for one in scenarios(package, leg, revision)]
    planned = [one for one in planned if wanted.only in one.name and not (one.reason and wanted.expect is not None)]
    process, url = None, wanted.url
    if wanted.server:
        process = subprocess.Popen([wanted.server], stdout=subprocess.PIPE, text=True)
        url = process.stdout.readline().strip()
    about = ["client", "--command", wanted.client] if wanted.client else ["server", "--url", url]
    # The suite starts a few hundred times: what Node has compiled of it is kept.
    environ = os.environ | {"NODE_COMPILE_CACHE": str(wanted.packages / "compiled")}
    try:
        if wanted.server and not wanted.only:
            for revision in REVISIONS:
                run_together(suite, about, [one for one in planned if one.revision == revision], environ)
        else:
            # Scenarios of a server share it, so they go one after the other.
            run_apart(suite, about, planned, environ, wanted.jobs if wanted.client else 1)
    finally:
        if process:
            process.terminate()
            process.wait()
    return report([one for one in planned if not one.reason], wanted.expect)


if __name__ == "__main__":
    sys.exit(main())
