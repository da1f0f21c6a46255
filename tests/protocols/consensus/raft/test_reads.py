"""Reads without log entries: ReadIndex and leases, dissertation §6.4 and §6.4.1."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.api import MS, SECOND
from protocols.client import fail, ok
from protocols.clients.messages import Request, Response
from protocols.consensus.raft.admin import TransferLeadership
from protocols.consensus.raft.messages import (
    AppendEntries,
    AppendReply,
    ReadIndex,
    ReadIndexReply,
    RequestVote,
)
from protocols.consensus.raft.options import RaftOptions
from protocols.consensus.raft.server import Role
from protocols.consensus.raft.state import ElectionTimeout, HeartbeatDue
from protocols.machines.kv import Get
from protocols.step import Invoke, Send, step
from tests.protocols.consensus.raft.alone import (
    accept,
    append,
    crashed,
    elected,
    fire,
    hear,
    put,
    sent,
    server,
)


def get(number: int, client: str = "c1") -> Request:
    return Request(client, 1, number, Get("x"), number - 1)


def answered(number: int, value: object, client: str = "c1", leader: str = "n1") -> Send:
    return Send(client, Response(1, number, ok(value), leader))


def leader(n: int = 3, **options: Any) -> Any:
    """A leader whose no-op is committed."""
    s = elected(server(n=n, **options))
    for peer in s.others:
        accept(s, peer, 1)
    return s


def replied(s: Any, src: str, number: int, *, now_us: int = 0) -> Any:
    """Follower ``src`` replies to heartbeat round ``number``."""
    return hear(s, src, AppendReply(s.current_term, True, s.last_index, number), now_us=now_us)


# -- ReadIndex --------------------------------------------------------------------------------


def test_a_read_waits_for_a_round_of_heartbeats_begun_after_it() -> None:
    """§6.4, steps 2 to 5."""
    s = leader(5)
    beat = AppendEntries(1, 1, 1, (), 1, 1)
    assert hear(s, "c1", get(1)) == tuple(Send(peer, beat) for peer in s.others)
    assert replied(s, "n2", 0) == ()  # an answer to an older message proves nothing
    assert replied(s, "n3", 0) == ()
    assert replied(s, "n2", 1) == ()
    assert replied(s, "n3", 1) == (answered(1, None),)


def test_reads_that_come_during_a_round_share_the_next_one() -> None:
    """§6.4: one round serves any number of reads that wait for it."""
    s = leader()
    hear(s, "c1", get(1))
    assert hear(s, "c2", get(1, "c2")) == hear(s, "c3", get(1, "c3")) == ()
    effects = replied(s, "n2", 1)
    beat = AppendEntries(1, 1, 1, (), 1, 2)
    assert effects == (answered(1, None), Send("n2", beat), Send("n3", beat))
    assert replied(s, "n3", 2) == (answered(1, None, "c2"), answered(1, None, "c3"))


def test_a_read_sees_what_was_committed_before_it_came() -> None:
    s = leader()
    hear(s, "c1", put(1))
    accept(s, "n2", 2)
    hear(s, "c2", get(1, "c2"))
    assert replied(s, "n3", s.round) == (answered(1, 1, "c2"),)


def test_a_new_leader_reads_nothing_before_it_has_committed_in_its_term() -> None:
    """§6.4, step 1: it doesn't know yet what is committed."""
    s = elected(server(1))
    hear(s, "c1", get(1))
    before = AppendReply(2, True, 1, s.round)
    assert answered(1, None) not in hear(s, "n2", before)  # the round is confirmed
    assert s.confirmed_round() == 1
    effects = accept(s, "n3", 2)
    assert answered(1, 1) in effects


def test_a_leader_alone_reads_at_once() -> None:
    s = elected(server(n=1))
    assert hear(s, "c1", get(1)) == (answered(1, None),)


def test_a_leader_that_steps_down_refuses_the_reads_that_wait() -> None:
    """S43: a leader cut off answers no read; a read that is refused had no effect."""
    s = leader(follower_reads=True)
    hear(s, "c1", get(1))
    hear(s, "n3", ReadIndex(1, (1, 1)))
    refused = sent(hear(s, "n2", AppendReply(2, False, 1)))
    assert refused == [Response(1, 1, fail("not-leader")), ReadIndexReply(1, (1, 1), -1)]


def test_reads_may_go_through_the_log() -> None:
    s = leader(reads="log")
    assert len(sent(hear(s, "c1", get(1)), "n2")) == 1
    assert s.log[2].command == get(1)
    assert accept(s, "n2", 2) == (answered(1, None),)


# -- at followers -----------------------------------------------------------------------------


def follower(**options: Any) -> Any:
    s = server(1, 1, follower_reads=True, **options)
    hear(s, "n3", append(1, (2, 1), commit=1))
    return s


def test_a_follower_asks_the_leader_and_waits_until_it_has_applied_the_index() -> None:
    """§6.4: steps 1 to 3 at the leader, 4 and 5 at the follower."""
    s = follower()
    assert hear(s, "c1", get(1)) == (Send("n3", ReadIndex(1, (1, 1))),)
    assert hear(s, "n3", ReadIndexReply(1, (1, 1), 2)) == ()
    assert answered(1, 2, leader="n3") in hear(s, "n3", append(1, (2, 1), commit=2))


def test_a_leader_issues_read_indexes_like_reads() -> None:
    s = leader(5, follower_reads=True)
    hear(s, "n2", ReadIndex(1, (1, 7)))
    replied(s, "n3", 1)
    assert replied(s, "n4", 1) == (Send("n2", ReadIndexReply(1, (1, 7), 1)),)


def test_a_reply_counts_for_its_own_attempt_only() -> None:
    """S47: an old reply, delayed or from before a crash, must not grant a newer read."""
    s = follower()
    hear(s, "c1", get(1))
    fire(s, ElectionTimeout())  # gives it up
    hear(s, "n3", append(1, (2, 1)))
    assert hear(s, "c1", get(2)) == (Send("n3", ReadIndex(1, (1, 2))),)
    assert hear(s, "n3", ReadIndexReply(1, (1, 1), 1)) == ()
    s = crashed(s)
    hear(s, "n3", append(1, (2, 1), commit=1))
    assert hear(s, "c1", get(3)) == (Send("n3", ReadIndex(1, (2, 1))),)
    assert hear(s, "n3", ReadIndexReply(1, (1, 1), 1)) == ()
    assert hear(s, "n3", ReadIndexReply(1, (2, 1), 1)) == (answered(3, 1, leader="n3"),)


def test_a_follower_refuses_what_the_leader_refuses_and_what_a_lost_leader_was_asked() -> None:
    s = follower()
    hear(s, "c1", get(1))
    refused = Send("c1", Response(1, 1, fail("not-leader"), "n3"))
    assert hear(s, "n3", ReadIndexReply(1, (1, 1), -1)) == (refused,)
    hear(s, "c1", get(2))
    assert Response(1, 2, fail("not-leader"), "n3") in sent(fire(s, ElectionTimeout()))
    assert sent(hear(s, "n2", ReadIndex(1, (1, 1)))) == [ReadIndexReply(1, (1, 1), -1)]


# -- leases -----------------------------------------------------------------------------------

LEASE: dict[str, Any] = {"reads": "lease", "clock_drift_ppm": 1000}


def test_a_lease_needs_a_declared_bound_of_drift_and_restraint() -> None:
    """§6.4.1: a lease rests on both."""
    with pytest.raises(ValueError, match=r"clock_drift_ppm None: .*declare one"):
        RaftOptions(reads="lease")
    with pytest.raises(ValueError, match="sticky_leader False"):
        RaftOptions(sticky_leader=False, **LEASE)


def test_a_lease_lasts_from_the_start_of_a_confirmed_round() -> None:
    """§6.4.1: for the least timeout by the fastest clock: 150 ms / 1.001 = 149,850 µs."""
    s = leader(**LEASE)
    fire(s, HeartbeatDue(), now_us=SECOND)
    replied(s, "n2", 1, now_us=SECOND + 90 * MS)
    end = SECOND + 149_850
    assert hear_at(s, get(1), end - 1) == (answered(1, None),)
    assert answered(2, None) not in hear_at(s, get(2), end)  # ReadIndex instead
    assert s.reads


def hear_at(s: Any, request: Request, now_us: int) -> Any:
    return hear(s, request.client, request, now_us=now_us)


def test_the_lease_of_a_leader_cut_off_ends_before_anyone_else_can_be_elected() -> None:
    """S45: timeout 10 s; replies until 7 s; no read after 17 s, though it still believes."""
    timeout = (10 * SECOND, 20 * SECOND)
    s = leader(election_timeout_us=timeout, check_quorum=False, **LEASE)
    for second in range(8):
        fire(s, HeartbeatDue(), now_us=second * SECOND)
        replied(s, "n2", s.round, now_us=second * SECOND)
    assert hear_at(s, get(1), 16_900_000) == (answered(1, None),)
    assert answered(2, None) not in hear_at(s, get(2), 17 * SECOND)
    assert s.role is Role.LEADER


def test_a_clock_set_back_ends_the_lease() -> None:
    s = leader(**LEASE)
    fire(s, HeartbeatDue(), now_us=SECOND)
    replied(s, "n2", 1, now_us=SECOND)
    assert answered(1, None) not in hear_at(s, get(1), SECOND - 1)


def test_no_lease_after_the_leader_asked_another_to_take_over() -> None:
    """TimeoutNow overrules the followers' restraint, on which the lease rests."""
    s = leader(**LEASE)
    fire(s, HeartbeatDue(), now_us=SECOND)
    replied(s, "n2", 1, now_us=SECOND)
    step(s, Invoke(1, TransferLeadership("n2")), now_us=SECOND)
    s.transfer = None  # it came to nothing; TimeoutNow may still be on its way
    assert answered(1, None) not in hear_at(s, get(1), SECOND + 1)


def test_a_server_that_restarts_holds_back_its_vote_as_if_it_had_heard_a_leader() -> None:
    """It may have acknowledged a heartbeat, and so a lease, just before it crashed."""
    s = crashed(server(1, **LEASE), now_us=5000)
    assert hear(s, "n2", RequestVote(2, 9, 1), now_us=5000 + 150 * MS - 1) == ()
    assert sent(hear(s, "n2", RequestVote(2, 9, 1), now_us=5000 + 150 * MS))
