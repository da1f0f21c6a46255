"""Who belongs to the cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from protocols.api import message
from protocols.values import NodeId, in_order

__all__ = ["AddLearner", "AddVoter", "Configuration", "Remove"]


@message
class AddVoter:
    """``node`` is to vote."""

    node: NodeId


@message
class AddLearner:
    """``node`` is to learn."""

    node: NodeId


@message
class Remove:
    """``node`` is to leave."""

    node: NodeId


@message
class Configuration:
    """Voters and learners."""

    voters: frozenset[NodeId]
    learners: frozenset[NodeId] = frozenset()
    voters_outgoing: frozenset[NodeId] = frozenset()
    learners_next: frozenset[NodeId] = frozenset()
    auto_leave: bool = False

    def is_voter(self, node: NodeId) -> bool:
        """Whether the node votes."""
        return node in self.voters or node in self.voters_outgoing

    def members(self) -> tuple[NodeId, ...]:
        """All, in order."""
        return in_order(self.voters | self.learners | self.voters_outgoing)

    def simple(self, changes: Iterable[Any]) -> Configuration:
        """One change of a voter."""
        new = self._changed(changes)
        if len(new.voters ^ self.voters) > 1:
            raise ValueError("more than one voter changed without entering joint config")
        return new

    def _changed(self, changes: Iterable[Any]) -> Configuration:
        voters, learners = self.voters, self.learners
        for change in changes:
            one = frozenset({change.node})
            voters, learners = voters - one, learners - one
            if isinstance(change, AddVoter):
                voters = voters | one
            elif isinstance(change, AddLearner):
                learners = learners | one
        if not voters:
            raise ValueError("removed all voters")
        return Configuration(voters, learners)

    def enter_joint(self, auto_leave: bool, changes: Iterable[Any]) -> Configuration:
        """C_old,new."""
        new = self._changed(changes)
        waiting = new.learners & self.voters
        return Configuration(new.voters, new.learners - waiting, self.voters, waiting, auto_leave)

    def leave_joint(self) -> Configuration:
        """C_new."""
        learners = self.learners | self.learners_next
        return replace(
            self,
            learners=learners,
            voters_outgoing=frozenset(),
            learners_next=frozenset(),
            auto_leave=False,
        )
