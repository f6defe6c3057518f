"""Installs the packages of a package.json, once, in the cache, and prints the folder.

packages.py PACKAGE_JSON

As with environment.py beside the judges: the folder's name holds what is in it, and it is made under another name.
Bun installs them, which takes a tenth of npm's processor time and no script of a package; npm does where Bun cannot.
The package `node` brings a Node of its own (FOLDER/node_modules/node/bin/node), which its install script fetches, so it is
left to npm. It is 120 MB, and the folders share it by hard links.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "judges"))
from environment import cache, made_once  # noqa: E402


BUN = "1.4.4"
NPM_OPTIONS = ["--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1", "--engine-strict=false"]


def write_package_json(folder, dependencies):
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": dependencies}))


def npm_install(folder, *options):
    # npm of an older Node prefers packages made for it; the versions are exact, so only its warnings differ.
    subprocess.run(["npm", "install", "--prefix", folder, *NPM_OPTIONS, *options], cwd=folder, check=True, stdout=sys.stderr)


def bun():
    """The program, or None where it is not to be had."""

    def fill(making):
        write_package_json(making, {"bun": BUN})
        npm_install(making, "--ignore-scripts")

    try:
        folder = made_once(cache() / f"bun-{BUN}", fill)
    except SystemExit:
        return None
    # npm may have fetched more than one for this machine, such as one for another C library.
    for program in sorted(folder.glob("node_modules/@oven/bun-*/bin/bun")):
        try:
            subprocess.run([program, "--version"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return program
    return None


def bun_install(folder, *options):
    """Whether Bun could do it: the registry may be one that only npm knows of."""
    program = bun()
    if program is None:
        return False
    environ = os.environ | {"BUN_INSTALL_CACHE_DIR": str(cache() / "bun-files")}
    command = [program, "install", "--silent", "--linker", "hoisted", "--ignore-scripts", *options]
    return subprocess.run(command, cwd=folder, env=environ, stdout=sys.stderr).returncode == 0


def install(folder, dependencies):
    write_package_json(folder, dependencies)
    if not bun_install(folder):
        npm_install(folder)


def node(version):
    """The package `node`, which is fetched once for all that want the same version."""

    def fill(making):
        write_package_json(making, {"node": version})
        npm_install(making)
        subprocess.run([making / "node_modules/node/bin/node", "--version"], check=True, stdout=subprocess.DEVNULL)

    return made_once(cache() / f"node-{version}", fill) / "node_modules" / "node"


def link(source, target):
    """The same file under two names, where the file system has that."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def packages(wanted):
    """The folder that holds node_modules."""

    def fill(making):
        dependencies = json.loads(wanted.read_text())["dependencies"]
        version = dependencies.pop("node", None)
        install(making, dependencies)
        if version:
            shutil.copytree(node(version), making / "node_modules" / "node", symlinks=True, copy_function=link)

    key = hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]
    return made_once(cache() / f"mcp-{wanted.resolve().parent.name}-{key}", fill)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(packages(Path(sys.argv[1])))
