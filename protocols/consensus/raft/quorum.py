"""Majorities: what a configuration has agreed to.

Sources: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", 2014,
§5.2 (a candidate wins with the votes of a majority), §5.3 and Figure 2 (an index is committed
once a majority holds it); Ongaro, "Consensus: Bridging Theory and Practice", 2014, §4.3 (in a
joint configuration, separate majorities of the old and of the new voters decide).

The majority of no voters at all agrees to everything: it commits ``UNBOUNDED`` and wins every
vote. So a configuration that isn't joint is a joint one whose outgoing half is empty.

Learners are never counted, nor is anyone else who isn't a voter, whatever they hold or say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Final

from protocols.consensus.raft.configuration import Configuration
from protocols.values import NodeId

__all__ = [
    "UNBOUNDED",
    "Vote",
    "VoteResult",
    "committed_index",
    "has_quorum",
    "majority_index",
    "majority_vote",
    "vote_result",
]

UNBOUNDED: Final = (1 << 64) - 1
"""What the majority of no voters has committed: above every index of a log."""


class VoteResult(Enum):
    """How a vote stands."""

    WON = "won"
    """A majority granted its vote; nothing that is still to come changes that."""
    LOST = "lost"
    """A majority cannot be reached any more."""
    PENDING = "pending"
    """The votes that are still missing decide."""


Vote = VoteResult


def committed_index(configuration: Configuration, match: Mapping[NodeId, int]) -> int:
    """The highest index that a majority holds; of each majority if the configuration is joint.

    ``match`` gives the highest index known to be stored on a voter, 0 where it is missing. The
    index is committed only if its entry is of the leader's own term (§5.4.2): the caller checks.
    """
    index = majority_index(configuration.voters, match)
    if configuration.voters_outgoing:
        return min(index, majority_index(configuration.voters_outgoing, match))
    return index


def majority_index(voters: Sequence[NodeId], match: Mapping[NodeId, int]) -> int:
    """The highest index that a majority of ``voters`` holds; UNBOUNDED if there are none.

    Sorted upwards, the entry at (n - 1) // 2 has n - (n - 1) // 2 = n // 2 + 1 at or above it.
    """
    if not voters:
        return UNBOUNDED
    get = match.get
    held = [get(voter, 0) for voter in voters]
    held.sort()
    return held[(len(held) - 1) // 2]


def vote_result(configuration: Configuration, votes: Mapping[NodeId, bool]) -> VoteResult:
    """How the vote stands, given who granted (True) or refused (False) it.

    Joint: won if both majorities are, lost as soon as one of them is.
    """
    result = majority_vote(configuration.voters, votes)
    if not configuration.voters_outgoing or result is VoteResult.LOST:
        return result
    outgoing = majority_vote(configuration.voters_outgoing, votes)
    return result if outgoing is VoteResult.WON else outgoing


def majority_vote(voters: Sequence[NodeId], votes: Mapping[NodeId, bool]) -> VoteResult:
    """How the vote stands among ``voters``: won if there are none."""
    granted = missing = 0
    for voter in voters:
        vote = votes.get(voter)
        if vote is None:
            missing += 1
        elif vote:
            granted += 1
    needed = len(voters) // 2 + 1 if voters else 0
    if granted >= needed:
        return VoteResult.WON
    return VoteResult.PENDING if granted + missing >= needed else VoteResult.LOST


def has_quorum(configuration: Configuration, nodes: Collection[NodeId]) -> bool:
    """Whether ``nodes`` contain a majority of the voters, of each half if joint.

    For acknowledgements without refusals: heartbeats answered, leases, reads (dissertation §6.4).
    """
    return _majority_within(configuration.voters, nodes) and _majority_within(
        configuration.voters_outgoing, nodes
    )


def _majority_within(voters: Sequence[NodeId], nodes: Collection[NodeId]) -> bool:
    return not voters or 2 * sum(voter in nodes for voter in voters) > len(voters)
