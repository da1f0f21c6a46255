"""What links do to messages: latency, loss, bandwidth, order, hops, rules."""

from __future__ import annotations

import networkx as nx
import pytest

from protocols.api import MS, SECOND, Context, NodeId, message, on, process, volatile
from sim.cluster import Cluster
from sim.latency import Constant, Exponential, Uniform
from sim.links import GilbertElliott, LinkSpec
from sim.rules import PASS, CallableRule, Deliver, Drop, Duplicate, Envelope, Stage, Verdict
from sim.topology import Topology
from tests.sim.talkers import nodes


@message
class Item:
    number: int


@message
class Big:
    number: int
    size_bytes: int = 1208


@process(clock=True)
class Sink:
    """Remembers when which number arrived."""

    me: NodeId
    got: tuple[tuple[int, int], ...] = volatile(())

    @on(Item, Big)
    def receive_item(self, ctx: Context, src: NodeId, m: Item) -> None:
        self.got = (*self.got, (ctx.now(), m.number))


def sinks(topology: Topology, seed: int = 1) -> Cluster:
    cluster = Cluster(seed=seed, topology=topology)
    for node in topology.nodes:
        cluster.add(node, Sink(me=node))
    cluster.start()
    return cluster


def pair(**link: object) -> Cluster:
    link.setdefault("latency", Constant(10 * MS))
    return sinks(Topology.full_mesh(nodes(2), LinkSpec(**link)))  # type: ignore[arg-type]


def send(
    cluster: Cluster, count: int, every_us: int = 0, dst: str = "n2", cls: type = Item
) -> None:
    """n1 sends 0 … count-1, ``every_us`` apart, and the run goes on until all have arrived."""
    for number in range(count):
        at = cluster.now + number * every_us
        cluster.engine.call_at(at, lambda n: cluster.nodes["n1"].ctx.send(dst, cls(n)), number)
    cluster.run_until(cluster.now + count * every_us + 60 * SECOND)


def got(cluster: Cluster, node: str = "n2") -> list[tuple[int, int]]:
    return list(cluster.nodes[node].process.got)


def test_latency_and_loss() -> None:
    cluster = pair(loss=0.25)
    send(cluster, 4000, MS)
    # Binomial(4000, 0.75): sd 27.4, five of them are 137.
    assert abs(len(got(cluster)) - 3000) < 137
    assert cluster.network.drops() == {"loss": 4000 - len(got(cluster))}
    assert all(at - number * MS == 10 * MS for at, number in got(cluster))


def test_burst_loss_comes_in_bursts() -> None:
    cluster = pair(burst=GilbertElliott(0.01, 0.1))
    send(cluster, 20_000, MS)
    arrived = {number for _, number in got(cluster)}
    lost = [n for n in range(20_000) if n not in arrived]
    bursts = sum(1 for n in lost if n - 1 in arrived or n == 0)
    # Mean burst length is 1 / 0.1; about 180 bursts, each geometric with sd 9.5: 5 sd is 3.5.
    assert abs(len(lost) / bursts - 10) < 3.5


def test_bandwidth_makes_messages_queue_and_a_full_queue_drops() -> None:
    # 1208 + 42 bytes at 1 Mbit/s take 10 ms each.
    cluster = pair(bandwidth_bps=1_000_000)
    send(cluster, 5, cls=Big)
    assert [at for at, _ in got(cluster)] == [20 * MS + n * 10 * MS for n in range(5)]
    short = pair(bandwidth_bps=1_000_000, queue_bytes=2500)
    send(short, 5, cls=Big)
    assert [n for _, n in got(short)] == [0, 1, 2]
    assert short.network.drops() == {"queue full": 2}


@pytest.mark.parametrize("fifo", [False, True])
def test_links_may_reorder_unless_declared_fifo(fifo: bool) -> None:
    cluster = pair(latency=Uniform(1, 50 * MS), fifo=fifo)
    send(cluster, 300, MS)
    numbers = [number for _, number in got(cluster)]
    assert len(numbers) == 300
    assert (numbers == sorted(numbers)) == fifo


def test_duplicates_and_reordering_of_the_link() -> None:
    cluster = pair(duplicate=0.5)
    send(cluster, 1000, MS)
    # Binomial(1000, 0.5): sd 15.8.
    assert abs(len(got(cluster)) - 1500) < 80
    assert cluster.network.duplicated == len(got(cluster)) - 1000
    cluster = pair(reorder=0.2)
    send(cluster, 500, MS)
    numbers = [number for _, number in got(cluster)]
    assert len(numbers) == 500
    assert numbers != sorted(numbers)


def test_corruption_is_detected_or_delivered() -> None:
    cluster = pair(corrupt=1.0)
    send(cluster, 100, MS)
    assert cluster.network.drops() == {"corrupt": 100}
    cluster = pair(corrupt=1.0, corrupt_mode="deliver")
    send(cluster, 100, MS)
    assert len(got(cluster)) == 100
    sent = list(range(100))
    assert all(at // MS - 10 != n for (at, n) in got(cluster))
    assert sorted(n for _, n in got(cluster)) != sent


def line(mode: str, **link: object) -> Cluster:
    graph = nx.path_graph(4)
    graph = nx.relabel_nodes(graph, {i: f"n{i + 1}" for i in range(4)})
    link.setdefault("latency", Constant(10 * MS))
    return sinks(Topology.from_graph(graph, LinkSpec(**link), mode))  # type: ignore[arg-type]


def test_without_a_link_nothing_arrives() -> None:
    cluster = line("links")
    send(cluster, 3, MS, dst="n4")
    assert cluster.network.drops() == {"no link": 3}
    send(cluster, 3, MS, dst="n2")
    assert len(got(cluster, "n2")) == 3


def test_hop_by_hop_adds_latencies_and_losses() -> None:
    cluster = line("hops")
    send(cluster, 3, MS, dst="n4")
    assert [at for at, _ in got(cluster, "n4")] == [30 * MS, 31 * MS, 32 * MS]
    lossy = line("hops", loss=0.2)
    send(lossy, 4000, MS, dst="n4")
    # 0.8^3 = 0.512: sd 31.6, five of them are 158.
    assert abs(len(got(lossy, "n4")) - 4000 * 0.512) < 158


def test_hops_pass_through_nodes_that_are_up_and_share_their_links() -> None:
    cluster = line("hops")
    cluster.crash("n3")
    send(cluster, 2, MS, dst="n4")
    assert cluster.network.drops() == {"relay n3 down": 2}
    shared = line("hops", bandwidth_bps=1_000_000)
    for node in ("n1", "n2"):
        shared.nodes[node].ctx.send("n4", Big(1))
    shared.run_until(SECOND)
    # n1's message reaches n2 at 20 ms, when the link n2-n3 is free again since 10 ms; both
    # then take 10 ms of sending and 10 ms of way on each hop.
    assert [at for at, _ in got(shared, "n4")] == [40 * MS, 60 * MS]


def test_a_cut_link_stops_what_is_routed_over_it() -> None:
    cluster = line("hops")
    cluster.network.rules.append(
        CallableRule(lambda e, stage: Drop("cut") if (e.src, e.dst) == ("n2", "n3") else PASS)
    )
    send(cluster, 2, MS, dst="n4")
    assert cluster.network.drops() == {"cut": 2}
    send(cluster, 2, MS, dst="n2")
    assert len(got(cluster, "n2")) == 2


def test_rules_add_up_in_order_and_are_asked_twice() -> None:
    asked: list[Stage] = []

    def later(envelope: Envelope, stage: Stage) -> Verdict:
        asked.append(stage)
        return Deliver(5 * MS) if stage == "sent" else PASS

    cluster = pair()
    cluster.network.rules += [
        CallableRule(later),
        CallableRule(lambda e, s: Deliver(MS, Item(77)) if s == "sent" else PASS),
        CallableRule(lambda e, s: Duplicate(2 * MS) if s == "sent" else PASS),
    ]
    send(cluster, 1)
    assert got(cluster) == [(16 * MS, 77), (18 * MS, 77)]
    assert asked == ["sent", "due", "due"]
    late = CallableRule(lambda e, s: Drop("late cut") if s == "due" else PASS)
    cluster.network.rules[:] = [late]
    send(cluster, 1)
    assert len(got(cluster)) == 2
    assert late.touched == 1


def test_a_node_reaches_itself_at_once_and_a_newcomer_everybody() -> None:
    cluster = pair(latency=Exponential(50 * MS), loss=0.9)
    send(cluster, 50, MS, dst="n1")
    assert len(got(cluster, "n1")) == 50
    cluster.join("n9", Sink(me="n9"))
    before = cluster.now
    cluster.nodes["n1"].ctx.send("n9", Item(1))
    cluster.run_until(before + SECOND)
    assert [number for _, number in got(cluster, "n9")] in ([1], [])
