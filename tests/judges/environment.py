"""Makes a Python environment of a requirements file, once, in the cache, and prints its Python.

environment.py REQUIREMENTS [--compile]

With --compile, Python compiles all of it now: where it is used in a sandbox it cannot be written to, and would be compiled at every
start.

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
# Installs in a tenth of pip's processor time, which matters while everything is built beside it.
UV = "uv==0.13.8"
# What people set for pip, under the names that uv knows.
SETTINGS = {"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_CERT": "SSL_CERT_FILE"}


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


def pip_install(folder, *wanted):
    venv.create(folder, with_pip=True, symlinks=True)
    # Python compiles what is used when it is used first; most of these packages is not.
    options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--retries", "1"]
    subprocess.run([folder / "bin" / "python", "-m", "pip", "install", *options, *wanted], check=True)


def uv_install(folder, requirements):
    """Whether uv could do it: the index may be one that only pip knows of."""
    try:
        uv = made_once(cache() / f"uv-{identity(UV)}", lambda making: pip_install(making, UV)) / "bin" / "uv"
    except SystemExit:
        return False
    venv.create(folder, with_pip=False, symlinks=True)
    settings = {theirs: os.environ[ours] for ours, theirs in SETTINGS.items() if os.environ.get(ours)}
    environ = {"UV_CACHE_DIR": str(cache() / "uv-files"), "UV_SYSTEM_CERTS": "1", **settings, **os.environ}
    command = [uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", "--requirement", requirements]
    return subprocess.run(command, env=environ).returncode == 0


def identity(text):
    return hashlib.sha256("\n".join([text, sys.version, sys.base_prefix]).encode()).hexdigest()[:12]


def environment(requirements, is_compiled=False):
    """The Python of the environment."""

    def fill(making):
        if not uv_install(making, requirements):
            pip_install(making, "--requirement", str(requirements))
        if is_compiled:
            # Some packages carry files for other versions of Python, which cannot be compiled.
            subprocess.run([making / "bin" / "python", "-m", "compileall", "-qq", making / "lib"])

    name = f"{requirements.resolve().parent.name}-{identity(requirements.read_text())}{'-compiled' if is_compiled else ''}"
    return made_once(cache() / name, fill) / "bin" / "python"


if __name__ == "__main__":
    wanted = [word for word in sys.argv[1:] if word != "--compile"]
    if len(wanted) != 1:
        sys.exit(__doc__)
    print(environment(Path(wanted[0]), is_compiled="--compile" in sys.argv))
