"""Who belongs to the cluster."""

from __future__ import annotations

from protocols.api import message
from protocols.values import NodeId, in_order

__all__ = ["Configuration"]


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
