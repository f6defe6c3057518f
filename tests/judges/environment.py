"""Makes a Python environment of a requirements file, once, in the cache, and prints its Python.

environment.py REQUIREMENTS

The folder's name holds the requirements and the Python, so what is there is right. It is made under another name and
renamed when it is complete: two at the same time do not disturb each other, and one that is interrupted leaves nothing
that looks complete.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

SECONDS_A_DAY = 24 * 60 * 60


def cache():
    """The folder that outlives checkouts and builds; what was interrupted in it yesterday goes."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "updraft-tests"
    folder = Path(os.environ.get("UPDRAFT_TEST_CACHE") or default).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".making-*"):
        if time.time() - left.stat().st_mtime > SECONDS_A_DAY:
            shutil.rmtree(left, ignore_errors=True)
    return folder


def made_once(folder, fill):
    """The folder, filled under another name first if it is not there."""
    if folder.exists():
        return folder
    making = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".making-"))
    try:
        fill(making)
        os.rename(making, folder)
    except OSError:
        if not folder.exists():  # otherwise someone else was faster
            raise
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(map(str, error.cmd))} ended with {error.returncode}")
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return folder


def environment(requirements):
    """The Python of the environment."""

    def fill(making):
        venv.create(making, with_pip=True, symlinks=True)
        # Python compiles what is used when it is used first; most of these packages is not.
        options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--retries", "1", "--requirement", str(requirements)]
        subprocess.run([making / "bin" / "python", "-m", "pip", "install", *options], check=True)

    identity = [requirements.read_text(), sys.version, sys.base_prefix]
    key = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:12]
    return made_once(cache() / f"{requirements.resolve().parent.name}-{key}", fill) / "bin" / "python"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(environment(Path(sys.argv[1])))
