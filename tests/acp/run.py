"""Has clients of others speak with `updraft acp`: the official Python package, npm's acpx, and the official crate.

run.py UPDRAFT [--packages FOLDER] [--crate-client PROGRAM] [--only TEXT]

Run by the Python that environment.py prints for requirements.txt; UPDRAFT is the binary. FOLDER is what packages.py prints for
package.json, PROGRAM what cargo builds in crate-client. Each client holds a conversation with a call, a permission, a cancel, and a load that tells everything again. No
network: models are scripted. Ends with 0 only if all went well.
"""

import argparse
import os
import tempfile
import time
import traceback

import acpx_checks
import crate_checks
import sdk_checks
from world import made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("updraft")
    parser.add_argument("--packages")
    parser.add_argument("--crate-client")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    groups = [(sdk_checks, ())]
    if args.packages:
        groups.append((acpx_checks, (args.packages,)))
    if args.crate_client:
        groups.append((crate_checks, (os.path.abspath(args.crate_client),)))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.realpath(folder)
        for group, extra in groups:
            for check in group.CHECKS:
                name = f"{group.__name__.removesuffix('_checks')}: {check.__name__.replace('_', ' ')}"
                if args.only not in name:
                    continue
                began = time.monotonic()
                try:
                    check(made(root, name.replace(": ", "-").replace(" ", "-"), os.path.abspath(args.updraft)), *extra)
                    print(f"ok     {name} ({time.monotonic() - began:.1f} s)", flush=True)
                except Exception:  # noqa: BLE001
                    failed += 1
                    print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
