"""`python -m updraft`: the program, in place of this process where the system can do that."""

import os
import subprocess
import sys

from updraft import find_program

if __name__ == "__main__":
    command = [find_program(), *sys.argv[1:]]
    if sys.platform == "win32":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)
