"""Drives the web page in a real browser: starts runs, approves, answers, steers, goes back in time.

run.py UPDRAFT CHROMIUM [--lighthouse | --frames]

UPDRAFT is the binary, CHROMIUM the browser. Packages of npm come from the cache (../mcp/packages.py). No network: the model
is scripted, everything is on loopback. With --lighthouse, prints Lighthouse's scores instead, and fails if one is below 100; with
--frames, how smooth a graph of 1,000 steps is.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mcp"))
from packages import packages  # noqa: E402


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if len(arguments) != 2:
        sys.exit(__doc__)
    folder = packages(HERE / "package.json")
    environment = os.environ | {"PACKAGES": str(folder), "UPDRAFT": str(Path(arguments[0]).resolve()), "CHROMIUM": arguments[1]}
    command = [str(folder / "node_modules/node/bin/node")]
    if "--lighthouse" in sys.argv:
        environment["LIGHTHOUSE"] = str(packages(HERE / "lighthouse/package.json"))
        command.append(str(HERE / "lighthouse.mjs"))
    elif "--frames" in sys.argv:
        command.append(str(HERE / "frames.mjs"))
    else:
        tests = [str(HERE / name) for name in ("journeys.mjs", "graph.mjs", "people.mjs", "hostile.mjs")]
        # Each file has a server and a browser: one after the other.
        command += ["--test", "--test-concurrency=1", "--test-timeout=300000", *tests]
    sys.exit(subprocess.run(command, env=environment).returncode)


if __name__ == "__main__":
    main()
