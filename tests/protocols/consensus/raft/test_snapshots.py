"""Log compaction and InstallSnapshot: §7, figure 13; dissertation §5."""

from __future__ import annotations

from typing import Any

from protocols.client import ok
from protocols.clients.messages import Request
from protocols.consensus.raft.admin import Admin, AdminReply, TakeSnapshot
from protocols.consensus.raft.configuration import Configuration
from protocols.consensus.raft.entries import Chunk, Entry, Snapshot
from protocols.consensus.raft.messages import InstallSnapshot, SnapshotReply
from protocols.consensus.raft.observations import SnapshotTaken
from protocols.consensus.raft.progress import Progress
from protocols.consensus.raft.state import HeartbeatDue
from protocols.machines.kv import KeyValueStore, Put
from protocols.step import Invoke, Observe, Reply, Send, step
from protocols.values import Log, Map
from tests.protocols.consensus.raft.alone import (
    WAIT,
    accept,
    append,
    crashed,
    elected,
    entries,
    figure2,
    fire,
    hear,
    put,
    sent,
    terms_of,
)

MEMBERS = Configuration(frozenset({"n1", "n2", "n3"}))


def applied(count: int, **options: Any) -> Any:
    """A follower that has applied ``count`` entries of term 1."""
    s = figure2(*[1] * count, **options)
    hear(s, "n2", append(1, (count, 1), commit=count))
    return s


def chunk(number: int, data: object, *, done: bool, last: tuple[int, int] = (5, 2)) -> Any:
    piece = Chunk("machine", data) if number < 2 else Chunk("sessions", data)
    return InstallSnapshot(3, *last, MEMBERS, 7, number, piece, done)


WHOLE = (
    chunk(0, (("x", 1),), done=False),
    chunk(1, (("y", 2),), done=False),
    chunk(2, (), done=True),
)
INSTALLED = Snapshot(5, 2, MEMBERS, KeyValueStore(Map({"x": 1, "y": 2})), Map(), 7)


def install(s: Any) -> list[Any]:
    return [sent(hear(s, "n2", message))[-1] for message in WHOLE]


# -- taking -----------------------------------------------------------------------------------


def test_each_server_compacts_what_it_has_applied() -> None:
    """§7: on its own, and only what is committed."""
    s = applied(5, snapshot_every=4)
    assert s.snapshot == Snapshot(5, 1, MEMBERS, s.machine, s.sessions, 0)
    assert (s.log.first, s.last_index, s.last_term) == (6, 5, 1)
    s = applied(3, snapshot_every=4)
    assert s.snapshot is None


def test_some_entries_before_the_snapshot_may_be_kept() -> None:
    s = applied(5, snapshot_every=5, trailing=2)
    assert (s.snapshot_index, s.log.first, len(s.log)) == (5, 4, 2)


def test_an_administrator_may_ask_for_a_snapshot() -> None:
    s = applied(3)
    assert step(s, Invoke(7, TakeSnapshot())) == (Observe(SnapshotTaken(3)), Reply(7, ok(3)))
    assert step(s, Invoke(8, TakeSnapshot())) == (Reply(8, ok(3)),)
    assert hear(s, "c1", Admin(9, TakeSnapshot())) == (Send("c1", AdminReply(9, ok(3))),)


def test_a_server_restarts_from_its_snapshot() -> None:
    s = applied(5, snapshot_every=3)
    hear(s, "n2", append(1, (5, 1), 1, commit=6))
    again = crashed(s)
    assert (again.commit_index, again.last_applied) == (5, 5)
    assert (again.machine, again.sessions) == (s.snapshot.machine, s.snapshot.sessions)
    hear(again, "n2", append(1, (6, 1), commit=6))
    assert (again.machine, again.sessions) == (s.machine, s.sessions)


def test_prev_log_index_in_the_compacted_part_counts_as_a_match() -> None:
    """S23: and nothing committed is deleted."""
    s = applied(5, snapshot_every=5)
    assert sent(hear(s, "n2", append(1, (2, 1), 1, 1, 1, 1)))[0].success
    assert (s.log.first, terms_of(s)) == (6, [1])


# -- sending ----------------------------------------------------------------------------------


def leader(**options: Any) -> Any:
    """A leader of term 2 whose log begins at 4, with a snapshot up to 3 in two chunks."""
    s = elected(applied(3, snapshot_every=3, chunk=1, **options))
    for peer in s.others:
        accept(s, peer, 3)
    s.next_index, s.match_index = s.next_index.set("n3", 3), s.match_index.set("n3", 2)
    s.progress = s.progress.set("n3", Progress.PROBE)
    return s


def snapshot_chunk(s: Any, number: int, data: Chunk, *, done: bool) -> InstallSnapshot:
    return InstallSnapshot(2, 3, 1, MEMBERS, 0, number, data, done, s.round)


def test_a_follower_whose_next_entry_is_compacted_gets_the_snapshot_in_chunks() -> None:
    """§7, figure 13. A chunk is sent again with each heartbeat until it is acknowledged."""
    s = leader()
    machine = Chunk("machine", (("x", 3),))
    session = Chunk("sessions", (("c1", s.sessions["c1"]),))
    first = sent(fire(s, HeartbeatDue()), "n3")
    assert first == [snapshot_chunk(s, 0, machine, done=False)]
    assert s.progress["n3"] is Progress.SNAPSHOT
    assert sent(fire(s, HeartbeatDue()), "n3") == [snapshot_chunk(s, 0, machine, done=False)]
    second = sent(hear(s, "n3", SnapshotReply(2, 3, 1, False)))
    assert second == [snapshot_chunk(s, 1, session, done=True)]
    assert hear(s, "n3", SnapshotReply(2, 3, 1, False)) == ()  # a copy of the reply
    hear(s, "n3", SnapshotReply(2, 3, 2, True))
    assert (s.match_index["n3"], s.next_index["n3"]) == (3, 4)
    assert (s.progress["n3"], dict(s.sending)) == (Progress.REPLICATE, {})


def test_a_follower_that_lost_its_chunks_gets_them_again() -> None:
    s = leader()
    fire(s, HeartbeatDue())
    hear(s, "n3", SnapshotReply(2, 3, 1, False))
    assert hear(s, "n3", SnapshotReply(2, 3, 0, False)) == ()
    (again,) = sent(fire(s, HeartbeatDue()), "n3")
    assert again.number == 0


def test_new_entries_do_not_go_to_a_follower_that_gets_a_snapshot() -> None:
    s = leader()
    fire(s, HeartbeatDue())
    assert sent(hear(s, "c1", put(4)), "n3") == []


# -- installing -------------------------------------------------------------------------------


def test_install_1_reply_at_once_if_term_is_older() -> None:
    s = figure2(term=9)
    assert hear(s, "n2", WHOLE[0]) == (Send("n2", SnapshotReply(9, 5, 0, False)),)


def test_install_2_to_5_and_8_collect_the_chunks_then_take_the_state() -> None:
    s = figure2(1, term=3)
    assert hear(s, "n2", WHOLE[0]) == (WAIT, Send("n2", SnapshotReply(3, 5, 1, False)))
    assert hear(s, "n2", WHOLE[1]) == (WAIT, Send("n2", SnapshotReply(3, 5, 2, False)))
    last = (WAIT, Observe(SnapshotTaken(5, True)), Send("n2", SnapshotReply(3, 5, 3, True)))
    assert hear(s, "n2", WHOLE[2]) == last
    assert s.snapshot == INSTALLED
    assert (s.machine, s.commit_index, s.last_applied) == (INSTALLED.machine, 5, 5)
    assert (s.last_index, s.last_term, s.incoming) == (5, 2, None)


def test_chunks_out_of_order_are_asked_for_again() -> None:
    s = figure2(term=3)
    assert sent(hear(s, "n2", WHOLE[1])) == [SnapshotReply(3, 5, 0, False)]
    assert sent(hear(s, "n2", WHOLE[2])) == [SnapshotReply(3, 5, 0, False)]
    assert install(s)[-1] == SnapshotReply(3, 5, 3, True)


def test_chunks_of_a_newer_snapshot_replace_those_of_an_older_one() -> None:
    s = figure2(term=3)
    hear(s, "n2", WHOLE[0])
    assert sent(hear(s, "n2", chunk(0, (), done=False, last=(9, 3)))) == [
        SnapshotReply(3, 9, 1, False)
    ]
    assert sent(hear(s, "n2", WHOLE[1])) == [SnapshotReply(3, 5, 0, False)]


def test_install_6_what_follows_the_snapshots_last_entry_is_kept() -> None:
    s = figure2(1, 1, 1, 2, 2, 3, term=3)
    assert sent(hear(s, "n2", WHOLE[0])) == [SnapshotReply(3, 5, 1, True)]
    assert (terms_of(s), s.commit_index, s.snapshot) == ([1, 1, 1, 2, 2, 3], 5, None)


def test_install_7_otherwise_the_whole_log_is_discarded() -> None:
    """S61: also what comes after a conflicting entry at the snapshot's end."""
    s = figure2(1, 1, 1, 1, 1, 1, 1, term=3)
    install(s)
    assert (len(s.log), s.log.first) == (0, 6)
    assert sent(hear(s, "n2", append(3, (5, 2), 3)))[0].success


def test_the_configuration_of_the_snapshot_counts() -> None:
    """S55: an uncommitted configuration before the snapshot's end is gone."""
    s = figure2(1, term=3)
    stale = Configuration(frozenset({"n1", "n9"}))
    hear(s, "n2", append(3, (1, 1)).__class__(3, 1, 1, (Entry(2, stale),), 0))
    assert s.configuration == stale
    install(s)
    assert (s.configuration, s.others) == (MEMBERS, ("n2", "n3"))


def test_an_old_snapshot_changes_nothing() -> None:
    s = applied(6)
    s.current_term = 3
    machine = s.machine
    assert sent(hear(s, "n2", WHOLE[0]))[-1].done
    assert (s.machine, s.commit_index, s.snapshot) == (machine, 6, None)


def test_a_torn_write_of_an_installed_snapshot_is_mended_at_the_restart() -> None:
    """The snapshot is stored before the log: what is left of the old log is discarded."""
    s = figure2(1, 1, term=3)
    s.snapshot = INSTALLED
    again = crashed(s)
    assert (again.log.first, len(again.log), again.last_term) == (6, 0, 2)
    s.log = Log(entries(1, 1, 1, 1, 1, 1))
    assert len(crashed(s).log) == 0


def test_sessions_travel_in_the_snapshot() -> None:
    s = applied(3, snapshot_every=3, chunk=1)
    chunks = s.chunks_of(s.snapshot)
    other = figure2(term=1)
    for number, piece in enumerate(chunks):
        message = InstallSnapshot(1, 3, 1, MEMBERS, 0, number, piece, number + 1 == len(chunks))
        hear(other, "n2", message)
    assert (other.machine, other.sessions, other.snapshot) == (s.machine, s.sessions, s.snapshot)
    late = Request("c1", 1, 2, Put("x", 2), 1)
    assert other.execute(late, 0) is None  # known, and acknowledged
