"""Figure 2, sentence by sentence, with nothing switched on that it does not say."""

from __future__ import annotations

import pytest

from protocols.client import fail, info, ok
from protocols.clients.messages import Request, Response
from protocols.consensus.raft.messages import AppendEntries, AppendReply, RequestVote, VoteReply
from protocols.consensus.raft.observations import BecameLeader, SteppedDown
from protocols.consensus.raft.server import Role
from protocols.consensus.raft.state import BatchDue, ElectionTimeout, HeartbeatDue, QuorumDue
from protocols.machines.kv import Get
from protocols.step import CancelTimer, Observe, Send
from tests.protocols.consensus.raft.alone import (
    BEAT,
    STOP_WAITING,
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

LAY_DOWN = tuple(CancelTimer(timer) for timer in (HeartbeatDue(), QuorumDue(), BatchDue()))

# -- RequestVote RPC, receiver ----------------------------------------------------------------


def test_request_vote_1_reply_false_if_term_is_older() -> None:
    s = figure2(1, term=3)
    assert hear(s, "n2", RequestVote(2, 9, 2)) == (Send("n2", VoteReply(3, False)),)
    assert s.voted_for is None


def test_request_vote_2_grants_a_free_vote_to_an_up_to_date_candidate() -> None:
    """Figure 2; §5.2: a vote given also resets the election timer."""
    s = figure2(1, term=1)
    assert hear(s, "n2", RequestVote(2, 1, 1)) == (WAIT, Send("n2", VoteReply(2, True)))
    assert (s.current_term, s.voted_for) == (2, "n2")


def test_request_vote_2_the_vote_of_a_term_is_given_once() -> None:
    """§5.2: to whoever asks first; to the same candidate again if it asks again."""
    s = figure2(term=2, voted_for="n2")
    assert hear(s, "n3", RequestVote(2, 5, 2)) == (Send("n3", VoteReply(2, False)),)
    assert hear(s, "n2", RequestVote(2, 5, 2)) == (WAIT, Send("n2", VoteReply(2, True)))


@pytest.mark.parametrize(
    ("last_index", "last_term", "granted"),
    [(3, 2, True), (2, 3, True), (4, 2, True), (2, 2, False), (9, 1, False), (0, 0, False)],
)
def test_the_log_with_the_later_last_term_or_else_the_longer_one_is_more_up_to_date(
    last_index: int, last_term: int, granted: bool
) -> None:
    """§5.4.1, last paragraph. The voter's log ends with entry 3 of term 2."""
    s = figure2(1, 2, 2, term=3)
    assert sent(hear(s, "n2", RequestVote(4, last_index, last_term))) == [VoteReply(4, granted)]


# -- AppendEntries RPC, receiver --------------------------------------------------------------


def test_append_entries_1_reply_false_if_term_is_older() -> None:
    s = figure2(1, term=3)
    assert hear(s, "n2", append(2, (1, 1), 2)) == (Send("n2", AppendReply(3, False, 1)),)
    assert terms_of(s) == [1]


@pytest.mark.parametrize(("prev", "hint"), [((2, 1), (1, 1)), ((1, 2), (1, 1)), ((5, 2), (1, 1))])
def test_append_entries_2_reply_false_without_an_entry_that_matches_prev(
    prev: tuple[int, int], hint: tuple[int, int]
) -> None:
    s = figure2(1, term=2)
    reply = AppendReply(2, False, prev[0], 0, *hint)
    assert hear(s, "n2", append(2, prev, 2)) == (WAIT, Send("n2", reply))
    assert terms_of(s) == [1]


def test_append_entries_3_and_4_delete_what_conflicts_and_append_what_is_new() -> None:
    s = figure2(1, 1, 2, 2)
    assert hear(s, "n2", append(3, (2, 1), 3, 3, 3)) == (WAIT, Send("n2", AppendReply(3, True, 5)))
    assert terms_of(s) == [1, 1, 3, 3, 3]


def test_append_entries_3_deletes_nothing_without_a_conflict() -> None:
    """S21, §5.3: a late message with a prefix must not remove what came after it."""
    s = figure2(1, 1, 1)
    assert sent(hear(s, "n2", append(1, (0, 0), 1))) == [AppendReply(1, True, 1)]
    assert sent(hear(s, "n2", append(1, (0, 0)))) == [AppendReply(1, True, 0)]
    assert terms_of(s) == [1, 1, 1]


def test_append_entries_5_commit_is_the_leaders_or_the_last_new_entry() -> None:
    """S15: only what this message verified counts, not the end of the own log."""
    s = figure2(1, 1, 1, 1)
    hear(s, "n2", append(2, (2, 1), commit=4))
    assert s.commit_index == 2
    hear(s, "n2", append(2, (2, 1), 1, 1, commit=3))
    assert s.commit_index == 3
    hear(s, "n2", append(2, (4, 1), commit=1))
    assert s.commit_index == 3  # it never goes back


# -- Rules for servers, all -------------------------------------------------------------------


def test_all_servers_apply_what_is_committed() -> None:
    s = figure2(1, 1)
    hear(s, "n2", append(1, (2, 1), commit=2))
    assert (s.last_applied, s.machine.items["x"]) == (2, 2)


@pytest.mark.parametrize(
    "message",
    [RequestVote(5, 0, 0), VoteReply(5, False), append(5, (0, 0)), AppendReply(5, False, 0)],
)
def test_all_servers_convert_to_follower_at_a_higher_term(message: object) -> None:
    for made in (figure2(1), elected(figure2(1))):
        hear(made, "n3", message)
        assert (made.current_term, made.role, made.voted_for) == (5, Role.FOLLOWER, None)


# -- Followers --------------------------------------------------------------------------------


def test_followers_answer_and_wait_anew_at_each_message_of_the_leader() -> None:
    s = figure2()
    assert hear(s, "n2", append(1, (0, 0))) == (WAIT, Send("n2", AppendReply(1, True, 0)))
    assert s.leader == "n2"


def test_followers_that_hear_nothing_convert_to_candidate() -> None:
    """And what a new candidate does: new term, own vote, new timeout, requests to all others."""
    s = figure2(1, 1)
    ask = RequestVote(2, 2, 1)
    assert fire(s, ElectionTimeout()) == (WAIT, Send("n2", ask), Send("n3", ask))
    assert (s.role, s.current_term, s.voted_for) == (Role.CANDIDATE, 2, "n1")


# -- Candidates -------------------------------------------------------------------------------


def test_candidates_with_a_majority_become_leader() -> None:
    s = figure2(1, n=5)
    fire(s, ElectionTimeout())
    assert hear(s, "n2", VoteReply(2, True)) == ()
    beat = AppendEntries(2, 1, 1, (), 0, 1)
    beats = tuple(Send(f"n{i}", beat) for i in range(2, 6))
    won = hear(s, "n3", VoteReply(2, True))
    assert won == (STOP_WAITING, Observe(BecameLeader(2)), BEAT, *beats)


def test_a_vote_is_counted_once() -> None:
    """S7: the network duplicates a grant."""
    s = figure2(n=5)
    fire(s, ElectionTimeout())
    assert hear(s, "n2", VoteReply(1, True)) == hear(s, "n2", VoteReply(1, True)) == ()
    assert s.role is Role.CANDIDATE


def test_candidates_convert_to_follower_when_they_hear_from_a_new_leader() -> None:
    """§5.2: of a term at least as large as their own; S5: the vote of the term stays given."""
    s = figure2()
    fire(s, ElectionTimeout())
    assert hear(s, "n2", append(1, (0, 0))) == (WAIT, Send("n2", AppendReply(1, True, 0)))
    assert (s.role, s.leader) == (Role.FOLLOWER, "n2")
    assert sent(hear(s, "n3", RequestVote(1, 9, 1))) == [VoteReply(1, False)]


def test_candidates_whose_election_times_out_start_a_new_one() -> None:
    s = figure2()
    fire(s, ElectionTimeout())
    ask = RequestVote(2, 0, 0)
    assert fire(s, ElectionTimeout()) == (WAIT, Send("n2", ask), Send("n3", ask))


def test_a_candidate_refuses_its_rivals() -> None:
    """S3b: it has voted for itself, whatever the other's log."""
    s = figure2()
    fire(s, ElectionTimeout())
    assert hear(s, "n2", RequestVote(1, 9, 1)) == (Send("n2", VoteReply(1, False)),)


# -- Leaders ----------------------------------------------------------------------------------


def test_leaders_send_heartbeats_during_idle_periods() -> None:
    s = elected(figure2(1))
    beat = AppendEntries(2, 1, 1, (), 0, 2)
    assert fire(s, HeartbeatDue()) == (BEAT, Send("n2", beat), Send("n3", beat))


def test_leaders_append_a_command_and_respond_after_it_is_applied() -> None:
    s = elected(figure2())
    accept(s, "n2", 0)
    accept(s, "n3", 0)
    new = AppendEntries(1, 0, 0, entries(1), 0, 1)
    assert hear(s, "c1", put(1)) == (Send("n2", new), Send("n3", new))
    assert accept(s, "n2", 1) == (Send("c1", Response(1, 1, ok(None), "n1")),)
    assert (s.commit_index, s.last_applied) == (1, 1)


def test_leaders_send_what_a_follower_misses_starting_at_next_index() -> None:
    s = elected(figure2(1, 1, 1))
    s.next_index = s.next_index.set("n2", 2)
    assert sent(accept(s, "n2", 1)) == [AppendEntries(2, 1, 1, entries(1, 1, first=2), 0, 1)]


def test_leaders_update_next_and_match_index_on_success_and_never_backwards() -> None:
    """S17: replies may come out of order."""
    s = elected(figure2(1, 1, 1))
    accept(s, "n2", 3)
    accept(s, "n2", 1)
    assert (s.match_index["n2"], s.next_index["n2"]) == (3, 4)


def test_leaders_decrement_next_index_on_inconsistency_and_retry() -> None:
    s = elected(figure2(1, 1, 1))
    retry = AppendEntries(2, 2, 1, entries(1, first=3), 0, 1)
    assert hear(s, "n2", AppendReply(2, False, 3, 1, 0, 0)) == (Send("n2", retry),)
    assert s.next_index["n2"] == 3


def test_a_stale_refusal_moves_nothing() -> None:
    """S17b: next_index stays above match_index."""
    s = elected(figure2(1, 1, 1))
    accept(s, "n2", 2)
    assert hear(s, "n2", AppendReply(2, False, 1, 1, 0, 0)) == ()
    assert (s.match_index["n2"], s.next_index["n2"]) == (2, 4)


def test_leaders_commit_what_a_majority_holds_of_their_own_term() -> None:
    """§5.4.2 and figure 8 (S13): entries of older terms are committed only along with one."""
    s = elected(figure2(1, 2, n=5))
    accept(s, "n2", 2)
    accept(s, "n3", 2)
    assert s.commit_index == 0
    hear(s, "c1", put(3))
    accept(s, "n2", 3)
    assert s.commit_index == 0
    accept(s, "n3", 3)
    assert s.commit_index == 3


def test_a_leader_that_steps_down_keeps_its_log_and_does_not_know() -> None:
    """S19: what a majority may hold stays; S49: its clients hear "unknown"."""
    s = elected(figure2())
    hear(s, "c1", put(1))
    stepped = hear(s, "n2", AppendReply(2, False, 0))
    unknown = Send("c1", Response(1, 1, info("stepped-down"), None))
    assert stepped == (Observe(SteppedDown(1)), *LAY_DOWN, unknown, WAIT)
    assert terms_of(s) == [1]


# -- Persistent state -------------------------------------------------------------------------


def test_term_vote_and_log_survive_a_crash() -> None:
    """S1a: after a restart the vote of the term is still given."""
    s = figure2(1)
    hear(s, "n2", RequestVote(2, 1, 1))
    s = crashed(s)
    assert (s.current_term, s.voted_for, terms_of(s), s.role) == (2, "n2", [1], Role.FOLLOWER)
    assert sent(hear(s, "n3", RequestVote(2, 1, 1))) == [VoteReply(2, False)]


def test_a_torn_write_never_frees_a_vote_that_was_given() -> None:
    """S1b: term and vote change in one step; what is stored first is the term."""
    s = figure2(1, term=1, voted_for="n1")
    hear(s, "n2", RequestVote(2, 1, 1))
    stored = list(type(s).__splitbrain__.durable)
    assert stored.index("current_term") < stored.index("voted_for")
    torn = crashed(figure2(1, term=2, voted_for="n1"))  # the term is new, the vote old
    assert sent(hear(torn, "n3", RequestVote(2, 1, 1))) == [VoteReply(2, False)]


def test_the_state_machine_is_rebuilt_from_the_log() -> None:
    """S67: commit_index and last_applied are volatile; applying again gives the same state."""
    s = figure2(1, 1)
    hear(s, "n2", append(1, (2, 1), commit=2))
    before = (s.machine, s.sessions)
    s = crashed(s)
    assert (s.commit_index, s.last_applied, s.machine) == (0, 0, s.initial)
    hear(s, "n2", append(1, (2, 1), commit=2))
    assert (s.machine, s.sessions) == before


# -- Clients ----------------------------------------------------------------------------------


def test_who_does_not_lead_refuses_and_says_who_does() -> None:
    """§8: with the most recent leader it has heard from, if any."""
    s = figure2()
    assert hear(s, "c1", put(1)) == (Send("c1", Response(1, 1, fail("not-leader"), None)),)
    hear(s, "n3", append(1, (0, 0)))
    assert hear(s, "c1", put(1)) == (Send("c1", Response(1, 1, fail("not-leader"), "n3")),)
    read = Request("c1", 1, 2, Get("x"), 0)
    assert hear(s, "c1", read) == (Send("c1", Response(1, 2, fail("not-leader"), "n3")),)
