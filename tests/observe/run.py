"""Judges what operators see of runs, with the programs and packages that they use.

run.py UPDRAFT [--prometheus PROGRAM] [--chromium PROGRAM --packages FOLDER] [--pictures FOLDER] [--only PART]

UPDRAFT is the binary. Needs the packages of requirements.txt; FOLDER holds those of ../page/package.json. No network: the model
is scripted, everything is on loopback.
"""

import argparse
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
        for name, check in parts.items():
            if given.only in (None, name):
                print(name, flush=True)
                check()


if __name__ == "__main__":
    main()
