"""Size: heartbeats on a random 8-regular graph from 10 to 10,000 nodes, a rumor to 100,000."""

from __future__ import annotations

import subprocess
import sys
import time

from benchmarks import Row

HEARTBEATS = """
import sys, time, resource
import networkx as nx
from protocols.api import SECOND
from protocols.detectors.catalogue import detectors
from protocols.detectors.heartbeat import PushHeartbeat
from sim.cluster import Cluster
from sim.latency import Uniform
from sim.links import LinkSpec
from sim.topology import Topology
count, seconds = int(sys.argv[1]), int(sys.argv[2])
graph = nx.random_regular_graph(8, count, seed=1)
graph = nx.relabel_nodes(graph, {i: f"n{i}" for i in graph})
topology = Topology.from_graph(graph, LinkSpec(Uniform(5_000, 50_000), loss=0.01))
cluster = Cluster(seed=1, topology=topology)
hosted = detectors({"fixed": {"kind": "fixed", "timeout_us": 5 * SECOND}})
for node in topology.nodes:
    peers = topology.neighbours(node)
    cluster.add(node, PushHeartbeat(me=node, peers=peers, detectors=hosted))
cluster.start()
cluster.run_until(2 * SECOND)  # all have started and heard each other
before = cluster.delivered
began = time.process_time()
cluster.run_until((2 + seconds) * SECOND)
spent = time.process_time() - began
messages = cluster.delivered - before
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(messages, spent, peak)
"""

RUMOR = """
import sys, time, resource
from protocols.api import MS, SECOND
from protocols.dissemination.rumor import RumorMongering
from sim.cluster import Cluster
from sim.latency import Constant
from sim.links import LinkSpec
from sim.topology import Topology
from scenarios import registry
count = int(sys.argv[1])
nodes = tuple(f"n{i}" for i in range(count))
topology = Topology.full_mesh(nodes, LinkSpec(Constant(5 * MS)))
protocol = registry.resolve("rumor")
make = registry.bind(protocol, {"mode": "push", "k": 3, "removal": "blind"}, nodes, topology)
cluster = Cluster(seed=1, topology=topology)
for node in nodes:
    cluster.add(node, make(node))
learned = [0]
def note(t, n, o):
    if type(o).__name__ == "Learned":
        learned[0] += 1
cluster.observers.append(note)
began = time.process_time()
cluster.start()
from protocols.dissemination.rumor_messages import Publish
cluster.engine.call_at(1, lambda _: cluster.invoke("n0", Publish("r")), None)
cluster.run_until(120 * SECOND)
spent = time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(learned[0], spent, peak, cluster.network.sent)
"""


def _run(code: str, *args: int) -> list[float]:
    """Run in a process of its own, so that its peak memory is its own; the figures it prints."""
    command = [sys.executable, "-c", code, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return [float(part) for part in done.stdout.split()]


def run(smoke: bool) -> list[Row]:
    """Rows: cost per message by number of nodes, memory, and the rumor."""
    rows = []
    costs = {}
    sizes = (10, 100) if smoke else (10, 100, 1_000, 10_000)
    for count in sizes:
        seconds = 3 if smoke else {10: 600, 100: 120, 1_000: 60, 10_000: 6}[count]
        wall = time.perf_counter()
        messages, spent, peak = _run(HEARTBEATS, count, seconds)
        costs[count] = spent / messages * 1e6
        note = f"{messages:,.0f} messages, {spent:.1f} s, peak {peak:.0f} MiB"
        if count == 1_000:
            note += f", {time.perf_counter() - wall:.0f} s of wall time for {seconds} s simulated"
        rows.append(
            Row(f"heartbeats, {count:,} nodes, 8 neighbours", costs[count], "µs/message", note=note)
        )
    low, high = min(costs.values()), max(costs.values())
    middle = (low + high) / 2
    spread = (high - low) / 2 / middle * 100
    rows.append(Row("spread of cost per message", spread, "± %", target="≤ 25", ok=spread <= 25))
    count = 1_000 if smoke else 100_000
    wall = time.perf_counter()
    learned, spent, peak, sent = _run(RUMOR, count)
    wall = time.perf_counter() - wall
    note = f"{sent:,.0f} messages, peak {peak:.0f} MiB, {wall:.0f} s of wall time"
    rows.append(Row(f"a push rumor among {count:,} nodes", spent, "s", note=note))
    share = learned / count
    rows.append(Row("nodes reached", share, "share", target="≥ 0.9", ok=share >= 0.9))
    return rows
