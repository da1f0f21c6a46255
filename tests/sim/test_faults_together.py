"""Faults that overlap, and faults at the edges of a step: what a review of the simulator found."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

from protocols.api import MS, SECOND, Context, NodeId, durable, message, on, process, volatile
from scenarios.loader import from_value
from scenarios.runner import run_scenario
from sim import faults as f
from sim.clocks import NodeClock
from sim.cluster import Cluster
from sim.inject import Injector
from sim.latency import Constant
from sim.links import LinkSpec
from sim.node import RunError
from sim.topology import Topology
from sim.trace import Recorder
from tests.sim.talkers import Ping, mesh, nodes, talkers
from tests.sim.test_inject import at
from tests.sim.test_network import Item, got, sinks


@message
class Ask:
    number: int = 0


@message
class Vote:
    given: str


@process
class Voter:
    """Votes for the first who asks, and says for whom it voted."""

    me: NodeId
    voted: str = durable("")
    heard: tuple[str, ...] = volatile(())

    @on(Ask)
    def receive_ask(self, ctx: Context, src: NodeId, m: Ask) -> None:
        self.voted = self.voted or src
        ctx.send(src, Vote(self.voted))

    @on(Vote)
    def receive_vote(self, ctx: Context, src: NodeId, m: Vote) -> None:
        self.heard = (*self.heard, m.given)


def voters(sync_us: int = 0) -> Cluster:
    cluster = Cluster(seed=1, topology=mesh(3, Constant(MS)))
    for node in nodes(3):
        made = cluster.add(node, Voter(me=node))
        if sync_us:
            made.own_disk().sync_us = lambda: sync_us
    return cluster


def ask(cluster: Cluster, src: str, at_us: int) -> None:
    cluster.engine.call_at(at_us, lambda _: cluster.nodes[src].ctx.send("n1", Ask()), None)


def test_what_escapes_rests_on_synced_writes_and_leaves_in_order() -> None:
    """§3a.3-5: the vote of the earlier step is synced before a later step's message leaves."""
    cluster = voters(sync_us=50 * MS)
    Injector(cluster, (f.Crash(at_us=15 * MS, until_us=SECOND, targets=at("n1"), escape=1),))
    cluster.start()
    ask(cluster, "n2", 0)
    ask(cluster, "n3", 20 * MS)
    cluster.run_until(2 * SECOND)
    assert cluster.nodes["n2"].process.heard == ("n2",)
    assert cluster.nodes["n3"].process.heard == ("n2",)
    assert cluster.nodes["n1"].process.voted == "n2"


def test_a_watcher_sees_the_step_in_which_a_node_crashes() -> None:
    cluster = voters()
    seen: list[str] = []
    cluster.nodes["n1"].watch = lambda node: seen.append(node.process.voted)
    Injector(cluster, (f.Crash(at_us=0, targets=at("n1"), escape=1),))
    cluster.start()
    cluster.recover("n1")
    ask(cluster, "n2", 5 * MS)
    cluster.run_until(SECOND)
    assert cluster.nodes["n1"].process.voted in ("", "n2")
    assert len(seen) >= 1


def up_at(end: int, *plan: f.Fault) -> tuple[Cluster, list[int]]:
    cluster = talkers(mesh(2))
    injector = Injector(cluster, plan)
    cluster.start()
    cluster.run_until(end)
    return cluster, [usage.touched for usage in injector.settle()]


def test_the_end_of_one_crash_does_not_undo_another() -> None:
    n1 = at("n1")
    first = f.Crash(at_us=SECOND, until_us=5 * SECOND, targets=n1)
    cluster, _ = up_at(
        6 * SECOND,
        first,
        f.Recover(at_us=2 * SECOND, targets=n1),
        f.Crash(at_us=3 * SECOND, targets=n1),
    )
    assert not cluster.nodes["n1"].up
    cluster, _ = up_at(
        7 * SECOND, first, f.Crash(at_us=2 * SECOND, until_us=8 * SECOND, targets=n1)
    )
    assert not cluster.nodes["n1"].up
    cluster.run_until(9 * SECOND)
    assert cluster.nodes["n1"].up
    loop = f.CrashLoop(at_us=SECOND, until_us=5 * SECOND, targets=n1, up_us=SECOND, down_us=SECOND)
    cluster, _ = up_at(9 * SECOND, loop, f.Crash(at_us=1400 * MS, targets=n1))
    assert not cluster.nodes["n1"].up


def test_the_end_of_one_pause_does_not_undo_another() -> None:
    n1 = at("n1")
    cluster, _ = up_at(
        6 * SECOND,
        f.Pause(at_us=SECOND, until_us=5 * SECOND, targets=n1),
        f.Resume(at_us=2 * SECOND, targets=n1),
        f.Pause(at_us=3 * SECOND, until_us=8 * SECOND, targets=n1),
    )
    assert cluster.nodes["n1"].paused
    cluster.run_until(9 * SECOND)
    assert not cluster.nodes["n1"].paused


def test_a_crash_ends_a_pause_and_loses_what_waited() -> None:
    cluster, _ = up_at(
        4 * SECOND,
        f.Pause(at_us=SECOND, until_us=6 * SECOND, targets=at("n1")),
        f.Crash(at_us=2 * SECOND, until_us=3 * SECOND, targets=at("n1")),
    )
    assert cluster.nodes["n1"].process.boots == 2
    assert cluster.network.drops()["crashed before handling it"] > 5


def test_one_escape_does_not_disarm_another() -> None:
    n1 = at("n1")
    _, touched = up_at(
        5 * SECOND,
        f.Crash(at_us=SECOND, until_us=SECOND + 1, targets=n1, escape=0),
        f.Crash(at_us=SECOND, until_us=2 * SECOND, targets=n1, escape=0),
    )
    assert touched[1] == 1


def test_a_paused_node_sends_nothing() -> None:
    """What a slow disk has synced during the pause leaves when the node goes on."""
    cluster = voters(sync_us=50 * MS)
    Injector(cluster, (f.Pause(at_us=15 * MS, until_us=SECOND, targets=at("n1")),))
    cluster.start()
    ask(cluster, "n2", 0)
    cluster.run_until(SECOND - 1)
    assert cluster.nodes["n2"].process.heard == ()
    cluster.run_until(SECOND + 2 * MS)
    assert cluster.nodes["n2"].process.heard == ("n2",)


def routed() -> Cluster:
    return sinks(
        Topology.from_graph(nx.path_graph(["n1", "n2", "n3"]), LinkSpec(Constant(5 * MS)), "hops")
    )


@pytest.mark.parametrize("link", [("n1", "n2"), ("n2", "n3")])
def test_a_held_hop_goes_on_to_the_right_node(link: tuple[str, str]) -> None:
    cluster = routed()
    hold = f.Hold(at_us=0, until_us=50 * MS, src=at(link[0]), dst=at(link[1]))
    Injector(cluster, (hold,))
    cluster.nodes["n1"].ctx.send("n3", Item(7))
    cluster.run_until(SECOND)
    assert [number for _, number in got(cluster, "n3")] == [7]
    assert got(cluster, "n2") == []
    assert 50 * MS <= got(cluster, "n3")[0][0] <= 60 * MS


def test_what_happens_on_a_later_hop_reads_back(tmp_path: Any) -> None:
    from sim.trace_read import read_trace

    topology = Topology.from_graph(
        nx.path_graph(["n1", "n2", "n3"]), LinkSpec(Constant(5 * MS)), "hops"
    )
    header = {"version": "0", "name": "x", "scenario": None, "seed": 1, "nodes": list(nodes(3)),
              "parameters": {}, "plan": [], "code": "0"}  # fmt: skip
    cluster = Cluster(seed=1, topology=topology, recorder=Recorder(header))
    talker = type(talkers(mesh(1)).nodes["n1"].process)
    for node in nodes(3):
        cluster.add(node, talker(me=node, peers=("n3",) if node == "n1" else ()))
    Injector(cluster, (f.Link(at_us=0, src=at("n2"), dst=at("n3"), loss=1.0),))
    cluster.start()
    cluster.run_until(SECOND)
    assert cluster.recorder is not None
    cluster.recorder.write(tmp_path / "t.jsonl", cluster.now)
    drops = [e for e in read_trace(tmp_path / "t.jsonl").events if e["kind"] == "drop"]
    assert drops
    assert {(e["src"], e["node"], tuple(e["hop"])) for e in drops} == {("n1", "n3", ("n2", "n3"))}


def test_held_messages_and_duplicates_keep_the_order_of_a_fifo_link() -> None:
    cluster = sinks(Topology.full_mesh(nodes(2), LinkSpec(Constant(10 * MS), fifo=True)))
    hold = f.Hold(at_us=5 * MS, until_us=50 * MS, src=at("n1"), dst=at("n2"))
    Injector(cluster, (hold,))
    for number, when in ((1, 0), (2, 6 * MS)):
        cluster.engine.call_at(when, lambda n: cluster.nodes["n1"].ctx.send("n2", Item(n)), number)
    cluster.run_until(SECOND)
    assert [number for _, number in got(cluster)] == [1, 2]


def test_drifts_that_add_up_never_stop_the_clock() -> None:
    clock = NodeClock()
    clock.drift(0, -600_000)
    clock.drift(0, -600_000)
    assert clock.local(10 * SECOND) >= 0
    assert clock.true_delay(1) > 0
    clock.drift(0, 600_000)
    assert clock.local(10 * SECOND) == 4 * SECOND


def test_the_direct_path_refuses_mutable_fields_too() -> None:
    @process
    class Careless:
        me: NodeId
        items: Any = volatile(())

        @on(Ping)
        def receive_ping(self, ctx: Context, src: NodeId, m: Ping) -> None:
            self.items = [m.number]

    cluster = Cluster(seed=1, topology=mesh(1))
    cluster.add("n1", Careless(me="n1"))
    cluster.start()
    with pytest.raises(RunError, match=r"Careless\.items = \[1\]: a list is mutable"):
        for _ in range(20):
            cluster.nodes["n1"].ctx.send("n1", Ping(1))
        cluster.run_until(SECOND)


def test_a_fault_without_end_is_not_over_when_it_begins() -> None:
    raw = {
        "name": "endless",
        "title": "A partition that never heals",
        "protocol": "heartbeat",
        "parameters": {"detectors": {"fixed": {"use": "fixed", "timeout": "3s"}}},
        "nodes": 3,
        "faults": [{"at": "10s", "partition": [["n1"], ["n2", "n3"]]}],
        "checks": [{"eventual-strong-accuracy": {"bound": "10s"}}],
        "duration": "60s",
    }
    assert run_scenario(from_value(raw), 1).verdict.verdict == "unknown"
