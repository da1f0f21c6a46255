"""No-op, fast back-up, pipelining, batching and flow control: §5.3; dissertation §6.4, §10.2."""

from __future__ import annotations

from protocols.api import MS
from protocols.client import fail, ok
from protocols.clients.messages import Response
from protocols.consensus.raft.entries import NOOP, Entry
from protocols.consensus.raft.messages import AppendEntries, AppendReply, Forward, VoteReply
from protocols.consensus.raft.observations import BecameLeader
from protocols.consensus.raft.progress import Progress
from protocols.consensus.raft.state import BatchDue, ElectionTimeout, HeartbeatDue, QuorumDue
from protocols.step import Observe, Send, SetTimer
from tests.protocols.consensus.raft.alone import (
    BEAT,
    FIGURE_2,
    STOP_WAITING,
    accept,
    append,
    elected,
    entries,
    figure2,
    fire,
    hear,
    put,
    sent,
    server,
)


def indexes(message: AppendEntries) -> tuple[int, int]:
    """First and last index of the entries in a message."""
    return message.prev_log_index + 1, message.prev_log_index + len(message.entries)


def test_a_leader_commits_a_no_op_at_the_start_of_its_term() -> None:
    """§8; dissertation §6.4. S29: sent at once, committed within a round trip."""
    s = server(1, pre_vote=False)
    fire(s, ElectionTimeout())
    first = AppendEntries(2, 1, 1, (Entry(2, NOOP),), 0, 0)
    check = SetTimer(QuorumDue(), 150 * MS)
    assert hear(s, "n2", VoteReply(2, True)) == (
        *(STOP_WAITING, Observe(BecameLeader(2)), BEAT, check),
        *(Send("n2", first), Send("n3", first)),
    )
    accept(s, "n2", 2)
    assert s.commit_index == 2


def test_a_command_that_comes_right_after_the_victory_is_sent_after_the_no_op() -> None:
    """S27: next_index is set before the first command is appended."""
    s = elected(server())
    assert hear(s, "c1", put(1)) == ()  # the followers are being probed
    (message,) = sent(accept(s, "n2", 1), "n2")
    assert indexes(message) == (2, 2)


def test_fast_backup_skips_whole_terms() -> None:
    """§5.3, figure 7 (f): the follower has 4..11 of terms 2 and 3, the leader of terms 4 to 6."""
    follower = figure2(*[1] * 3, *[2] * 3, *[3] * 5, term=8, fast_backup=True)
    leader = elected(figure2(*[1] * 3, 4, 4, 5, 5, 6, 6, 6, term=7, fast_backup=True))
    (beat,) = sent(fire(leader, HeartbeatDue()), "n2")
    (refusal,) = sent(hear(follower, "n1", beat))
    assert (refusal.hint_index, refusal.hint_term) == (10, 3)
    (again,) = sent(hear(leader, "n2", refusal))
    assert again.prev_log_index == 3
    (done,) = sent(hear(follower, "n1", again))
    assert done.success
    assert follower.log == leader.log


def test_without_fast_backup_each_refusal_goes_back_by_one() -> None:
    follower = figure2(*[1] * 3, *[2] * 3, *[3] * 5, term=8)
    leader = elected(figure2(*[1] * 3, 4, 4, 5, 5, 6, 6, 6, term=7))
    (message,) = sent(fire(leader, HeartbeatDue()), "n2")
    refusals = 0
    while not (reply := sent(hear(follower, "n1", message))[0]).success:
        refusals += 1
        (message,) = sent(hear(leader, "n2", reply))
    assert refusals == 7  # entries 10, 9, …, 4
    assert follower.log == leader.log


def test_a_probed_follower_gets_one_message_at_a_time_then_a_stream() -> None:
    s = elected(figure2())
    assert dict(s.progress) == {"n2": Progress.PROBE, "n3": Progress.PROBE}
    assert hear(s, "c1", put(1)) == ()
    (first,) = sent(accept(s, "n2", 0))
    assert indexes(first) == (1, 1)
    assert s.progress["n2"] is Progress.REPLICATE
    assert [indexes(m) for m in sent(hear(s, "c1", put(2)))] == [(2, 2)]  # before the reply
    assert [indexes(m) for m in sent(hear(s, "c1", put(3)))] == [(3, 3)]


def streaming(n: int = 3, **options: object) -> object:
    s = elected(figure2(n=n, **options))
    for peer in s.others:
        accept(s, peer, 0)
    return s


def test_without_pipelining_entries_wait_for_the_reply_and_go_together() -> None:
    s = streaming(pipeline=False)
    assert [indexes(m) for m in sent(hear(s, "c1", put(1)), "n2")] == [(1, 1)]
    assert hear(s, "c1", put(2)) == hear(s, "c1", put(3)) == ()
    assert [indexes(m) for m in sent(accept(s, "n2", 1), "n2")] == [(2, 3)]


def test_the_window_bounds_what_is_not_acknowledged() -> None:
    s = streaming(window=2)
    first = [hear(s, "c1", put(number)) for number in (1, 2, 3)]
    assert [len(sent(effects, "n2")) for effects in first] == [1, 1, 0]
    assert [indexes(m) for m in sent(accept(s, "n2", 1), "n2")] == [(3, 3)]


def test_a_batch_holds_at_most_so_many_entries_without_a_gap() -> None:
    """S25: always a contiguous run from next_index."""
    s = elected(figure2(*[1] * 5, max_batch=2))
    s.next_index = s.next_index.set("n2", 1)
    assert [indexes(m) for m in sent(accept(s, "n2", 0))] == [(1, 2), (3, 4), (5, 5)]


def test_a_batch_is_gathered_for_a_while() -> None:
    """§10.2.2."""
    s = streaming(batch_us=500)
    assert hear(s, "c1", put(1)) == (SetTimer(BatchDue(), 500),)
    assert hear(s, "c1", put(2)) == ()
    assert [indexes(m) for m in sent(fire(s, BatchDue()), "n2")] == [(1, 2)]
    assert hear(s, "c1", put(3)) == (SetTimer(BatchDue(), 500),)


def test_a_lost_message_is_noticed_at_the_next_heartbeat_and_sent_again() -> None:
    """§5.3: a leader tries again for ever."""
    s = elected(figure2(fast_backup=True))
    accept(s, "n2", 0)
    hear(s, "c1", put(1))  # lost
    (beat,) = sent(fire(s, HeartbeatDue()), "n2")
    (refusal,) = sent(hear(figure2(me="n2", fast_backup=True), "n1", beat))
    assert not refusal.success
    assert [indexes(m) for m in sent(hear(s, "n2", refusal))] == [(1, 1)]


def test_all_followers_that_keep_up_get_the_same_heartbeat() -> None:
    """An idle round makes one message object; nothing about a follower changes."""
    s = elected(server(n=5))
    for peer in s.others:
        accept(s, peer, 1)
    before = (s.next_index, s.match_index, s.progress, s.active, s.acked)
    beats = sent(fire(s, HeartbeatDue()))
    assert len(beats) == 4
    assert all(beat is beats[0] for beat in beats)
    for peer in s.others:
        assert accept(s, peer, 1) == ()
    after = (s.next_index, s.match_index, s.progress, s.active, s.acked)
    assert all(x is y for x, y in zip(before, after, strict=True))


def test_too_much_uncommitted_is_refused() -> None:
    s = streaming(max_uncommitted=2)
    hear(s, "c1", put(1))
    hear(s, "c1", put(2))
    refused = Response(1, 3, fail("overloaded"), "n1")
    assert hear(s, "c1", put(3)) == (Send("c1", refused),)
    accept(s, "n2", 1)
    assert len(sent(hear(s, "c1", put(3)), "n2")) == 1


def test_a_follower_forwards_a_request_once() -> None:
    """§6.2: the server can proxy the request to the leader."""
    s = figure2(forward=True)
    hear(s, "n3", append(1, (0, 0)))
    assert hear(s, "c1", put(1)) == (Send("n3", Forward(put(1))),)
    refused = Response(1, 1, fail("not-leader"), "n3")
    assert hear(s, "n2", Forward(put(1))) == (Send("c1", refused),)
    alone = elected(figure2(n=1, forward=True))
    assert hear(alone, "n2", Forward(put(1))) == (Send("c1", Response(1, 1, ok(None), "n1")),)


def test_replies_of_strangers_are_ignored() -> None:
    s = elected(server(**{**FIGURE_2}))
    assert hear(s, "n9", AppendReply(1, True, 7)) == ()
    assert "n9" not in s.match_index


def test_entries_of_a_message_replace_only_their_own_places() -> None:
    s = figure2(1, 1, 1)
    hear(s, "n2", append(1, (1, 1), 1))
    assert tuple(s.log) == entries(1, 1, 1)
