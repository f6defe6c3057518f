"""What the tests of packages share: starting programs, comparing folders, saying what was skipped."""

import hashlib
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Skip(Exception):
    """Something that a test needs is not on this machine."""


class World:
    """An empty folder for one test, with a home of its own, and the packages that were made of the program."""

    def __init__(self, folder, packages, binary, packed, xtask):
        self.folder = folder
        self.packages = packages
        self.binary = binary
        self.packed = packed  # what is in all packages but Debian's; usually the same
        self.xtask = xtask
        self.home = folder / "home"
        self.home.mkdir(parents=True)

    def run(self, *command, code=0, cwd=None, **environment):
        """What a program prints, on both streams together; it must end with this code."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        ended = subprocess.run(
            [str(part) for part in command],
            cwd=cwd or self.folder,
            env={**kept, "HOME": str(self.home), **{name: str(value) for name, value in environment.items()}},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        line = " ".join(str(part) for part in command)
        assert ended.returncode == code, f"{line}\nended with {ended.returncode}, not {code}:\n{ended.stdout}"
        return ended.stdout

    def package(self, pattern):
        """The one package whose file name is like this."""
        found = sorted(self.packages.glob(pattern))
        assert len(found) == 1, f"{pattern}: {found}"
        return found[0]


def state(folder, times=True):
    """Everything in a folder: modes, contents, and when each was changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        seen = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else os.readlink(path) if path.is_symlink() else ""
        found[str(path.relative_to(folder))] = (oct(seen.st_mode), content, seen.st_mtime_ns if times else 0)
    return found


def version():
    """What the program says about itself."""
    for line in (ROOT / "Cargo.toml").read_text().splitlines():
        if line.startswith("version = "):
            return "updraft " + line.split('"')[1]
    raise AssertionError("Cargo.toml has no version")
