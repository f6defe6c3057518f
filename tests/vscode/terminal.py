"""Runs a command in a terminal of its own: what it prints goes to standard output, what comes on standard input is typed.

terminal.py COMMAND…

Ends as the command does.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

ROWS, COLUMNS = 40, 120


def main():
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execvp(sys.argv[1], sys.argv[1:])
    sources = [terminal, 0]
    while terminal in sources:
        for ready in select.select(sources, [], [])[0]:
            try:
                data = os.read(ready, 1 << 16)
            except OSError:  # Linux says so that nobody has the terminal open any more.
                data = b""
            if not data:
                sources.remove(ready)
            else:
                os.write(1 if ready == terminal else terminal, data)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)


if __name__ == "__main__":
    main()
