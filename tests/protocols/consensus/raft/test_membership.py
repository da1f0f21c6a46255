"""Membership changes: §6; dissertation §4."""

from __future__ import annotations

from typing import Any

from protocols.api import MS, SECOND
from protocols.client import fail, info, ok
from protocols.consensus.raft.configuration import AddLearner, AddVoter, Configuration, Remove
from protocols.consensus.raft.entries import Entry
from protocols.consensus.raft.membership import ChangeMembership
from protocols.consensus.raft.messages import AppendEntries, AppendReply, VoteReply
from protocols.consensus.raft.observations import ConfigurationChanged, SteppedDown
from protocols.consensus.raft.server import Role
from protocols.consensus.raft.state import ElectionTimeout, HeartbeatDue
from protocols.step import Invoke, Observe, Reply, Send, step
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


def leader(n: int = 3, **options: Any) -> Any:
    """A leader whose no-op, entry 1, is committed."""
    s = elected(server(n=n, **{"catch_up_rounds": 0, **options}))
    for peer in s.others:
        accept(s, peer, 1)
    return s


def change(s: Any, *changes: Any, number: int = 7, now_us: int = 0, **more: Any) -> Any:
    return step(s, Invoke(number, ChangeMembership(changes, **more)), now_us=now_us)


def voters(*nodes: str) -> Configuration:
    return Configuration(frozenset(nodes))


# -- one server at a time, §4.1 ---------------------------------------------------------------


def test_a_server_uses_the_latest_configuration_in_its_log_at_once() -> None:
    """§4.1: committed or not."""
    s = leader()
    new = voters("n1", "n2", "n3", "n4")
    effects = change(s, AddVoter("n4"))
    assert s.configuration == new
    assert sorted(effect.dst for effect in effects) == ["n2", "n3"]
    assert s.match_index["n4"] == 0  # S59
    accept(s, "n2", 2)
    assert s.commit_index == 1  # two of four
    assert accept(s, "n3", 2)[:2] == (Observe(ConfigurationChanged(2, new)), Reply(7, ok()))


def test_followers_adopt_a_configuration_with_its_entry_and_drop_it_with_it() -> None:
    s = server(1)
    new = voters("n1", "n2")
    hear(s, "n2", AppendEntries(1, 1, 1, (Entry(1, new),), 0))
    assert (s.configuration, s.others) == (new, ("n2",))
    assert crashed(s).configuration == new  # S57
    hear(s, "n3", append(2, (1, 1), 2))
    assert (s.configuration, s.others) == (voters("n1", "n2", "n3"), ("n2", "n3"))


def test_one_change_at_a_time() -> None:
    s = leader()
    change(s, AddVoter("n4"))
    assert change(s, AddVoter("n5"), number=8) == (Reply(8, fail("another change is under way")),)
    accept(s, "n2", 2)
    accept(s, "n3", 2)
    assert change(s, AddVoter("n5"), number=9) != ()


def test_no_change_before_an_entry_of_the_own_term_is_committed() -> None:
    """The safety bug of single-server changes: without this, two majorities need not meet."""
    s = elected(server())
    early = fail("the leader has committed nothing in its term yet")
    assert change(s, AddVoter("n4")) == (Reply(7, early),)
    accept(s, "n2", 1)
    assert change(s, AddVoter("n4")) != ()


def test_a_change_that_makes_no_configuration_is_refused() -> None:
    s = leader(1)
    (reply,) = change(s, Remove("n1"))
    assert (reply.id, reply.outcome.kind) == (7, "fail")
    assert "removed all voters" in reply.outcome.value
    (reply,) = change(s, AddVoter("n2"), AddVoter("n3"), joint=False)
    assert "joint" in reply.outcome.value


def test_only_the_leader_changes_the_membership() -> None:
    assert change(server(), AddVoter("n4")) == (Reply(7, fail("not-leader")),)


def test_a_leader_that_removes_itself_leads_until_that_is_committed_and_not_counted() -> None:
    """§4.2.2, S37."""
    s = leader(4)
    change(s, Remove("n1"))
    new = voters("n2", "n3", "n4")
    accept(s, "n2", 2)
    assert (s.role, s.commit_index) == (Role.LEADER, 1)  # its own copy does not count
    effects = accept(s, "n3", 2)
    assert effects[:3] == (
        *(Observe(ConfigurationChanged(2, new)), Reply(7, ok())),
        Observe(SteppedDown(1)),
    )
    assert s.role is Role.FOLLOWER


def test_a_removed_server_gets_no_more_entries() -> None:
    s = leader()
    change(s, Remove("n3"))
    assert s.others == ("n2",)
    assert "n3" not in s.match_index
    assert hear(s, "n3", AppendReply(1, True, 2, 0)) == ()


def test_a_leader_that_steps_down_does_not_know_what_becomes_of_a_change() -> None:
    s = leader()
    change(s, AddVoter("n4"))
    assert Reply(7, info("stepped-down")) in hear(s, "n2", AppendReply(2, False, 0))


# -- learners, §4.2.1 -------------------------------------------------------------------------


def test_a_learner_gets_entries_and_does_not_count() -> None:
    s = leader()
    change(s, AddLearner("n4"))
    accept(s, "n4", 2)
    assert s.commit_index == 1
    accept(s, "n2", 2)
    assert s.commit_index == 2


# -- joint consensus, §4.3 --------------------------------------------------------------------


def test_two_changes_go_through_a_joint_configuration() -> None:
    """§6, figure 11: C_old,new, and once it is committed, C_new."""
    s = leader()
    change(s, AddVoter("n4"), AddVoter("n5"), Remove("n2"), Remove("n3"))
    old, new = frozenset({"n1", "n2", "n3"}), frozenset({"n1", "n4", "n5"})
    assert s.configuration == Configuration(new, frozenset(), old, frozenset(), True)
    accept(s, "n4", 2)
    accept(s, "n5", 2)
    assert s.commit_index == 1  # S51: a majority of the new one alone decides nothing
    accept(s, "n2", 2)
    assert (s.commit_index, s.configuration) == (2, Configuration(new))
    assert s.others == ("n4", "n5")
    effects = accept(s, "n4", 3)
    assert (s.commit_index, effects[1]) == (3, Reply(7, ok()))


def test_a_joint_configuration_may_be_left_by_hand() -> None:
    s = leader()
    change(s, AddVoter("n4"), Remove("n3"), auto_leave=False)
    assert accept(s, "n2", 2)[1] == Reply(7, ok())
    refused = fail("the configuration is joint: leave it first (no changes)")
    assert change(s, AddVoter("n5"), number=8) == (Reply(8, refused),)
    change(s, number=9)
    assert s.configuration == voters("n1", "n2", "n4")
    assert Reply(9, ok()) in accept(s, "n2", 3)


def test_a_new_leader_leaves_the_joint_configuration_of_the_old_one() -> None:
    """It finds C_old,new committed already."""
    old, new = frozenset({"n1", "n2", "n3"}), frozenset({"n1", "n2", "n4"})
    joint = Configuration(new, frozenset(), old, frozenset(), True)
    s = server(1)
    hear(s, "n2", AppendEntries(1, 1, 1, (Entry(1, joint),), 2))
    assert s.commit_index == 2
    elected(s)
    accept(s, "n2", 3)
    assert s.configuration == Configuration(new)


def test_an_election_needs_both_majorities() -> None:
    """S53."""
    old, new = frozenset({"n1", "n2", "n3"}), frozenset({"n1", "n4", "n5"})
    joint = Configuration(new, frozenset(), old, frozenset(), True)
    s = server(1, pre_vote=False)
    hear(s, "n2", AppendEntries(1, 1, 1, (Entry(1, joint),), 0))
    fire(s, ElectionTimeout())
    hear(s, "n4", VoteReply(2, True))
    hear(s, "n5", VoteReply(2, True))
    assert s.leader is None
    hear(s, "n3", VoteReply(2, True))
    assert s.role is Role.LEADER


# -- catching up, §4.2.1 ----------------------------------------------------------------------


def test_a_new_voter_is_brought_up_to_date_before_the_change_is_proposed() -> None:
    """S59: meanwhile it counts for nothing."""
    s = leader(catch_up_rounds=10)
    effects = change(s, AddVoter("n4"))
    assert effects == (Send("n4", AppendEntries(1, 1, 1, (), 1, 0)),)
    assert (s.configuration, s.others) == (voters("n1", "n2", "n3"), ("n2", "n3", "n4"))
    assert change(s, AddVoter("n5"), number=8) == (Reply(8, fail("another change is under way")),)
    hear(s, "n4", AppendReply(1, False, 1, 0, 0, 0))
    accept(s, "n4", 1, now_us=149 * MS)
    assert s.configuration == voters("n1", "n2", "n3", "n4")
    accept(s, "n2", 2)
    assert Reply(7, ok()) in accept(s, "n4", 2)


def test_rounds_go_on_until_one_is_shorter_than_an_election_timeout() -> None:
    s = leader(catch_up_rounds=3)
    change(s, AddVoter("n4"))
    hear(s, "c1", put(1), now_us=100 * MS)
    accept(s, "n4", 1, now_us=200 * MS)  # the first round took too long
    assert (s.staging.round, s.staging.target) == (2, 2)
    accept(s, "n4", 2, now_us=300 * MS)
    assert s.configuration == voters("n1", "n2", "n3", "n4")


def test_a_server_that_never_catches_up_does_not_become_a_voter() -> None:
    s = leader(catch_up_rounds=2)
    change(s, AddVoter("n4"))
    hear(s, "c1", put(1))
    accept(s, "n4", 1, now_us=SECOND)
    hear(s, "c1", put(2), now_us=SECOND)
    assert Reply(7, fail("n4 can't keep up")) in accept(s, "n4", 2, now_us=2 * SECOND)
    assert s.others == ("n2", "n3")


def test_a_server_that_does_not_answer_is_given_up() -> None:
    s = leader(catch_up_rounds=2)
    change(s, AddVoter("n4"))
    assert s.staging is not None
    fire(s, HeartbeatDue(), now_us=600 * MS)
    effects = fire(s, HeartbeatDue(), now_us=600 * MS + 1)
    assert Reply(7, fail("n4 can't be brought up to date")) in effects
    assert (s.staging, s.others) == (None, ("n2", "n3"))
    assert sent(fire(s, HeartbeatDue()), "n4") == []


def test_a_leader_that_steps_down_while_it_stages_surely_changes_nothing() -> None:
    s = leader(catch_up_rounds=2)
    change(s, AddVoter("n4"))
    assert Reply(7, fail("not-leader")) in hear(s, "n2", AppendReply(2, False, 0))
    assert s.others == ("n2", "n3")
