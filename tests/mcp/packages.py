"""Installs the packages of a package.json, once, in the cache, and prints the folder.

packages.py PACKAGE_JSON

As with environment.py beside the judges: the folder's name holds what is in it, and it is made under another name.
The package `node` in it brings a Node of its own (FOLDER/node_modules/node/bin/node), which its install script fetches;
any npm can install it. It is 120 MB, so the folders share it by hard links.
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


def npm_install(folder, dependencies):
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": dependencies}))
    # npm of an older Node prefers packages made for it; the versions are exact, so only its warnings differ.
    options = ["--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1", "--engine-strict=false"]
    subprocess.run(["npm", "install", "--prefix", folder, *options], check=True, stdout=sys.stderr)


def node(version):
    """The package `node`, which is fetched once for all that want the same."""

    def fill(making):
        npm_install(making, {"node": version})
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
        npm_install(making, dependencies)
        if version:
            shutil.copytree(node(version), making / "node_modules" / "node", symlinks=True, copy_function=link)

    key = hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]
    return made_once(cache() / f"mcp-{wanted.resolve().parent.name}-{key}", fill)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(packages(Path(sys.argv[1])))
