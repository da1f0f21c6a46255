"""Majorities: against brute force, and the overlap on which every change of members rests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

from hypothesis import given
from hypothesis import strategies as st

from protocols.consensus.raft.configuration import (
    AddLearner,
    AddVoter,
    Change,
    Configuration,
    ConfigurationError,
    Remove,
)
from protocols.consensus.raft.quorum import (
    UNBOUNDED,
    VoteResult,
    committed_index,
    has_quorum,
    majority_index,
    majority_vote,
    vote_result,
)
from protocols.values import Map

NAMES = ("n1", "n2", "n3", "n4", "n5", "n6")
Nodes = tuple[str, ...]

node = st.sampled_from(NAMES)
some_nodes = st.lists(node, unique=True)
change = st.one_of(st.builds(AddVoter, node), st.builds(AddLearner, node), st.builds(Remove, node))
changes = st.lists(change, max_size=6)
matches = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(0, 6)))
plain_configurations = st.lists(node, unique=True, min_size=1, max_size=5).map(Configuration)


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    """Any configuration that the algebra reaches, joint or not."""
    made = draw(plain_configurations)
    try:
        joint = made.enter_joint(draw(st.booleans()), draw(changes))
    except ConfigurationError:  # no voter would be left
        return made
    return draw(st.sampled_from((joint, made, joint.leave_joint())))


def subsets(nodes: Nodes) -> Iterator[Nodes]:
    return chain.from_iterable(combinations(nodes, size) for size in range(len(nodes) + 1))


def is_majority(some: Nodes, voters: Nodes) -> bool:
    """By counting, without the module under test."""
    return len(set(some) & set(voters)) > len(voters) / 2 or not voters


def quorums(made: Configuration) -> list[Nodes]:
    """Every set of members that contains a majority of each half."""
    halves = (made.voters, made.voters_outgoing)
    return [s for s in subsets(made.members()) if all(is_majority(s, half) for half in halves)]


def overlap(one: Configuration, other: Configuration) -> bool:
    return all(set(a) & set(b) for a in quorums(one) for b in quorums(other))


# -- any two quorums of neighbouring configurations have a node in common -----------------------


@given(made=configurations())
def test_quorums_of_one_configuration_intersect(made: Configuration) -> None:
    assert quorums(made) and overlap(made, made)


@given(made=plain_configurations, wanted=changes)
def test_quorums_intersect_across_a_simple_change(
    made: Configuration, wanted: list[Change]
) -> None:
    try:
        after = made.simple(wanted)
    except ConfigurationError:
        return
    assert overlap(made, after)


@given(made=plain_configurations, wanted=changes)
def test_quorums_intersect_on_either_side_of_a_joint_configuration(
    made: Configuration, wanted: list[Change]
) -> None:
    try:
        joint = made.enter_joint(True, wanted)
    except ConfigurationError:
        return
    assert overlap(made, joint)
    assert overlap(joint, joint.leave_joint())


def test_without_the_rule_two_quorums_could_miss_each_other() -> None:
    """§4.1, figure 4.2: why two servers at once need joint consensus."""
    three, five = Configuration(NAMES[:3]), Configuration(NAMES[:5])
    assert not overlap(three, five)
    assert overlap(three, three.enter_joint(True, [AddVoter("n4"), AddVoter("n5")]))


# -- what is committed ------------------------------------------------------------------------


@given(made=configurations(), match=matches)
def test_the_committed_index_is_the_highest_that_a_quorum_holds(
    made: Configuration, match: dict[str, int]
) -> None:
    """Brute force: of every quorum, what its slowest member holds; of these, the highest."""
    reached = max(min(match.get(n, 0) for n in quorum) for quorum in quorums(voting(made)))
    heard = {n: index for n, index in match.items() if index}  # nothing heard is index 0
    assert committed_index(made, match) == committed_index(made, Map(heard)) == reached


def voting(made: Configuration) -> Configuration:
    """The same without learners, whose slowness must not count."""
    return Configuration(made.voters, (), made.voters_outgoing)


@given(made=configurations(), match=matches, further=node)
def test_the_committed_index_never_falls_when_a_node_gets_further(
    made: Configuration, match: dict[str, int], further: str
) -> None:
    more = {**match, further: match.get(further, 0) + 1}
    gained = committed_index(made, more) - committed_index(made, match)
    assert gained in ((0, 1) if made.is_voter(further) else (0,))


def test_no_voters_commit_everything_and_win_every_vote() -> None:
    nobody = Configuration()
    assert committed_index(nobody, {"n1": 3}) == majority_index((), {}) == UNBOUNDED
    assert vote_result(nobody, {"n1": False}) is majority_vote((), {}) is VoteResult.WON
    assert has_quorum(nobody, ())


def test_learners_and_strangers_count_for_nothing() -> None:
    made = Configuration(("n1", "n2", "n3"), ("l1", "l2"))
    assert committed_index(made, {"n1": 9, "l1": 9, "l2": 9, "x": 9}) == 0
    assert vote_result(made, {"n1": True, "l1": True, "x": True}) is VoteResult.PENDING
    assert not has_quorum(made, ("n1", "l1", "l2", "x"))


def test_in_a_joint_configuration_the_slower_half_decides() -> None:
    made = Configuration(("n1", "n2", "n3"), (), ("n3", "n4", "n5"))
    match = {"n1": 9, "n2": 9, "n3": 7, "n4": 4, "n5": 2}
    assert committed_index(made, match) == 4  # (9 9 7) → 9, (7 4 2) → 4
    assert committed_index(made, {**match, "n4": 9}) == 7
    assert vote_result(made, {"n1": True, "n2": True, "n4": True}) is VoteResult.PENDING
    assert vote_result(made, {"n1": True, "n4": True, "n3": True}) is VoteResult.WON
    assert vote_result(made, {"n1": True, "n2": True, "n4": False, "n5": False}) is VoteResult.LOST


# -- votes ------------------------------------------------------------------------------------


def by_definition(made: Configuration, votes: dict[str, bool]) -> VoteResult:
    """Won if those who granted are a quorum; lost if they aren't with all who may still grant."""
    members = made.members()
    granted = tuple(n for n in members if votes.get(n) is True)
    hoped_for = tuple(n for n in members if votes.get(n) is not False)
    if granted in quorums(made):
        return VoteResult.WON
    return VoteResult.PENDING if hoped_for in quorums(made) else VoteResult.LOST


@given(made=configurations(), votes=st.dictionaries(node, st.booleans()))
def test_a_vote_is_won_by_a_quorum_and_lost_when_none_can_be_reached(
    made: Configuration, votes: dict[str, bool]
) -> None:
    assert vote_result(made, votes) is by_definition(made, votes)


@given(made=configurations(), votes=st.dictionaries(node, st.booleans()), late=node, vote=...)
def test_a_decided_vote_stays_decided(
    made: Configuration, votes: dict[str, bool], late: str, vote: bool
) -> None:
    before = vote_result(made, votes)
    after = vote_result(made, {**votes, late: votes.get(late, vote)})
    if before is not VoteResult.PENDING:
        assert after is before
    elif after is not before:
        assert after is (VoteResult.WON if vote else VoteResult.LOST)


@given(made=configurations(), votes=st.dictionaries(node, st.booleans()), swayed=node)
def test_one_more_grant_never_does_harm(
    made: Configuration, votes: dict[str, bool], swayed: str
) -> None:
    order = (VoteResult.LOST, VoteResult.PENDING, VoteResult.WON)
    better = vote_result(made, {**votes, swayed: True})
    assert order.index(better) >= order.index(vote_result(made, votes))


@given(made=configurations(), nodes=some_nodes)
def test_a_quorum_is_who_wins_a_vote_alone(made: Configuration, nodes: list[str]) -> None:
    won = vote_result(made, dict.fromkeys(nodes, True)) is VoteResult.WON
    assert has_quorum(made, nodes) is has_quorum(made, frozenset(nodes)) is won
