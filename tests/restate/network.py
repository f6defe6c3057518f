"""A network of its own for a cluster: each node in a network namespace, joined by a bridge, with cables that can be pulled.

The program that uses it has to be in a namespace itself (`in_own_namespace`), so that nothing outside is touched and all of it is
gone when it ends. Its worker is there too, with an address and a cable of its own. Needs root; `why_not` says what is missing.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import threading

INSIDE = "UPDRAFT_TEST_NAMESPACE"
NET = "10.231.0"
WORKER = f"{NET}.254"


def why_not():
    """Why there can be no network here; None if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [program for program in ("ip", "unshare", "nsenter") if not shutil.which(program)]
    if missing:
        return f"{', '.join(missing)} not installed"
    tried = "ip link set lo up && ip link add b0 type bridge && ip link add v0 type veth peer name v1"
    done = subprocess.run(["unshare", "--net", "sh", "-c", tried], capture_output=True, text=True)
    return None if done.returncode == 0 else f"no network namespaces: {done.stderr.strip()}"


def in_own_namespace():
    """Starts this program again in a namespace, unless it is in one."""
    if os.environ.get(INSIDE):
        return
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True)


class Network:
    """The bridge, the worker's cable, and one for each node."""

    def __init__(self, nodes):
        ip("link", "set", "lo", "up")
        ip("link", "add", "br0", "type", "bridge")
        ip("link", "set", "br0", "up")
        ip("link", "add", "work0", "type", "veth", "peer", "name", "work1")
        ip("link", "set", "work1", "master", "br0", "up")
        ip("addr", "add", f"{WORKER}/24", "dev", "work0")
        ip("link", "set", "work0", "up")
        # A namespace is there as long as a process is in it. This one ends when its input does: with the test.
        self.holders = [subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(nodes)]
        own = os.readlink("/proc/self/ns/net")
        for number, holder in enumerate(self.holders, 1):
            while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
                pass  # It is about to enter.
            ip("link", "add", f"node{number}", "type", "veth", "peer", "name", "eth0", "netns", holder.pid)
            ip("link", "set", f"node{number}", "master", "br0", "up")
            for words in (f"addr add {self.address(number)}/24 dev eth0", "link set eth0 up", "link set lo up"):
                subprocess.run([*self.inside(number), "ip", *words.split()], check=True)

    def address(self, number):
        return f"{NET}.{number}"

    def inside(self, number):
        """The beginning of a command that is to run on a node."""
        return ["nsenter", "--net", "--target", str(self.holders[number - 1].pid)]

    def cut(self, who):
        """Pulls the cable of `work1` (the worker) or `nodeN`: nothing arrives, and nobody is told."""
        ip("link", "set", who, "down")

    def mend(self, who):
        ip("link", "set", who, "up")

    def close(self):
        for holder in self.holders:
            holder.stdin.close()
            holder.wait()


class Forwarders:
    """Ports of this machine that lead to others, as a proxy beside a worker does."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def add(self, port, address, there):
        async def listen():
            await asyncio.start_server(lambda reader, writer: self.forward(reader, writer, address, there), "127.0.0.1", port)

        asyncio.run_coroutine_threadsafe(listen(), self.loop).result()

    async def forward(self, reader, writer, address, there):
        try:
            out_reader, out_writer = await asyncio.wait_for(asyncio.open_connection(address, there), 3)
        except (OSError, asyncio.TimeoutError):
            writer.transport.abort()
            return
        await asyncio.gather(copy(reader, out_writer), copy(out_reader, writer))


async def copy(reader, writer):
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except (OSError, RuntimeError):
        writer.transport.abort()


if __name__ == "__main__":
    sys.exit(__doc__)
