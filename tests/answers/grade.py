"""Asks the questions of questions.toml with the model `builtin` and grades the answers by their citations.

    python3 tests/answers/grade.py target/debug/updraft [--expect 32] [-v] [--only WORD]

A question is answered if a citation that holds quotes the words from one of the files. An answer that says that there is no evidence for
words which stand in a file is counted as false. Repositories are copied to a temporary folder; packages come from cargo's registry.
"""

import argparse
import fnmatch
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIP = shutil.ignore_patterns("target", ".git", "node_modules")


def source(repo):
    if repo == "this":
        return HERE.parent.parent
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    found = glob.glob(f"{home}/registry/src/*/{repo}")
    if not found:
        sys.exit(f"{repo} is not in cargo's registry; `cargo fetch` brings it there")
    return Path(found[0])


def copy(repo, to):
    if repo != "this":
        shutil.copytree(source(repo), to)
        return
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=source(repo), capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        path = source(repo) / name
        # These questions are not to be found in the repository that they ask about.
        if name and path.is_file() and not name.startswith("tests/answers/"):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to / name)


def ask(binary, folder, home, question):
    env = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")} | {"UPDRAFT_HOME": str(home), "NO_COLOR": "1"}
    run = lambda *args: subprocess.run([binary, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=600)
    answer = run("run", "--model", "builtin", "--quiet", question)
    sources = run("show", "--sources", "--json")
    return answer.stdout + (answer.stderr if answer.returncode else ""), json.loads(sources.stdout or "{}").get("sources", [])


def plain(text):
    return " ".join(text.lower().split())


def grade(entry, answer, sources):
    quoted = [
        plain(one["quote"])
        for one in sources
        if one["holds"] and any(fnmatch.fnmatch(one["source"], pattern) for pattern in entry["files"])
    ]
    return bool(quoted) and all(plain(word) in " ".join(quoted) for word in entry["words"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--expect", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()
    binary = str(Path(args.binary).resolve())
    questions = tomllib.loads((HERE / "questions.toml").read_text())["question"]
    questions = [one for one in questions if args.only in one["repo"] + one["ask"]]
    right = false = broken = 0
    with tempfile.TemporaryDirectory() as top:
        for repo in dict.fromkeys(one["repo"] for one in questions):
            folder, home = Path(top) / repo, Path(top) / f"home-{repo}"
            copy(repo, folder)
            for entry in (one for one in questions if one["repo"] == repo):
                answer, sources = ask(binary, folder, home, entry["ask"])
                is_right = grade(entry, answer, sources)
                is_false = "no evidence" in answer.lower() and not is_right
                right, false = right + is_right, false + is_false
                broken += sum(not one["holds"] for one in sources)
                print("right" if is_right else "FALSE" if is_false else "wrong", repo, "|", entry["ask"])
                if args.v or not is_right:
                    print("    " + answer.strip().replace("\n", "\n    "))
    print(f"{right} of {len(questions)} right, {false} false claims of no evidence, {broken} citations that do not hold")
    sys.exit(right < args.expect or false > 0)


main()
