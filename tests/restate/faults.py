"""Breaks a cluster of three nodes and its worker again and again, while runs are under way, and counts outside what they did.

faults.py [--faults N] [--seed S] [--width W] [--pause P] [--at-once A] [--updraft BINARY] [--packages FOLDER]

Faults: kill -9 of the worker, of a node, of the node that leads, of worker and node, of all; the network cut between the
worker and all nodes (also with a kill meanwhile), or between one node and everybody; the worker's clock set forward or back; the
worker stopped for seconds (it comes back as a zombie); another machine takes its place, after it is gone for good with all that was on
it, or while it is stopped and before it comes back. Runs have steps at the same time: commands, MCP calls on pipes and over
HTTP, two calls in one turn, a file, a question. Ends with 0 only if no effect was repeated, none is missing without its agent
being told, no accepted input was lost, all runs came to their end, and nothing is left undone in Restate.

The network is one of namespaces and needs root; clocks need libfaketime. What is missing is said, and those faults are left out.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "mcp"))
import network  # noqa: E402
from cluster import CableNetwork, Cluster  # noqa: E402
from outside import Outside  # noqa: E402
from skips import skip  # noqa: E402
from workload import ClusterWorker, Workload, faketime, script  # noqa: E402


class Faults:
    """What can be done to a cluster and its worker."""

    def __init__(self, cluster, worker, dice, says_all):
        self.cluster, self.worker, self.dice, self.done, self.says_all = cluster, worker, dice, Counter(), says_all
        nodes, self.drawing = cluster.nodes, threading.Lock()
        # Two faults may happen at the same time, but not two to the worker, and not two to the nodes: one of three may be away.
        self.worker_turn, self.nodes_turn = threading.Lock(), threading.Lock()
        worker, node, both = [self.worker_turn], [self.nodes_turn], [self.worker_turn, self.nodes_turn]
        # How often each happens beside the others, whose turn it needs, and what it is.
        self.kinds = {
            "worker killed": (4, worker, lambda: self.kill(True, [])),
            "node killed": (3, node, lambda: self.kill(False, [dice.choice(nodes)])),
            "leader killed": (3, node, lambda: self.kill(False, [cluster.leader()])),
            "worker and node killed": (2, both, lambda: self.kill(True, [dice.choice(nodes)])),
            "all killed": (1, both, lambda: self.kill(True, nodes)),
            "worker stopped": (1, worker, self.stop),
            "worker gone and taken over": (1, worker, lambda: self.take_over(False)),
            "worker stopped and taken over": (1, worker, lambda: self.take_over(True)),
        }
        if isinstance(cluster.place, CableNetwork):
            self.kinds |= {
                "worker cut off": (3, both, lambda: self.cut("work1", 4)),
                "node cut off": (3, node, lambda: self.cut(f"node{dice.choice(nodes).number}", 4)),
                "worker cut off and killed": (1, both, lambda: self.cut("work1", 2, is_deadly=True)),
            }
        if faketime():
            self.kinds["clock set"] = (2, worker, self.set_clock)

    def one(self, number):
        """Each kind once, then by chance."""
        names = list(self.kinds)
        weights = [weight for weight, _, _ in self.kinds.values()]
        with self.drawing:
            kind = names[number] if number < len(names) else self.dice.choices(names, weights)[0]
        _, turns, act = self.kinds[kind]
        with ExitStack() as stack:
            for turn in turns:
                stack.enter_context(turn)
            began = time.monotonic()
            act()
        if self.says_all:
            print(f"  {number + 1}: {kind}, {time.monotonic() - began:.1f} s", flush=True)
        with self.drawing:
            self.done[kind] += 1

    def kill(self, worker, nodes):
        for node in nodes:
            node.kill()
        if worker:
            self.worker.kill()
        time.sleep(self.dice.uniform(0, 1))
        threads = [threading.Thread(target=node.start) for node in nodes]
        for thread in threads:
            thread.start()
        if worker:
            self.worker.start()
        for thread in threads:
            thread.join()

    def cut(self, cable, longest, is_deadly=False):
        cables = self.cluster.place.network
        cables.cut(cable)
        time.sleep(self.dice.uniform(0.5, longest))
        if is_deadly:
            self.worker.kill()
        cables.mend(cable)
        if is_deadly:
            self.worker.start()

    def stop(self):
        """It does nothing for seconds, and then goes on where it was."""
        self.worker.server.send_signal(signal.SIGSTOP)
        time.sleep(self.dice.uniform(1, 3))
        self.worker.server.send_signal(signal.SIGCONT)

    def take_over(self, comes_back):
        """Another machine takes the place of the worker, which is gone for good, or comes back when nobody needs it any more."""
        worker, before = self.worker, self.worker.server
        if comes_back:
            before.send_signal(signal.SIGSTOP)
            worker.end_log()
            worker.port = 0
        else:
            worker.kill()
        with worker.moving:
            home = worker.move()
            waking = threading.Timer(self.dice.uniform(1, 4), lambda: before.send_signal(signal.SIGCONT))
            if comes_back:
                waking.start()
            worker.start()
        if comes_back:
            waking.join()
            time.sleep(self.dice.uniform(0, 1))
            before.kill()
            before.wait()
        shutil.rmtree(home)

    def set_clock(self):
        # Signed requests are valid for a minute. Without signatures, any time will do.
        most = 40 if self.cluster.key else 100_000
        self.worker.clock.write_text(f"{self.dice.randint(-most, most):+d}")


def break_often(cluster, worker, outside, given):
    faults, load = Faults(cluster, worker, random.Random(given.seed), given.verbose), Workload(cluster, worker, outside, given)
    numbers = iter(range(given.faults))

    def keep_breaking(dice):
        try:
            while not load.broken:
                with faults.drawing:
                    number = next(numbers, None)
                if number is None:
                    return
                until_a_moment(load, dice)
                faults.one(number)
                if number % 25 == 24:
                    print(f"  {number + 1} faults, {dict(load.totals)}", flush=True)
        except BaseException as why:  # Otherwise the thread would end without a word.
            load.broken.append(why)

    runs = [threading.Thread(target=load.carry_out) for _ in range(given.width)]
    breaking = [threading.Thread(target=keep_breaking, args=[random.Random(given.seed + n)]) for n in range(given.at_once)]
    for thread in runs + breaking:
        thread.start()
    for thread in breaking:
        thread.join()
    load.is_over.set()
    if given.verbose:
        print(f"  the last fault is over, {dict(load.totals)}", flush=True)
    for thread in runs:
        thread.join()
    if load.broken:
        raise AssertionError("\n".join(map(str, load.broken)))
    load.patiently("something is left undone in Restate", lambda: True if not cluster.stuck() else None)
    for kind, count in sorted(faults.done.items()):
        print(f"  {count:4} {kind}")
    t = load.totals
    print(f"  {given.faults} faults, {t['runs']} runs; effects: {t['output']} done, {t['in_doubt']} in doubt and told ({t['happened in doubt']} of them had "
          f"happened), {t['rejected']} refused, 0 repeated; {t['answers']} answers and {t['messages']} messages accepted, 0 lost")
    assert t["runs"] and t["output"] and t["answers"], "nothing was tried"


def until_a_moment(load, dice):
    """Any moment; every other time, one at which something is under way."""
    time.sleep(dice.uniform(0, load.pause))
    counts, before = load.worker.folder / "counts", (load.worker.folder / "counts").stat().st_size
    for _ in range(40 if dice.random() < 0.5 else 0):
        if counts.stat().st_size != before:
            time.sleep(dice.uniform(0, 0.2))
            return
        time.sleep(0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=16)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--width", type=int, default=3, help="runs at the same time")
    parser.add_argument("--pause", type=float, default=1, help="the longest time between two faults, in seconds")
    parser.add_argument("--at-once", type=int, default=1, help="faults at the same time")
    parser.add_argument("--updraft", default=ROOT / "target/debug/updraft", type=Path)
    parser.add_argument("--packages")
    parser.add_argument("--verbose", action="store_true", help="says every fault")
    given = parser.parse_args()
    without = network.why_not()
    if without:
        skip(f"faults of the network on Restate, and signed requests: {without}")
    else:
        network.in_own_namespace()
    if not faketime():
        print("  SKIP  clocks are not set: no libfaketime (apt install libfaketime)")
    if not given.packages:
        from packages import packages
        given.packages = packages(HERE / "package.json")
    print(f"  seed {given.seed}; nodes {'on loopback' if without else 'in network namespaces'}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(given.packages, Path(folder), None if without else CableNetwork(3))
        outside = Outside(script(Path(folder) / "counts"))
        worker = None
        try:
            cluster.start()
            worker = ClusterWorker(str(given.updraft.resolve()), folder, cluster, outside)
            worker.trust()
            worker.start()
            print(f"  ready after {time.monotonic() - began:.1f} s", flush=True)
            break_often(cluster, worker, outside, given)
        except BaseException:
            if worker and worker.log.exists():
                print(worker.log.read_text()[-1500:], worker.warnings(), file=sys.stderr)
            print(cluster.said(), file=sys.stderr)
            raise
        finally:
            if worker and worker.server:
                worker.close()
            cluster.close()
            outside.close()
    print(f"faults: ok (after {time.monotonic() - began:.1f} s)")


if __name__ == "__main__":
    main()
