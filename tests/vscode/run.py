"""The extension in a real VS Code: checked, tested, packed, installed, and driven with a browser and `updraft bridge`.

run.py UPDRAFT CHROMIUM [--screenshots FOLDER]

UPDRAFT is the binary, CHROMIUM the browser. Packages of npm come from the cache (prepare.py, ../mcp/packages.py). No network:
the model is scripted, everything is on loopback.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import prepare

sys.path.insert(0, str(prepare.HERE.parent / "mcp"))
from packages import packages  # noqa: E402


def built(folder):
    """The packed extension, built from a copy so that nothing is left in the repository."""
    copy, modules = folder / "extension", prepare.builders() / "node_modules"
    leave = shutil.ignore_patterns("node_modules", "dist", "*.vsix")
    shutil.copytree(prepare.EXTENSION, copy, ignore=leave)
    (copy / "node_modules").symlink_to(modules)
    node = str(prepare.node(prepare.editor()))

    def run(*words):
        subprocess.run([node, *words], cwd=copy, check=True, stdout=sys.stderr)

    run(modules / "typescript" / "bin" / "tsc", "--noEmit")
    run("--test", "--test-reporter=dot", *sorted(map(str, copy.glob("test/*.test.ts"))))
    run("esbuild.mjs")
    # The folder of packages is not packed, and looking through it takes long.
    (copy / "node_modules").unlink()
    vsix = folder / "updraft.vsix"
    options = ["--no-dependencies", "--allow-missing-repository", "--skip-license", "--out", vsix]
    run(modules / "@vscode" / "vsce" / "vsce", "package", *options)
    return vsix


def panel(folder):
    """The extension that plays an agent panel, packed: an archive with the files in `extension/`."""
    vsix = folder / "panel.vsix"
    with zipfile.ZipFile(vsix, "w") as archive:
        for file in sorted((prepare.HERE / "panel").iterdir()):
            archive.write(file, f"extension/{file.name}")
    return vsix


def main():
    words = sys.argv[1:]
    screenshots = words.pop() if len(words) == 4 and words.pop(2) == "--screenshots" else ""
    if len(words) != 2:
        sys.exit(__doc__)
    page = packages(prepare.HERE.parent / "page" / "package.json")
    with tempfile.TemporaryDirectory(prefix="updraft-vscode-") as scratch:
        environment = os.environ | {
            "PACKAGES": str(page), "EDITOR_FOLDER": str(prepare.editor()), "VSIX": str(built(Path(scratch))),
            "PANEL_VSIX": str(panel(Path(scratch))),
            "MCP_PACKAGES": str(packages(prepare.HERE.parent / "mcp" / "clients" / "package.json")),
            "UPDRAFT": str(Path(words[0]).resolve()), "CHROMIUM": words[1],
            "SCREENSHOTS": str(Path(screenshots).resolve()) if screenshots else "",
        }
        # Forced, because what a failed test leaves open, such as an MCP client, would keep it from ending.
        command = [page / "node_modules/node/bin/node", "--test", "--test-timeout=240000", "--test-force-exit", prepare.HERE / "journey.mjs"]
        sys.exit(subprocess.run(command, env=environment).returncode)


if __name__ == "__main__":
    main()
