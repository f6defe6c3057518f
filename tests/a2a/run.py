"""Has the official clients of A2A use our server, kills it in the middle of tasks, and has two servers of ours delegate to each other
while one is killed.

run.py UPDRAFT GROUP... [--node FOLDER] [--only TEXT]

UPDRAFT is the binary. The group `python` needs the Python that environment.py prints for requirements.txt, the group `javascript`
what packages.py prints for package.json, as FOLDER; the groups `delegation` and `kill` need nothing. No network: models are scripted,
everything is on loopback. Ends with 0 only if all went well.
"""

import argparse
import importlib
import os
import traceback


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("updraft")
    parser.add_argument("groups", nargs="+", choices=["python", "javascript", "delegation", "kill"])
    parser.add_argument("--node")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    updraft, failed = os.path.abspath(args.updraft), 0
    for group in args.groups:
        for check in importlib.import_module(f"{group}_checks").CHECKS:
            name = f"{group}: {check.__name__.removeprefix('check_').replace('_', ' ')}"
            if args.only not in name:
                continue
            try:
                check(updraft, args.node)
                print(f"ok     {name}", flush=True)
            except Exception:  # noqa: BLE001
                failed += 1
                print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
