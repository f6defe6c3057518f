"""Judges the requests of our model clients with the types of the official packages.

judge.py               reads lines {"dialect": …, "body": …}, answers {"ok": true} or {"ok": false, "fault": …}
judge.py --serve       prints the address of a server that judges, and plays the services; ends when stdin does
judge.py --self-test   good bodies pass, broken ones do not, and the official clients read what the server plays
"""

import json
import sys

from rules import fault_in


def verdict(line):
    """What to print for one line."""
    asked = json.loads(line)
    fault = fault_in(asked["dialect"], asked["body"])
    return {"ok": True} if fault is None else {"ok": False, "fault": fault}


def main(arguments):
    if arguments == ["--serve"]:
        from server import serve_until_stdin_ends

        serve_until_stdin_ends()
    elif arguments == ["--self-test"]:
        from selftest import run

        return run()
    elif not arguments:
        for line in sys.stdin.buffer:
            print(json.dumps(verdict(line)), flush=True)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
