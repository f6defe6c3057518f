"""Makes every package of a program, installs each in an empty folder, uses it, and removes it again without a trace.

run.py BINARY XTASK [NAME]...

BINARY is the program, XTASK the built `xtask`. A NAME chooses tests by a part of their name. What this machine lacks is
skipped, and said.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import debian
import docker
import installer
import npm
import python
import reproducible
import units
from world import Skip, World

TESTS = [
    test
    for module in (reproducible, installer, python, npm, debian, docker, units)
    for name, test in vars(module).items()
    if name.startswith("test_")
]


def stripped(binary, folder):
    """A copy without debug information, which the packages would have to carry about."""
    copy = folder / "updraft"
    shutil.copy(binary, copy)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-all", copy], check=True)
    return copy


def main(binary, xtask, names):
    failed = skipped = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="updraft-packages-") as scratch:
        scratch = Path(scratch)
        program = stripped(binary, scratch)
        packages = scratch / "packages"
        make = [xtask, "package", "all", "--binary", program, "--out", packages, "--level", "1"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        print(f"  made {len(list(packages.glob('*.sha256')))} packages in {time.monotonic() - began:.1f} s")
        for number, test in enumerate(TESTS):
            name = f"{test.__module__}: {test.__name__.removeprefix('test_').replace('_', ' ')}"
            if names and not any(part in name for part in names):
                continue
            start = time.monotonic()
            try:
                test(World(scratch / f"world-{number}", packages, program, xtask))
                print(f"  ok    {name} ({time.monotonic() - start:.1f} s)")
            except Skip as why:
                skipped += 1
                print(f"  SKIP  {name}: {why}")
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"  FAIL  {name}\n{error}")
    print(f"packages: {failed} failed, {skipped} skipped, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3:]))
