"""Installs the packages of a package.json, once, in the cache, and prints the folder.

packages.py PACKAGE_JSON

As with environment.py beside the judges: the folder's name holds what is in it, and it is made under another name.
Bun installs them: it needs a tenth of npm's processor time. Where Bun cannot, npm does. Scripts of packages are not run, except that
of `node`, which fetches a Node of its own (FOLDER/node_modules/node/bin/node); so npm always installs that one. It is 120 MB, and
the folders share it by hard links.
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
# It waits for a registry that does not answer for half an hour.
BUN_SECONDS = 300
NPM_OPTIONS = ["--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1", "--engine-strict=false"]


def write_package_json(folder, dependencies):
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": dependencies}))


def run_npm(folder, command, *options):
    # npm of an older Node prefers packages made for it; the versions are exact, so only its warnings differ.
    subprocess.run(["npm", command, "--prefix", folder, *NPM_OPTIONS, *options], cwd=folder, check=True, stdout=sys.stderr)


def program_of_bun(folder):
    """The one for this machine: npm may have fetched others as well, such as one for another C library."""
    for program in sorted(folder.glob("node_modules/@oven/bun-*/bin/bun")):
        try:
            subprocess.run([program, "--version"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return program
    return None


def bun():
    """The program, or None where it is not to be had."""

    def fill(making):
        write_package_json(making, {"bun": BUN})
        run_npm(making, "install", "--ignore-scripts")
        if program_of_bun(making) is None:
            sys.exit("error: no Bun for this machine")

    try:
        return program_of_bun(made_once(cache() / f"bun-{BUN}", fill))
    except SystemExit as error:
        print(error, file=sys.stderr)
        return None


def bun_install(folder, *options):
    """Whether Bun could do it: the registry may be one that only npm knows of. If not, nothing of it is left."""
    program = bun()
    if program is None:
        return False
    environ = os.environ | {"BUN_INSTALL_CACHE_DIR": str(cache() / "bun-files")}
    command = [program, "install", "--no-progress", "--linker", "hoisted", "--ignore-scripts", *options]
    try:
        subprocess.run(command, cwd=folder, env=environ, stdout=subprocess.DEVNULL, timeout=BUN_SECONDS, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        print(f"Bun could not install {folder}, so npm does: {error}", file=sys.stderr)
        shutil.rmtree(folder / "node_modules", ignore_errors=True)
        (folder / "bun.lock").unlink(missing_ok=True)
        return False
    return True


def install(folder, *options, npm="install"):
    """Installs what `package.json` and the list of versions beside it say, if there is one. Runs no scripts."""
    frozen = ["--frozen-lockfile"] if npm == "ci" else []
    if not bun_install(folder, *frozen, *options):
        run_npm(folder, npm, "--ignore-scripts", *options)


def node(version):
    """The package `node`, which is fetched once for all that want the same version."""

    def fill(making):
        write_package_json(making, {"node": version})
        run_npm(making, "install")
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
        write_package_json(making, dependencies)
        install(making)
        if version:
            shutil.copytree(node(version), making / "node_modules" / "node", symlinks=True, copy_function=link)

    key = hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]
    return made_once(cache() / f"mcp-{wanted.resolve().parent.name}-{key}", fill)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(packages(Path(sys.argv[1])))
