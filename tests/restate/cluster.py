"""Three Restate nodes that replicate everything to two of them: each started, killed and cut off by tests."""

import re
import subprocess
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from network import WORKER, Forwarders, Network
from node import SECONDS, Node, free_ports, post

CLUSTER = """
cluster-name = "test"
node-name = "n{number}"
base-dir = "{data}"
bind-address = "{address}:{port}"
advertised-address = "http://{address}:{port}"
listen-mode = "tcp"
auto-provision = {is_first}
default-num-partitions = 4
default-replication = 2
rocksdb-total-memory-size = "128 MiB"
{identity}
[metadata-client]
addresses = [{addresses}]
[admin]
bind-address = "{address}:{admin}"
[ingress]
bind-address = "{address}:{ingress}"
"""


class ClusterNode(Node):
    """One of several nodes. What it lacks of `Node` is said by its cluster."""

    def __init__(self, packages, folder, number, place):
        self.number, self.place = number, place
        super().__init__(packages, folder, name=f"node{number}")

    def write_config(self):
        """Nothing yet: the addresses of all nodes have to be known."""

    def command(self):
        return [*self.place.prefix(self.number), *super().command()]


class Place:
    """Nodes on loopback, each with ports of its own."""

    worker = "127.0.0.1"

    def address(self, number):
        return "127.0.0.1"

    def prefix(self, number):
        return []

    def outer(self, node):
        """The addresses of a node's ingress and admin interface, for a worker."""
        return f"http://127.0.0.1:{node.ingress_port}", f"http://127.0.0.1:{node.admin_port}"

    def close(self):
        pass


class CableNetwork(Place):
    """Nodes in namespaces, with cables."""

    worker = WORKER

    def __init__(self, nodes):
        self.network, self.forwarders = Network(nodes), Forwarders()
        self.outers = {}

    def address(self, number):
        return self.network.address(number)

    def prefix(self, number):
        return self.network.inside(number)

    def outer(self, node):
        # A worker sends plain requests on its own machine only, so it has a proxy there.
        if node.number not in self.outers:
            ports = free_ports(2)
            for port, there in zip(ports, (node.ingress_port, node.admin_port)):
                self.forwarders.add(port, self.address(node.number), there)
            self.outers[node.number] = tuple(f"http://127.0.0.1:{port}" for port in ports)
        return self.outers[node.number]

    def close(self):
        self.network.close()


class Cluster:
    """Three nodes; with `place` in namespaces, otherwise on loopback."""

    def __init__(self, packages, folder, place=None, nodes=3):
        self.place, self.folder = place or Place(), folder
        self.nodes = [ClusterNode(packages, folder, number, self.place) for number in range(1, nodes + 1)]
        self.key, identity = None, ""
        if isinstance(self.place, CableNetwork):
            pem = folder / "identity.pem"
            subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", pem], check=True, capture_output=True)
            identity = f'request-identity-private-key-pem-file = "{pem}"'
        fabric = [f'"http://{self.place.address(node.number)}:{node.node_port}"' for node in self.nodes]
        for node in self.nodes:
            host = self.place.address(node.number)
            node.ingress, node.admin = f"http://{host}:{node.ingress_port}", f"http://{host}:{node.admin_port}"
            node.metrics = f"http://{host}:{node.node_port}/metrics"
            node.config.write_text(CLUSTER.format(
                number=node.number, data=node.folder / "data", address=host, port=node.node_port, admin=node.admin_port,
                ingress=node.ingress_port, addresses=", ".join(fabric), is_first=str(node.number == 1).lower(), identity=identity))

    @property
    def ingress(self):
        return ",".join(self.place.outer(node)[0] for node in self.nodes)

    @property
    def admin(self):
        return ",".join(self.place.outer(node)[1] for node in self.nodes)

    def start(self):
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda node: node.start(), self.nodes))
        self.until_settled()
        if isinstance(self.place, CableNetwork):
            self.key = re.search(r"publickeyv1_\w+", (self.nodes[0].folder / "log").read_text())[0]
        return self

    def until_settled(self):
        """Waits until every node answers questions about all partitions."""
        for _ in range(SECONDS * 10):
            try:
                for node in self.nodes:
                    node.query("select count(1) as n from sys_invocation")
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("the cluster does not settle:\n" + self.said())

    def leader(self):
        """The node that leads most partitions, among those that answer."""
        def led(node):
            try:
                with urllib.request.urlopen(node.metrics, timeout=2) as answer:
                    found = re.search(r"^restate_num_active_partition_leaders(?:\{[^}]*\})? ([0-9.]+)", answer.read().decode(), re.M)
            except OSError:
                return -1
            return float(found[1]) if found else 0
        return max(self.nodes, key=led)

    def close(self):
        for node in self.nodes:
            node.close()
        self.place.close()

    def said(self):
        return "\n".join(f"--- {node.name}\n{node.said()}" for node in self.nodes)

    def stuck(self):
        for node in self.nodes:
            try:
                return node.stuck()
            except OSError:
                continue
        return [{"target": "the cluster", "status": "does not answer"}]

    def send(self, service, run, handler, given, key):
        """Whether an ingress has accepted an input, without waiting for what is decided about it."""
        body = {"at": int(time.time() * 1000), "input": given}
        for node in self.nodes:
            try:
                status, _ = post(f"{node.ingress}/{service}/{run}/{handler}/send", body, {"idempotency-key": key}, timeout=5)
                return 200 <= status < 300
            except OSError:
                continue
        return False
