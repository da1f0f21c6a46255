"""Raft servers and clients together: elections, replication, crashes, partitions."""

from __future__ import annotations

from protocols.api import MS, SECOND
from protocols.client import ok
from protocols.consensus.raft.server import Role
from protocols.machines.kv import Append, Cas, Get, Put
from sim import faults as f
from tests.protocols.consensus.raft.clusters import Raft, at, check_appends


def test_a_cluster_elects_one_leader_and_answers() -> None:
    raft = Raft(3)
    assert raft.ask(Put("x", 1)) == ok(None)
    assert raft.ask(Get("x")) == ok(1)
    assert raft.ask(Cas("x", 1, 2)) == ok(True)
    assert raft.ask(Cas("x", 1, 3)) == ok(False)
    assert len(raft.leaders()) == 1
    raft.run_for(100 * MS)
    values = [raft[node].machine.items["x"] for node in raft.servers]
    assert values == [2, 2, 2]
    raft.safety.check(raft.servers)


def test_one_server_alone_is_its_own_majority() -> None:
    raft = Raft(1)
    assert raft.ask(Put("x", 1)) == ok(None)
    assert raft.ask(Get("x")) == ok(1)


def test_nothing_is_lost_when_the_leader_crashes() -> None:
    raft = Raft(3)
    assert raft.ask(Append("x", "<1>")) == ok("<1>")
    old = raft.leader()
    raft.cluster.crash(old)
    assert raft.ask(Append("x", "<2>")) == ok("<1><2>")
    assert raft.leader() != old
    raft.cluster.recover(old)
    raft.run_for(SECOND)
    assert raft[old].role is Role.FOLLOWER
    assert raft[old].machine.items["x"] == "<1><2>"
    assert check_appends(raft, "x") == "<1><2>"
    raft.safety.check(raft.servers)


def test_the_majority_of_a_partition_goes_on_and_the_minority_does_not() -> None:
    """S43: a leader cut off with one other of five answers no read and commits nothing."""
    raft = Raft(5, clients=2)
    raft.ask(Put("x", 1))
    old = raft.leader()
    mate, *rest = (node for node in raft.servers if node != old)
    cut = f.Partition(at_us=0, groups=(at(old, mate, "c1"), at(*rest, "c2")))
    raft = Raft(5, clients=2)
    raft.ask(Put("x", 1))
    assert raft.leader() == old  # the same seed, the same run
    start, end = raft.cluster.now, raft.cluster.now + 3 * SECOND
    plan = (f.Partition(at_us=start, until_us=end, groups=cut.groups),)
    raft = Raft(5, clients=2, plan=plan)
    raft.ask(Put("x", 1))
    raft.invoke_at(start + 20 * MS, "c1", Get("x"))
    raft.run(start + 30 * MS)
    assert raft.ask(Put("x", 2), "c2") == ok(None)
    read = raft.cluster.history[1]
    assert isinstance(read.call, Get)
    assert read.outcome is None
    assert raft[old].role is not Role.LEADER  # CheckQuorum
    raft.run(end + SECOND)
    assert read.outcome == ok(2)
    assert {raft[node].machine.items["x"] for node in raft.servers} == {2}
    raft.safety.check(raft.servers)
