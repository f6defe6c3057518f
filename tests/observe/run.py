"""Judges what operators see of runs, with the programs and packages that they use.

run.py UPDRAFT [--prometheus PROGRAM]

UPDRAFT is the binary. Needs the packages of requirements.txt. No network: the model is scripted, everything is on loopback.
"""

import sys
from pathlib import Path

import metrics


def main():
    arguments = sys.argv[1:]
    prometheus = None
    if "--prometheus" in arguments:
        at = arguments.index("--prometheus")
        _, prometheus = arguments.pop(at), arguments.pop(at)
    if len(arguments) != 1:
        sys.exit(__doc__)
    updraft = str(Path(arguments[0]).resolve())
    print("metrics")
    metrics.check(updraft, prometheus)


if __name__ == "__main__":
    main()
