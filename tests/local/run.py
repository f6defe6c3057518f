"""Twelve small goals with Qwen2.5-Coder-1.5B on llama.cpp, each checked by its effect: how many come true with nothing set.

    run.py UPDRAFT MODEL.gguf [--tokens 8192] [--only TEXT] [--keep FOLDER]

Uses the packages of `tests/real-model/requirements.txt`, and one core for a long while: twenty minutes or more."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from goals import GOALS

SERVE = pathlib.Path(__file__).resolve().parent.parent / "real-model" / "serve.py"
# A run that goes round in circles ends here, and its goal has failed.
LONGEST = 900


def main():
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("updraft", type=pathlib.Path)
    given.add_argument("model", type=pathlib.Path)
    given.add_argument("--tokens", type=int, default=8192)
    given.add_argument("--only", default="")
    given.add_argument("--keep", type=pathlib.Path)
    asked = given.parse_args()
    command = [sys.executable, str(SERVE), str(asked.model.resolve()), str(asked.tokens)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        if not address:
            sys.exit("error: the model was not served")
        with tempfile.TemporaryDirectory(prefix="updraft-local.") as folder:
            place = asked.keep.resolve() if asked.keep else pathlib.Path(folder)
            goals = [goal for goal in GOALS if asked.only in goal.name]
            came_true = sum(pursue(goal, asked.updraft.resolve(), address, place) for goal in goals)
        server.stdin.close()
    print(f"{came_true} of {len(goals)}")


def pursue(goal, updraft, address, place):
    """Runs one goal in a folder of its own, and says whether it came true."""
    work = place / goal.name.replace(" ", "-")
    for name, text in goal.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    work.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
    environment = kept | {"HOME": str(place), "UPDRAFT_HOME": str(place / "state"), "OPENAI_BASE_URL": f"{address}/v1", "NO_PROXY": "*"}
    began = time.monotonic()
    command = [str(updraft), "run", "--agent", "coder", "--model", "openai-compatible/qwen", goal.text]
    try:
        done = subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST)
        answer, code, said = done.stdout, done.returncode, done.stderr
    except subprocess.TimeoutExpired as late:
        answer, code, said = "", "too long", (late.stderr or b"").decode(errors="replace")
    is_true = bool(goal.check(work, answer))
    (place / f"{work.name}.txt").write_text(f"{said}\n--- exit {code}\n{answer}")
    print(json.dumps({"goal": goal.name, "true": is_true, "exit": code, "seconds": round(time.monotonic() - began), "answer": answer.strip()[-160:]}), flush=True)
    return is_true


if __name__ == "__main__":
    main()
