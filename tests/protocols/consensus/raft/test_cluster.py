"""Raft servers and clients together: elections, replication, crashes, partitions."""

from __future__ import annotations

from typing import Any

from protocols.api import MS, SECOND
from protocols.client import ok
from protocols.consensus.raft.admin import TransferLeadership
from protocols.consensus.raft.configuration import AddVoter, Remove
from protocols.consensus.raft.entries import Entry
from protocols.consensus.raft.membership import ChangeMembership
from protocols.consensus.raft.server import Role
from protocols.machines.kv import Append, Cas, Get, Put
from protocols.values import Log
from sim import faults as f
from sim.wire_faults import Cut
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
    unanswered: Any = read.outcome
    assert unanswered is None
    assert raft[old].role is not Role.LEADER  # CheckQuorum
    raft.run(end + SECOND)
    assert read.outcome == ok(2)
    assert {raft[node].machine.items["x"] for node in raft.servers} == {2}
    raft.safety.check(raft.servers)


def test_leadership_is_transferred_within_an_election_timeout() -> None:
    """§3.10 of the dissertation: no request fails, only some wait."""
    raft = Raft(3)
    raft.ask(Put("x", 1))
    old = raft.leader()
    target = next(node for node in raft.servers if node != old)
    begun = raft.cluster.now
    assert raft.operate(old, TransferLeadership(target)) == ok()
    assert raft.cluster.now - begun <= 20 * MS
    assert raft.leader() == target
    assert raft.ask(Get("x")) == ok(1)


def test_servers_join_and_leave_while_clients_write() -> None:
    """§4.2.1, §4.3: three servers become three others, the leader among those that leave."""
    raft = Raft(3, more=2, snapshot_every=5)
    for number in range(8):
        raft.ask(Append("x", f"<{number}>"))
    old = raft.leader()
    change = ChangeMembership((AddVoter("n4"), AddVoter("n5"), Remove(old)))
    for number in range(8, 12):
        raft.cluster.invoke("c1", Append("x", f"<{number}>"))
    assert raft.operate(old, change) == ok()
    raft.cluster.crash(old)
    staying = tuple(node for node in raft.everybody if node != old)
    assert raft.ask(Append("x", "<12>"), within_us=5 * SECOND).kind == "ok"
    assert raft[raft.leader()].configuration.members() == staying
    check_appends(raft, "x")
    raft.run_for(SECOND)
    raft.safety.check(staying)
    assert len({raft[node].last_applied for node in staying}) == 1


def test_a_slow_follower_gets_the_snapshot_from_a_new_leader_too() -> None:
    """S63: the leader that compacted dies; the next one has its own snapshot."""
    raft = Raft(3, snapshot_every=4, chunk=1)
    raft.ask(Append("x", "<0>"))
    old = raft.leader()
    slow, other = (node for node in raft.servers if node != old)
    raft.cluster.crash(slow)
    for number in range(1, 10):
        raft.ask(Append(f"k{number}", f"<{number}>"))
    raft.cluster.crash(old)
    raft.cluster.recover(slow)
    assert raft.ask(Append("x", "<a>"), within_us=5 * SECOND).kind == "ok"
    assert raft.leader() == other
    raft.run_for(100 * MS)
    assert raft[slow].snapshot_index > 0
    assert raft[slow].machine == raft[other].machine


def with_logs(raft: Raft, terms: dict[str, tuple[int, ...]]) -> None:
    """Give the servers logs and terms before anything happens."""
    for node, given in terms.items():
        raft[node].log = Log([Entry(term, Put("x", at)) for at, term in enumerate(given)])
        raft[node].current_term = given[-1]


def test_pre_votes_find_a_leader_when_half_have_longer_logs_and_half_later_terms() -> None:
    """S31: a refused pre-vote tells the term, so the right half can go beyond it."""
    raft = Raft(6, clients=0)
    old = {"n1": (1, 1, 1), "n2": (1, 1, 1), "n3": (1, 1, 1)}
    with_logs(raft, {**old, "n4": (1, 4), "n5": (1, 4), "n6": (1, 4)})
    raft.run(3 * SECOND)
    (leader,) = raft.leaders()
    assert leader in ("n4", "n5", "n6")  # the later last term wins


def partly_connected(raft: Raft) -> None:
    """Servers 1, 2, 3 reach each other; 4 reaches only 2, and 5 only 3 (S33)."""
    links = {("n4", "n2"), ("n5", "n3"), ("n1", "n2"), ("n1", "n3"), ("n2", "n3")}
    links |= {(b, a) for a, b in links}
    servers = frozenset(raft.servers)
    cut = Cut(lambda a, b: a in servers and b in servers and (a, b) not in links)
    raft.cluster.network.rules.append(cut)


def test_a_leader_stays_although_two_servers_do_not_reach_it() -> None:
    """S33: PreVote, CheckQuorum and restraint together keep it; without them terms grow."""
    raft = Raft(5, clients=0)
    partly_connected(raft)
    raft.run(3 * SECOND)
    calm = max(raft[node].current_term for node in raft.servers)
    raft.run(13 * SECOND)
    assert max(raft[node].current_term for node in raft.servers) <= calm + 1
    off: dict[str, Any] = {"pre_vote": False, "check_quorum": False, "sticky_leader": False}
    raft = Raft(5, clients=0, **off)
    partly_connected(raft)
    raft.run(13 * SECOND)
    assert max(raft[node].current_term for node in raft.servers) > 10
