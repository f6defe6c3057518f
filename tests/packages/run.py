"""Makes every package of a program, installs each in an empty folder, uses it, and removes it again without a trace.

run.py BINARY XTASK [--light | --packages FOLDER] [NAME]...

BINARY is the program, XTASK the built `xtask`. A NAME chooses tests by a part of their name. What this machine lacks is
skipped, and said. With --packages, those that were made of BINARY before are tried. With --light, all packages but Debian's hold a
small program that starts BINARY: an unoptimized one has 100 MB, which every package would be made of, and every installer unpack.
"""

import argparse
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


def stand_in(program, folder):
    """A small program that becomes the other one when it is started."""
    folder.mkdir()
    source, small = folder / "updraft.c", folder / "updraft"
    path = str(program).replace("\\", "\\\\").replace('"', '\\"')
    source.write_text(f'#include <unistd.h>\nint main(int count, char **words) {{ return execv("{path}", words); }}\n')
    subprocess.run(["cc", "-O1", "-s", "-o", small, source], check=True)
    return small


def make_packages(xtask, packed, packages):
    """Makes the packages of each kind, with the program that it gets."""
    for program in dict.fromkeys(packed.values()):
        kinds = ",".join(kind for kind, own in packed.items() if own == program)
        command = [xtask, "package", kinds, "--binary", program, "--out", packages, "--level", "1"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


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


def main(given):
    began = time.monotonic()
    xtask, names = given.xtask.resolve(), given.names
    chosen = [test for test in TESTS if not names or any(part in name_of(test) for part in names)]
    with tempfile.TemporaryDirectory(prefix="updraft-packages-") as scratch:
        scratch = Path(scratch)
        packages = scratch / "packages"
        if given.packages:
            program = small = given.binary.resolve()
            shutil.copytree(given.packages, packages)
        else:
            program = stripped(given.binary.resolve(), scratch)
            small = stand_in(program, scratch / "small") if given.light else program
            make_packages(xtask, {"archive": small, "wheel": small, "npm": small, "deb": program}, packages)
        print(f"  {len(list(packages.glob('*.sha256')))} packages, ready in {time.monotonic() - began:.1f} s", flush=True)
        installer.unpack(packages)
        results = []
        with ThreadPoolExecutor(max_workers=2) as pool:
            worlds = [World(scratch / f"world-{number}", packages, program, small, xtask) for number in range(len(chosen))]
            for result, line in pool.map(outcome, chosen, worlds):
                results.append(result)
                print(line, flush=True)
    failed, skipped = results.count("FAIL"), results.count("SKIP")
    print(f"packages: {failed} failed, {skipped} skipped, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("xtask", type=Path)
    parser.add_argument("names", nargs="*")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--light", action="store_true")
    kinds.add_argument("--packages", type=Path)
    sys.exit(main(parser.parse_intermixed_args()))
