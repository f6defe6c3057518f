"""Lives of a process: each is a fork of this one, which has no threads and has opened nothing yet."""

import json
import os
import shutil
import signal
import tempfile
import time

from graphs import World

LONGEST = 60


class Life:
    """How it ended: killed, failed with words, or done with a value."""

    def __init__(self, status, words):
        self.killed = os.WIFSIGNALED(status)
        self.ok = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
        self.words = words
        self.value = json.loads(words) if self.ok else None


def start(folder, cut, deed, *args):
    """Begins `deed(world, ...)` in a process of its own, with a file for what it says."""
    handle, path = tempfile.mkstemp(dir=folder)
    pid = os.fork()
    if pid:
        os.close(handle)
        return pid, path
    try:
        value = deed(World(folder, cut), *args)
        os.write(handle, json.dumps(value, default=str).encode())
        status = 0
    except BaseException as why:
        os.write(handle, f"{type(why).__name__}: {why}".encode())
        status = 1
    os._exit(status)


def wait(started):
    pid, path = started
    limit = time.monotonic() + LONGEST
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > limit:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    with open(path) as file:
        return Life(status, file.read())


def live(folder, cut, deed, *args):
    return wait(start(folder, cut, deed, *args))


def at_once(folder, deeds):
    """Processes that wait until all are there, then go."""
    gate = os.path.join(folder, "gate")

    def together(world, deed, *args):
        while not os.path.exists(gate):
            time.sleep(0.001)
        return deed(world, *args)

    started = [start(folder, None, together, *deed) for deed in deeds]
    open(gate, "w").close()
    return [wait(one) for one in started]


def copy(folder):
    there = tempfile.mkdtemp()
    shutil.copytree(folder, there, dirs_exist_ok=True)
    return there
