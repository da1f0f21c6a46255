"""PreVote, CheckQuorum, restraint and priorities: dissertation §9.6, §6.2, §4.2.3."""

from __future__ import annotations

from typing import Any

from protocols.api import MS
from protocols.client import info
from protocols.clients.messages import Response
from protocols.consensus.raft.messages import (
    AppendReply,
    PreVoteReply,
    RequestPreVote,
    RequestVote,
    VoteReply,
)
from protocols.consensus.raft.observations import SteppedDown
from protocols.consensus.raft.server import Role
from protocols.consensus.raft.state import BatchDue, ElectionTimeout, HeartbeatDue, QuorumDue
from protocols.step import CancelTimer, Observe, Send, SetTimer
from tests.protocols.consensus.raft.alone import (
    WAIT,
    accept,
    append,
    elected,
    figure2,
    fire,
    hear,
    put,
    sent,
    server,
)

# -- PreVote, §9.6 ----------------------------------------------------------------------------


def test_a_pre_candidate_asks_about_its_next_term_and_changes_nothing() -> None:
    """The term is incremented only once a majority would grant the vote."""
    s = server(1, 1)
    ask = RequestPreVote(2, 2, 1)
    assert fire(s, ElectionTimeout()) == (WAIT, Send("n2", ask), Send("n3", ask))
    assert (s.role, s.current_term, s.voted_for) == (Role.PRE_CANDIDATE, 1, None)


def test_with_a_majority_of_pre_votes_the_election_begins() -> None:
    s = server(1, 1)
    fire(s, ElectionTimeout())
    ask = RequestVote(2, 2, 1)
    assert hear(s, "n2", PreVoteReply(2, True)) == (WAIT, Send("n2", ask), Send("n3", ask))
    assert (s.role, s.current_term, s.voted_for) == (Role.CANDIDATE, 2, "n1")


def test_without_a_majority_of_pre_votes_the_term_stays() -> None:
    s = server(1)
    fire(s, ElectionTimeout())
    hear(s, "n2", PreVoteReply(1, False))
    hear(s, "n3", PreVoteReply(1, False))
    assert (s.role, s.current_term) == (Role.FOLLOWER, 1)


def test_a_pre_vote_is_granted_to_an_up_to_date_log_and_nothing_is_remembered() -> None:
    s = server(1, 1)
    assert hear(s, "n2", RequestPreVote(2, 2, 1)) == (Send("n2", PreVoteReply(2, True)),)
    assert hear(s, "n3", RequestPreVote(2, 2, 1)) == (Send("n3", PreVoteReply(2, True)),)
    assert hear(s, "n3", RequestPreVote(2, 1, 1)) == (Send("n3", PreVoteReply(1, False)),)
    assert (s.current_term, s.voted_for) == (1, None)


def test_a_pre_vote_is_refused_while_a_leader_is_heard() -> None:
    """Voters are willing only if they have heard nobody for the least election timeout."""
    s = server(1)
    hear(s, "n3", append(1, (1, 1)), now_us=1000)
    ask = RequestPreVote(2, 1, 1)
    assert sent(hear(s, "n2", ask, now_us=1000 + 150 * MS - 1)) == [PreVoteReply(1, False)]
    assert sent(hear(s, "n2", ask, now_us=1000 + 150 * MS)) == [PreVoteReply(2, True)]


def test_a_leader_refuses_pre_votes() -> None:
    """S11: heartbeats slower than the election timeout must not unseat it."""
    s = elected(server(1))
    assert sent(hear(s, "n2", RequestPreVote(3, 9, 2), now_us=10**9)) == [PreVoteReply(2, False)]


def test_a_refusal_carries_the_voters_term_and_a_pre_candidate_learns_it() -> None:
    """S31: a longer log of a lower term can win, once it knows the higher term."""
    voter = server(1, term=5)
    assert sent(hear(voter, "n1", RequestPreVote(3, 3, 2))) == [PreVoteReply(5, False)]
    s = server(1, 2, 2, term=2)
    fire(s, ElectionTimeout())
    hear(s, "n2", PreVoteReply(5, False))
    assert (s.role, s.current_term) == (Role.FOLLOWER, 5)
    assert RequestPreVote(6, 3, 2) in sent(fire(s, ElectionTimeout()))
    assert sent(hear(voter, "n1", RequestPreVote(6, 3, 2))) == [PreVoteReply(6, True)]


def test_a_pre_vote_for_another_term_is_not_counted() -> None:
    s = server(1)
    fire(s, ElectionTimeout())
    assert hear(s, "n2", PreVoteReply(1, True)) == ()
    assert (s.role, dict(s.votes)) == (Role.PRE_CANDIDATE, {"n1": True})


# -- Restraint, §4.2.3 ------------------------------------------------------------------------


def test_a_vote_is_disregarded_while_a_leader_is_heard() -> None:
    """Neither term nor vote changes (S33)."""
    s = server(1)
    hear(s, "n3", append(1, (1, 1)), now_us=1000)
    assert hear(s, "n2", RequestVote(9, 5, 5), now_us=1000 + 150 * MS - 1) == ()
    assert (s.current_term, s.leader) == (1, "n3")
    late = hear(s, "n2", RequestVote(9, 5, 5), now_us=1000 + 150 * MS)
    assert sent(late) == [VoteReply(9, True)]


def test_an_election_that_the_leader_asked_for_is_not_disregarded() -> None:
    """§4.2.3: the request carries a flag then (leadership transfer)."""
    s = server(1)
    hear(s, "n3", append(1, (1, 1)))
    assert sent(hear(s, "n2", RequestVote(2, 1, 1, transfer=True))) == [VoteReply(2, True)]


def test_without_restraint_a_rejoining_server_unseats_the_leader() -> None:
    """The disturbance that §4.2.3 is about."""
    s = elected(figure2(1))
    hear(s, "n2", RequestVote(9, 5, 5))
    assert (s.role, s.current_term) == (Role.FOLLOWER, 9)
    s = elected(server(1))
    assert hear(s, "n2", RequestVote(9, 5, 5)) == ()
    assert s.role is Role.LEADER


# -- CheckQuorum, §6.2 ------------------------------------------------------------------------


def test_a_leader_that_hears_from_no_majority_for_an_election_timeout_steps_down() -> None:
    """S35: and what its clients asked for is unknown to it."""
    s = elected(server(n=5))
    hear(s, "c1", put(1))
    accept(s, "n2", 0)
    effects = fire(s, QuorumDue())
    stop = tuple(CancelTimer(t) for t in (HeartbeatDue(), QuorumDue(), BatchDue()))
    unknown = Send("c1", Response(1, 1, info("stepped-down"), None))
    assert effects == (Observe(SteppedDown(1)), *stop, unknown, WAIT)
    assert (s.role, s.current_term) == (Role.FOLLOWER, 1)


def test_any_reply_of_its_term_counts_for_the_leader_once_per_timeout() -> None:
    s = elected(server())
    hear(s, "n3", AppendReply(1, False, 0, 1, 0, 0))
    assert fire(s, QuorumDue()) == (SetTimer(QuorumDue(), 150 * MS),)
    fire(s, QuorumDue())
    assert s.role is Role.FOLLOWER


# -- Who campaigns ----------------------------------------------------------------------------


def test_learners_and_strangers_never_campaign_but_vote() -> None:
    """S39; §4.2.2: a removed server that knows it is not a voter."""
    for given in ({"learners": ("n1",)}, {"voters": ("n2", "n3")}, {"voters": ()}):
        s = server(given=given)
        assert fire(s, ElectionTimeout()) == (WAIT,)
        assert s.current_term == 0
        assert sent(hear(s, "n2", RequestVote(1, 0, 0))) == [VoteReply(1, True)]


def test_a_refused_candidate_does_not_hold_up_the_others() -> None:
    """S41: refusing sets no timer."""
    s = figure2(1, 1)
    assert hear(s, "n3", RequestVote(2, 0, 0)) == (Send("n3", VoteReply(2, False)),)


# -- Priorities -------------------------------------------------------------------------------


def preferring(priority: int, **options: object) -> Any:
    return figure2(1, given={"priority": priority}, priorities=True, **options)


def test_of_equal_logs_the_higher_priority_gets_the_vote() -> None:
    assert sent(hear(preferring(3), "n2", RequestVote(2, 1, 1, priority=2))) == [
        VoteReply(2, False)
    ]
    assert sent(hear(preferring(2), "n2", RequestVote(2, 1, 1, priority=2))) == [VoteReply(2, True)]
    asked = sent(fire(preferring(7), ElectionTimeout()), "n2")
    assert asked == [RequestVote(2, 1, 1, priority=7)]


def test_the_log_still_wins_over_priority() -> None:
    assert sent(hear(preferring(3), "n2", RequestVote(2, 2, 1, priority=0))) == [VoteReply(2, True)]
    assert sent(hear(preferring(0), "n2", RequestVote(2, 0, 0, priority=9))) == [
        VoteReply(2, False)
    ]
