"""Judges what operators see of runs, with the programs and packages that they use.

run.py UPDRAFT [--prometheus PROGRAM] [--chromium PROGRAM --packages FOLDER] [--pictures FOLDER] [--only PART]

UPDRAFT is the binary. Needs the packages of requirements.txt; FOLDER holds those of ../page/package.json. No network: the model
is scripted, everything is on loopback.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import export
import logs
import metrics
import traces


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("updraft")
    for option in ("prometheus", "chromium", "packages", "pictures", "only"):
        parser.add_argument(f"--{option}")
    given = parser.parse_args()
    updraft = str(Path(given.updraft).resolve())
    with tempfile.TemporaryDirectory() as folder:
        pictures = given.pictures or folder
        parts = {
            "metrics": lambda: metrics.check(updraft, given.prometheus),
            "traces": lambda: traces.check(updraft),
            "logs": lambda: logs.check(updraft),
            "export": lambda: export.check(updraft, pictures, given.chromium, given.packages),
        }
        if given.only:
            print(given.only, flush=True)
            parts[given.only]()
        elif together(list(parts)):
            sys.exit(1)


def together(names):
    """Runs all parts at once, each in a process of its own: they wait most of the time. Says whether one failed."""
    command = [sys.executable, *sys.argv]
    running = [subprocess.Popen([*command, "--only", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for name in names]
    failed = False
    for process in running:
        said, _ = process.communicate()
        print(said, end="", flush=True)
        failed |= process.returncode != 0
    return failed


if __name__ == "__main__":
    main()
