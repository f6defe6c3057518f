"""Compares our repairing parser with PyPI `json_repair` on corpus.jsonl: how many are right, and how long each takes.

    pip install json_repair
    cargo bench -p updraft-lenient --bench repair --no-run      # prints the path of the program
    python crates/lenient/tests/repair/compare.py PROGRAM [corpus.jsonl]

Both read the same inputs, one after the other, within their own process; the time of an input is the best of several
rounds. `json_repair` knows no value from an empty string, so an empty string counts as "no value". Cases with a schema
are given to both with it where `json_repair` can take one, else without.
"""

import json
import math
import subprocess
import sys
import timeit
from pathlib import Path

import json_repair

NOTHING = object()


def main():
    program = sys.argv[1]
    corpus = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("corpus.jsonl")
    cases = [json.loads(line) for line in corpus.read_text("utf-8").splitlines()]
    ours = run_ours(program, cases)
    theirs = [run_theirs(case) for case in cases]
    classes = {}
    for case, our, their in zip(cases, ours, theirs):
        classes.setdefault(case["class"], []).append((case, our, their))
    print(f"{'class':16}{'cases':>7}{'ours':>7}{'theirs':>8}{'ours us':>10}{'theirs us':>11}{'times':>8}")
    for name, rows in [*classes.items(), ("all", list(zip(cases, ours, theirs)))]:
        right = [sum(is_right(case, row[i][0]) for case, *row in rows) for i in (0, 1)]
        spent = [sum(row[i][1] for _, *row in rows) / 1000 for i in (0, 1)]
        factor = spent[1] / spent[0]
        print(f"{name:16}{len(rows):>7}{right[0]:>7}{right[1]:>8}{spent[0]:>10.1f}{spent[1]:>11.1f}{factor:>7.0f}x")


def run_ours(program, cases):
    lines = "".join(json.dumps({k: case[k] for k in ("input", "schema") if k in case}) + "\n" for case in cases)
    done = subprocess.run([program, "--each"], input=lines, capture_output=True, text=True, encoding="utf-8", check=True)
    rows = [json.loads(line) for line in done.stdout.split("\n") if line]
    return [(row["value"] if row["found"] else NOTHING, row["ns"]) for row in rows]


def run_theirs(case):
    options = {}
    if "schema" in case:
        options = {"schema": case["schema"], "skip_json_loads": False}

    def read():
        return json_repair.loads(case["input"], **options)

    try:
        value = read()
    except Exception:
        options.clear()
        value = attempt(read)
    rounds = timeit.repeat(lambda: attempt(read), number=5, repeat=3)
    return (NOTHING if isinstance(value, str) and value == "" else value, min(rounds) / 5 * 1e9)


def attempt(read):
    try:
        return read()
    except Exception:
        return NOTHING


def is_right(case, value):
    if "expected" not in case or value is NOTHING:
        return value is NOTHING and "expected" not in case
    return plain(value) == plain(case["expected"])


def plain(value):
    """Numbers as floats, so that 5.0 is as good as 5; lone surrogates as replacement characters."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        return ("number", float(value)) if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()}


main()
