"""Says what is not tried, and has the test command say it at its end: it names the file for that."""

import os
import sys


def skip(what):
    print(f"  SKIP  {what}", flush=True)
    summary = os.environ.get("UPDRAFT_TEST_SKIPS")
    if summary:
        with open(summary, "a") as lines:
            lines.write(what + "\n")


if __name__ == "__main__":
    sys.exit(__doc__)
