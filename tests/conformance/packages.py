"""Installs the npm packages of packages.json, once, in the cache, and prints the folder they are in.

packages.py

The suite needs Node 22, which is itself a package; npm with some older Node must be there to fetch it. As with
tests/judges/environment.py, the folder's name holds what is in it, and it is renamed when it is complete.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "judges"))
from environment import cache  # noqa: E402


def packages():
    """The folder that holds node_modules."""
    wanted = (HERE / "packages.json").read_text()
    folder = cache() / f"npm-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}"
    if not folder.exists():
        make(wanted, folder)
    return folder


def make(wanted, folder):
    making = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".making-"))
    try:
        (making / "package.json").write_text(wanted)
        # Node's own package fetches its binary in an install script.
        options = ["--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"]
        subprocess.run(["npm", "install", *options], cwd=making, check=True, stdout=sys.stderr)
        subprocess.run([making / "node_modules/node/bin/node", "--version"], check=True, stdout=subprocess.DEVNULL)
        os.rename(making, folder)
    except OSError:
        if not folder.exists():  # otherwise someone else was faster
            raise
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(map(str, error.cmd))} ended with {error.returncode}")
    finally:
        shutil.rmtree(making, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    print(packages())
