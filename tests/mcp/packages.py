"""Installs the packages of a package.json, once, in the cache, and prints the folder.

packages.py PACKAGE_JSON

As with environment.py beside the judges: the folder's name holds what is in it, and it is made under another name.
The package `node` in it brings a Node of its own (FOLDER/node_modules/node/bin/node); any npm can install it.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "judges"))
from environment import cache  # noqa: E402


def packages(wanted):
    key = hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]
    folder = cache() / f"mcp-{wanted.resolve().parent.name}-{key}"
    if not folder.exists():
        make(wanted, folder)
    return folder


def make(wanted, folder):
    making = tempfile.mkdtemp(dir=folder.parent, prefix=".making-")
    try:
        shutil.copy(wanted, making)
        # npm of an older Node prefers packages made for it; the versions are exact, so only its warnings differ.
        options = ["--no-audit", "--no-fund", "--loglevel", "error", "--engine-strict=false"]
        subprocess.run(["npm", "install", "--prefix", making, *options], check=True, stdout=sys.stderr)
        os.rename(making, folder)
    except OSError:
        if not folder.exists():  # otherwise someone else was faster
            raise
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(map(str, error.cmd))} ended with {error.returncode}")
    finally:
        shutil.rmtree(making, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(packages(Path(sys.argv[1])))
