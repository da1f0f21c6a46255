"""Majorities."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

from protocols.consensus.raft.configuration import Configuration
from protocols.values import NodeId

__all__ = ["Vote", "committed_index", "vote_result"]


class Vote(Enum):
    """How a vote stands."""

    WON = 1
    LOST = 2
    PENDING = 3


def committed_index(configuration: Configuration, match: Mapping[NodeId, int]) -> int:
    """The highest index that each majority holds."""
    new = _majority_index(configuration.voters, match)
    if not configuration.voters_outgoing:
        return new
    return min(new, _majority_index(configuration.voters_outgoing, match))


def _majority_index(voters: Collection[NodeId], match: Mapping[NodeId, int]) -> int:
    held = sorted(match.get(voter, 0) for voter in voters)
    return held[(len(held) - 1) // 2]


def vote_result(configuration: Configuration, votes: Mapping[NodeId, bool]) -> Vote:
    """Won if each majority granted; lost if one can't any more."""
    results = [_majority_vote(configuration.voters, votes)]
    if configuration.voters_outgoing:
        results.append(_majority_vote(configuration.voters_outgoing, votes))
    if Vote.LOST in results:
        return Vote.LOST
    return Vote.PENDING if Vote.PENDING in results else Vote.WON


def _majority_vote(voters: Collection[NodeId], votes: Mapping[NodeId, bool]) -> Vote:
    needed = len(voters) // 2 + 1
    granted = sum(votes.get(voter) is True for voter in voters)
    refused = sum(votes.get(voter) is False for voter in voters)
    if granted >= needed:
        return Vote.WON
    return Vote.LOST if len(voters) - refused < needed else Vote.PENDING
