"""The wheel, by pip and by pipx."""

import ensurepip
import re
import subprocess
import sys
import venv
from pathlib import Path

from world import ROOT, Skip, state, version

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def need_pip(world):
    """`--python`, which installs into an environment without pip, is of version 22.3."""
    said = world.run("sh", "-c", '"$1" -m pip --version || echo none', "sh", sys.executable)
    found = re.match(r"pip (\d+)\.(\d+)", said)
    if not found or (int(found[1]), int(found[2])) < (22, 3):
        raise Skip("no pip, 22.3 or newer")


def test_pip_installs_the_wheel_and_removes_all_of_it(world):
    need_pip(world)
    folder = world.folder / "environment"
    venv.create(folder, with_pip=False, symlinks=True)
    before = state(folder, times=False)
    python = folder / "bin/python"
    world.run(*PIP, "--python", python, "install", "--no-index", "--no-compile", world.package("*.whl"))
    assert world.run(folder / "bin/updraft", "--version").strip() == version()
    assert world.run(python, "-B", "-m", "updraft", "--version").strip() == version()
    assert world.run(python, "-B", "-m", "updraft", "no-such-command", code=2)
    assert (folder / "share/man/man1/updraft-run.1").is_file()
    about = world.run(*PIP[:-1], "--python", python, "show", "--files", "updraft")
    assert f"Version: {version().split()[1]}" in about and "../../../bin/updraft" in about, about
    world.run(*PIP, "--python", python, "uninstall", "--yes", "updraft")
    left = {path for path in state(folder, times=False).keys() - before.keys()}
    assert all(path.startswith("share") and (folder / path).is_dir() for path in left), left


def test_a_wheel_for_another_machine_is_refused(world):
    need_pip(world)
    wheel = world.package("*.whl")
    other = world.folder / wheel.name.replace("x86_64", "s390x").replace("aarch64", "s390x")
    other.symlink_to(wheel)
    said = world.run(*PIP, "install", "--dry-run", "--no-index", "--target", world.folder / "t", other, code=1)
    assert "not a supported wheel on this platform" in said, said


def test_pipx_runs_the_wheel_from_nothing(world):
    environment = [sys.executable, ROOT / "tests/judges/environment.py", ROOT / "tests/packages/requirements.txt"]
    found = subprocess.run(environment, stdout=subprocess.PIPE, text=True)
    if found.returncode:
        raise Skip("could not install tests/packages/requirements.txt from PyPI")
    pipx = [Path(found.stdout.strip()), "-m", "pipx"]
    # pipx keeps a pip of its own, here the one that comes with Python; it stays in the cache.
    wheels = f"{Path(ensurepip.__file__).parent}/_bundled /usr/share/python-wheels"
    places = {
        "PIPX_HOME": world.folder / "pipx",
        "PIPX_SHARED_LIBS": pipx[0].parent.parent / "pipx-shared",
        "PIPX_BIN_DIR": world.folder / "bin",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": wheels,
        "USE_EMOJI": "0",
    }
    ran = world.run(*pipx, "run", "--spec", world.package("*.whl"), "updraft", "--version", **places)
    assert version() in ran, ran
    assert not list((world.folder / "bin").glob("*")), "running it installed something"
