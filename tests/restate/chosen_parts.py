"""Runs the parts of a test program at the same time: all of them, or the one that is named."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def run_chosen(parts, usage):
    """`PROGRAM UPDRAFT PACKAGES [PART]`. Each part gets the first two; the first that fails ends the program."""
    if len(sys.argv) not in (3, 4):
        sys.exit(usage)
    updraft, packages = str(Path(sys.argv[1]).resolve()), sys.argv[2]
    began = time.monotonic()
    with ThreadPoolExecutor() as threads:
        chosen = {name: part for name, part in parts.items() if len(sys.argv) == 3 or sys.argv[3] == name}
        for name, done in {name: threads.submit(part, updraft, packages) for name, part in chosen.items()}.items():
            done.result()
            print(f"{name}: ok (after {time.monotonic() - began:.1f} s)", flush=True)
