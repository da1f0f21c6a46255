"""What a leader would know of the members while a configuration changes, for the test vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from protocols.api import NodeId
from protocols.consensus.raft.configuration import (
    NO_NODE,
    AddLearner,
    AddVoter,
    Change,
    Configuration,
    Remove,
)


@dataclass(frozen=True)
class Tracked:
    """Progress of a node that has not replied yet."""

    next_index: int
    learner: bool = False

    def __str__(self) -> str:
        return f"StateProbe match=0 next={self.next_index}{' learner' * self.learner}"


class Tracker:
    """A configuration and the progress of its members: kept as long as one belongs to it.

    A node that is new begins at ``last_index`` (1 at least); one that changes its part in the
    cluster, or that is staged to do so, keeps its progress; one that is taken out, and is no voter
    of the outgoing configuration either, loses it, even if the next change takes it in again.
    """

    def __init__(self) -> None:
        self.configuration = Configuration()
        self.progress: dict[NodeId, Tracked] = {}
        self.last_index = 0

    def simple(self, changes: Iterable[Change]) -> None:
        self._move(self.configuration.simple(changes), changes)

    def enter_joint(self, auto_leave: bool, changes: Iterable[Change]) -> None:
        self._move(self.configuration.enter_joint(auto_leave, changes), changes)

    def leave_joint(self) -> None:
        self._move(self.configuration.leave_joint(), ())

    def _move(self, after: Configuration, changes: Iterable[Change]) -> None:
        progress = dict(self.progress)
        for change in changes:
            if change.node == NO_NODE:
                continue
            if isinstance(change, AddVoter | AddLearner):
                progress.setdefault(change.node, Tracked(max(self.last_index, 1)))
            elif isinstance(change, Remove) and change.node not in after.voters_outgoing:
                progress.pop(change.node, None)
        self.configuration = after
        self.progress = {
            node: replace(progress[node], learner=after.is_learner(node))
            for node in after.members()
        }
