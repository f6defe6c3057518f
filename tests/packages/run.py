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
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import debian
import docker
import installer
import manual
import npm
import python
import reproducible
import units
from world import Skip, World

TESTS = [
    test
    for module in (reproducible, installer, manual, python, npm, debian, docker, units)
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


def outcome(test, world):
    """One line about a test, and whether it is "ok", "SKIP" or "FAIL"."""
    name = name_of(test)
    start = time.monotonic()
    try:
        test(world)
        return "ok", f"  ok    {name} ({time.monotonic() - start:.1f} s)"
    except Skip as why:
        return "SKIP", f"  SKIP  {name}: {why}"
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return "FAIL", f"  FAIL  {name}\n{place.filename}:{place.lineno}: {place.line}\n{error}"


def name_of(test):
    return f"{test.__module__}: {test.__name__.removeprefix('test_').replace('_', ' ')}"


def main(binary, xtask, names):
    began = time.monotonic()
    chosen = [test for test in TESTS if not names or any(part in name_of(test) for part in names)]
    with tempfile.TemporaryDirectory(prefix="updraft-packages-") as scratch:
        scratch = Path(scratch)
        program = stripped(binary, scratch)
        packages = scratch / "packages"
        make = [xtask, "package", "all", "--binary", program, "--out", packages, "--level", "1"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        print(f"  made {len(list(packages.glob('*.sha256')))} packages in {time.monotonic() - began:.1f} s", flush=True)
        installer.unpack(packages)
        results = []
        with ThreadPoolExecutor(max_workers=2) as pool:
            worlds = [World(scratch / f"world-{number}", packages, program, xtask) for number in range(len(chosen))]
            for result, line in pool.map(outcome, chosen, worlds):
                results.append(result)
                print(line, flush=True)
    failed, skipped = results.count("FAIL"), results.count("SKIP")
    print(f"packages: {failed} failed, {skipped} skipped, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3:]))
