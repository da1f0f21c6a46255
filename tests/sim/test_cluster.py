"""One step, exactly: what reaches a node when, in which order, and what a crash leaves."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.api import (
    MS,
    SECOND,
    Context,
    NodeId,
    message,
    on,
    on_timer,
    process,
    timer,
    volatile,
)
from sim.cluster import Cluster
from sim.node import RunError
from tests.sim.talkers import Due, Heard, Ping, Say, mesh, nodes, talkers


def test_a_message_arrives_after_the_latency_and_is_answered() -> None:
    cluster = talkers(mesh(2))
    heard: list[tuple[int, NodeId, Any]] = []
    cluster.observers.append(lambda t, n, o: heard.append((t, n, o)))
    cluster.start()
    cluster.run_until(SECOND)
    first = {n: next(t for t, m, _ in heard if m == n) for n in ("n1", "n2")}
    # Each talker pings every 100 ms from a start drawn in 0..100 ms; a ping takes 5 ms.
    pings = sum((SECOND - 5 * MS - (t - 5 * MS)) // (100 * MS) + 1 for t in first.values())
    assert len(heard) == pings
    pongs = sum(node.process.pongs for node in cluster.nodes.values())
    late = sum(1 for t, _, _ in heard if t + 5 * MS > SECOND)
    assert pongs == pings - late


def test_events_up_to_and_including_the_end_are_processed() -> None:
    cluster = talkers(mesh(2))
    cluster.start()
    due = [cluster.nodes[n].timers[Due()].due for n in ("n1", "n2")]
    cluster.run_until(min(due) - 1)
    assert cluster.network.sent == 0
    cluster.run_until(min(due))
    assert cluster.network.sent == 1
    assert cluster.now == min(due)


@timer
class Alarm:
    name: str


@message
class Poke:
    pass


@process
class Alarms:
    me: NodeId
    rung: tuple[str, ...] = volatile(())

    def on_start(self, ctx: Context) -> None:
        ctx.set_timer(Alarm("a"), after=10 * MS)
        ctx.set_timer(Alarm("b"), after=10 * MS)
        ctx.set_timer(Alarm("c"), after=20 * MS)
        ctx.set_timer(Alarm("a"), after=10 * MS)  # replaces: now behind b
        ctx.set_timer(Alarm("late"), after=50 * MS)
        ctx.set_timer(Alarm("late"), after=5 * MS)  # earlier than before
        ctx.set_timer(Alarm("gone"), after=1 * MS)
        ctx.cancel_timer(Alarm("gone"))
        ctx.cancel_timer(Alarm("never set"))

    @on_timer(Alarm)
    def ring(self, ctx: Context, t: Alarm) -> None:
        self.rung = (*self.rung, t.name)
        if t.name == "b":
            ctx.set_timer(Alarm("c"), after=100 * MS)  # moves c from 20 to 110 ms

    @on(Poke)
    def receive_poke(self, ctx: Context, src: NodeId, m: Poke) -> None:
        self.rung = (*self.rung, "poke")


def one(process_: Any) -> Cluster:
    cluster = Cluster(seed=1, topology=mesh(1))
    cluster.add("n1", process_)
    return cluster


def test_equal_timers_replace_each_other_and_ties_go_by_the_last_setting() -> None:
    cluster = one(Alarms(me="n1"))
    cluster.start()
    cluster.run_until(30 * MS)
    assert cluster.nodes["n1"].process.rung == ("late", "b", "a")
    cluster.run_until(110 * MS)
    assert cluster.nodes["n1"].process.rung == ("late", "b", "a", "c")
    cluster.run_until(SECOND)
    assert len(cluster.nodes["n1"].process.rung) == 4


def test_a_paused_node_catches_up_in_order() -> None:
    cluster = one(Alarms(me="n1"))
    cluster.start()
    cluster.pause("n1")
    cluster.run_until(7 * MS)
    cluster.nodes["n1"].ctx.send("n1", Poke())  # to itself: arrives at once
    cluster.run_until(40 * MS)
    assert cluster.nodes["n1"].process.rung == ()
    cluster.resume("n1")
    # Due while paused: late 5, poke 7, b and a 10, c 20; b moves c away before its turn.
    assert cluster.nodes["n1"].process.rung == ("late", "poke", "b", "a")
    cluster.run_until(140 * MS)
    assert cluster.nodes["n1"].process.rung[-1] == "c"


def test_a_crash_loses_memory_timers_and_inbox_but_not_the_disk() -> None:
    cluster = talkers()
    cluster.start()
    cluster.run_until(500 * MS)
    seen = list(cluster.nodes["n1"].process.seen)
    assert seen
    assert cluster.crash("n1")
    assert not cluster.crash("n1")
    node = cluster.nodes["n1"]
    assert (node.process.pongs, len(node.timers), list(node.process.seen)) == (0, 0, seen)
    cluster.run_until(700 * MS)
    assert list(node.process.seen) == seen
    assert cluster.network.drops()["destination down"] > 0
    assert cluster.recover("n1")
    assert node.process.boots == 2
    cluster.run_until(SECOND)
    assert len(node.process.seen) > len(seen)


def test_service_time_lets_events_wait_and_slows_the_node() -> None:
    def pongs(service_us: int) -> int:
        cluster = talkers(mesh(2))
        if service_us:
            for node in cluster.nodes.values():
                node.service = lambda: service_us
        cluster.start()
        cluster.run_until(SECOND)
        return sum(n.process.pongs for n in cluster.nodes.values())

    assert pongs(0) == pongs(100) > pongs(60 * MS) > 0


def test_a_pause_in_the_middle_of_a_slow_step_starts_it_again() -> None:
    cluster = one(Alarms(me="n1"))
    cluster.nodes["n1"].service = lambda: 4 * MS
    cluster.start()
    cluster.run_until(2 * MS)
    cluster.pause("n1")
    cluster.run_until(20 * MS)
    assert cluster.nodes["n1"].timers == {}  # on_start has not run
    cluster.resume("n1")
    cluster.run_until(40 * MS)
    assert cluster.nodes["n1"].process.rung


def test_operations_are_recorded_with_their_outcome() -> None:
    cluster = talkers()
    cluster.start()
    cluster.run_until(300 * MS)
    cluster.invoke("n2", Say("hi"))
    cluster.crash("n3")
    cluster.invoke("n3", Say("ho"))
    first, second = cluster.history
    assert first.outcome is not None and first.outcome.kind == "ok"
    assert (first.invoked_us, first.completed_us) == (300 * MS, 300 * MS)
    assert second.outcome is not None
    assert (second.outcome.kind, second.outcome.value) == ("fail", "n3 is down")


def test_nodes_join_and_leave_a_running_cluster() -> None:
    cluster = talkers(mesh(2))
    cluster.start()
    cluster.run_until(300 * MS)
    talker = type(cluster.nodes["n1"].process)
    cluster.join("n9", talker(me="n9", peers=("n1", "n2")))
    cluster.run_until(600 * MS)
    assert cluster.nodes["n1"].process.last["n9"] == 1
    assert cluster.nodes["n9"].process.pongs > 0
    cluster.leave("n9")
    sent = cluster.network.sent
    cluster.run_until(900 * MS)
    assert cluster.network.sent > sent
    assert "n9" not in cluster.nodes
    with pytest.raises(ValueError, match="already"):
        cluster.add("n1", talker(me="n1", peers=()))
    with pytest.raises(ValueError, match="no node 'n8'"):
        cluster.crash("n8")


def test_a_clock_offset_shows_in_now_and_drift_also_in_timers() -> None:
    cluster = talkers(mesh(2), every_us=SECOND)
    local: list[tuple[int, int]] = []

    def note(t: int, n: NodeId, o: Any) -> None:
        if isinstance(o, Heard) and n == "n2":
            local.append((t, o.local))

    cluster.observers.append(note)
    clock = cluster.nodes["n2"].own_clock()
    clock.step(0, 7 * SECOND)
    clock.drift(0, 100_000)  # gains 10 %
    cluster.start()
    cluster.run_until(20 * SECOND)
    for t, shown in local:
        assert shown == 7 * SECOND + t + t // 10
    # n2's own period of 1 s of its clock is 1 / 1.1 s of true time.
    sent = cluster.nodes["n1"].process.last["n2"]
    assert sent == 1
    assert len(cluster.nodes["n1"].process.seen) in (21, 22)


def test_a_bug_in_a_handler_names_node_time_event_and_seed() -> None:
    @process
    class Broken:
        me: NodeId

        def on_start(self, ctx: Context) -> None:
            ctx.set_timer(Due(), after=3 * MS)

        @on_timer(Due)
        def tick(self, ctx: Context, t: Due) -> None:
            raise KeyError("oops")

    cluster = one(Broken(me="n1"))
    cluster.start()
    with pytest.raises(RunError, match=r"KeyError: 'oops' \(node n1, t = 3000 µs, seed 1, at Fire"):
        cluster.run_until(SECOND)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_message_without_handler_or_to_nowhere_is_an_error(recorded: bool) -> None:
    from sim.trace import Recorder

    @process
    class Lost:
        me: NodeId
        to: NodeId

        def on_start(self, ctx: Context) -> None:
            ctx.send(self.to, Ping(1))

    for to, says in (("n1", "no handler for the message Ping"), ("n7", "unknown node 'n7'")):
        cluster = Cluster(seed=1, topology=mesh(1))
        if recorded:
            cluster.record(Recorder())
        cluster.add("n1", Lost(me="n1", to=to))
        with pytest.raises(RunError, match=says):
            cluster.start()
            cluster.run_until(SECOND)


def test_random_ties_change_the_order_but_not_the_draws() -> None:
    def order(random_ties: bool, seed: int) -> tuple[str, ...]:
        cluster = Cluster(seed=seed, topology=mesh(1), random_ties=random_ties)
        cluster.add("n1", Alarms(me="n1"))
        cluster.start()
        cluster.run_until(30 * MS)
        rung: tuple[str, ...] = cluster.nodes["n1"].process.rung
        return rung

    assert order(False, 1) == order(False, 2) == ("late", "b", "a")
    both = {("late", "b", "a"), ("late", "a", "b")}
    assert {order(True, seed) for seed in range(20)} == both
    assert order(True, 5) == order(True, 5)


def test_nodes_are_numbered_in_order() -> None:
    assert nodes(3) == ("n1", "n2", "n3")
