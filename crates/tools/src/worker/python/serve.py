"""Serves calls, each in its own process, which was forked before the call arrived.

This process, the parent, imports the slow modules and then runs no untrusted code. Only the parent holds the pipes to
the caller. A child gets pipes to the parent, never sees a call's nonce, and is gone before the next call is read. So
whatever code does to its process, the next call finds everything unchanged, and no call can send frames in the name of
another. A call that leaves a process or a file in the private temporary folders behind makes this worker spent.

Python 3.8 or newer. The file that follows this one defines what a child does: `prepare()` before it reads its call, so
that memory pages shared with the parent are copied while nobody waits, and then `run(call, port)`.
"""

import gc
import json
import os
import select
import signal
import struct
import sys
import time

HEAD = 65536  # bytes of printed output that are forwarded as they arrive
TAIL = 32768  # bytes of the end of the output that are kept
DRAIN = 1 << 20  # bytes read from a pipe that another process may still hold open

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36


def write_frame(descriptor, kind, nonce, payload):
    data = memoryview(struct.pack("<I", 9 + len(payload)) + kind + nonce + payload)
    while data:
        data = data[os.write(descriptor, data):]


def read_exactly(descriptor, count):
    parts = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_frame(descriptor):
    (length,) = struct.unpack("<I", read_exactly(descriptor, 4))
    body = read_exactly(descriptor, length)
    return body[:1], body[1:9], body[9:]


def take_frame(buffer):
    """The first frame in the bytes from a child, which may send anything. None if it is incomplete."""
    if len(buffer) < 4:
        return None
    (length,) = struct.unpack_from("<I", buffer)
    if len(buffer) < 4 + length:
        return None
    body = bytes(buffer[4:4 + length])
    del buffer[:4 + length]
    return body[:1], body[9:]


def system_call():
    """The C function prctl, or None if it is not available."""
    try:
        import ctypes

        return ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None


class Child:
    """A process that waits for one call, with the pipes to it."""

    def __init__(self, server):
        down, self.down = os.pipe()
        self.up, up = os.pipe()
        self.printed, printed = os.pipe()
        self.crashed, crashed = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for descriptor in (*self.pipes(), *server.own):
                    os.close(descriptor)
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.setpgid(0, 0)
                os.dup2(printed, 1)
                os.dup2(printed, 2)
                os.close(printed)
                port = Port(down, up)
                prepare(port, crashed)
                if server.prctl:
                    server.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
                run(json.loads(read_frame(down)[2]), port)
            finally:
                os._exit(0)
        for descriptor in (down, up, printed, crashed):
            os.close(descriptor)

    def pipes(self):
        return self.down, self.up, self.printed, self.crashed

    def close(self):
        for descriptor in self.pipes():
            os.close(descriptor)


class Port:
    """A child's connection to its parent; any number of threads may use it."""

    def __init__(self, down, up):
        import threading

        self.down, self.up = down, up
        self.sending, self.reading = threading.Lock(), threading.Lock()
        self.asked, self.answers = 0, {}

    def say(self, kind, value):
        with self.sending:
            write_frame(self.up, kind, bytes(8), value)

    def ask(self, what):
        with self.sending:
            number = self.asked + 1
            question = DUMPS({"id": number, "what": what}, ensure_ascii=False).encode("utf-8", "replace")
            self.asked = number
            write_frame(self.up, b"Q", bytes(8), question)
        while True:
            # The thread with the lock reads for all; the others find their answer when they get the lock.
            with self.reading:
                if number in self.answers:
                    return self.answers.pop(number)
                answer = json.loads(read_frame(self.down)[2])
                self.answers[answer["id"]] = answer["value"]


class Server:
    def __init__(self):
        self.inward, self.outward = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os.close(nothing)
        self.wake, waker = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(waker, False)
        self.own = (self.inward, self.outward, self.wake, waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        _, _, hello = read_frame(self.inward)
        self.hello = json.loads(hello)
        sys.path.extend(self.hello.get("path", []))
        # No process in the sandbox can inspect this one, and orphaned processes become its children.
        self.prctl = system_call()
        if self.prctl and (self.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) or self.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)):
            self.prctl = None
        self.scratch = self.look_at_scratch()

    def serve(self):
        gc.collect()
        gc.freeze()
        child = Child(self)
        write_frame(self.outward, b"R", bytes(8), b"")
        while True:
            try:
                _, nonce, call = read_frame(self.inward)
            except EOFError:
                return
            end = self.attend(child, nonce, call)
            write_frame(self.outward, b"D", nonce, json.dumps(end).encode())
            child = Child(self)

    def attend(self, child, nonce, call):
        """Serves a child until it has ended, and forwards its frames."""
        began = time.monotonic()
        printed, said = Printed(self.outward, nonce), bytearray()
        write_frame(child.down, b"C", bytes(8), call)
        poll = select.poll()
        for descriptor in (child.up, child.printed, self.inward, self.wake):
            poll.register(descriptor, select.POLLIN)
        status = None
        while status is None:
            for descriptor, _ in poll.poll():
                if descriptor == self.wake:
                    os.read(self.wake, 4096)
                    status = self.reap(child.pid)
                elif descriptor == child.printed:
                    if not printed.read(child.printed):
                        poll.unregister(child.printed)
                elif descriptor == child.up:
                    if not self.relay(child.up, said, nonce):
                        poll.unregister(child.up)
                elif descriptor == self.inward:
                    _, _, answer = read_frame(self.inward)
                    try:
                        write_frame(child.down, b"A", bytes(8), answer)
                    except BrokenPipeError:
                        pass
        # The last data of the child is still in the pipes. Other processes that hold them open are not waited for.
        for descriptor, read in ((child.printed, printed.read), (child.up, lambda up: self.relay(up, said, nonce))):
            os.set_blocking(descriptor, False)
            for _ in range(DRAIN // 65536):
                try:
                    if not read(descriptor):
                        break
                except BlockingIOError:
                    break
        os.set_blocking(child.crashed, False)
        try:
            crash = os.read(child.crashed, 16384).decode("utf-8", "replace")
        except BlockingIOError:
            crash = ""
        child.close()
        left = self.has_left_processes()
        is_spent = left or self.prctl is None or self.look_at_scratch() != self.scratch
        end = {"seconds": time.monotonic() - began, "status": status, "left": left, "spent": is_spent, "crash": crash}
        end.update(printed.end())
        return end

    def relay(self, up, said, nonce):
        part = os.read(up, 65536)
        said += part
        while True:
            frame = take_frame(said)
            if frame is None:
                return bool(part)
            # Only the parent reports the end of a call, and only once its process is gone.
            if frame[0] in (b"Q", b"V"):
                write_frame(self.outward, frame[0], nonce, frame[1])

    def reap(self, wanted):
        """Reaps every process that has ended. Returns the status of the wanted one, if it is among them."""
        status = None
        while True:
            try:
                pid, ended = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return status
            if pid == 0:
                return status
            if pid == wanted:
                status = -os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else os.WEXITSTATUS(ended)

    def has_left_processes(self):
        self.reap(0)
        try:
            os.waitpid(-1, os.WNOHANG)
            return True
        except ChildProcessError:
            return False

    def look_at_scratch(self):
        """A value that changes when a file is left in the private temporary folders."""
        home, temporary = os.environ.get("HOME", "/"), os.environ.get("TMPDIR", "/tmp")
        if self.hello.get("level") == "full":
            found = [os.statvfs(folder) for folder in ("/tmp", "/var/tmp", "/dev/shm", home)]
            return [(one.f_ffree, one.f_bfree) for one in found]
        return [sorted(os.listdir(folder)) for folder in (temporary, home)]


class Printed:
    """The printed output of a call: its beginning is forwarded as it arrives, its end kept, and the middle counted."""

    def __init__(self, outward, nonce):
        self.outward, self.nonce = outward, nonce
        self.room, self.tail, self.omitted = HEAD, bytearray(), 0

    def read(self, descriptor):
        part = os.read(descriptor, 65536)
        head, rest = part[:self.room], part[self.room:]
        if head:
            self.room -= len(head)
            write_frame(self.outward, b"O", self.nonce, head)
        self.tail += rest
        over = len(self.tail) - TAIL
        if over > 0:
            del self.tail[:over]
            self.omitted += over
        return bool(part)

    def end(self):
        return {"omitted": self.omitted, "tail": self.tail.decode("utf-8", "replace")}
