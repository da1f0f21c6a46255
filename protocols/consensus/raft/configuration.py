"""Who belongs to a Raft cluster, and how that may change: a value and its algebra.

Sources: Ongaro, "Consensus: Bridging Theory and Practice", 2014: §4.1 (single-server changes),
§4.2.1 (learners catch up before they vote), §4.3 (joint consensus: the old and the new majority
must both agree); the treatment of learners within joint consensus follows etcd-io/raft.

    simple          (n1 n2 n3)           → (n1 n2 n3 n4)            one voter differs, at most
    enter_joint     (n1 n2 n3)           → (n1 n4 n5)&&(n1 n2 n3)   any number of voters differ
    leave_joint     (n1 n4 n5)&&(n1 n2 n3) → (n1 n4 n5)

Safety rests on one fact: any quorum of the configuration before a step and any quorum of the one
after it have a node in common (see :mod:`protocols.consensus.raft.quorum`).

Adding a voter who votes, removing a node who isn't there and so on change nothing and are no
errors, so that a change may be proposed twice. Whether a change may be *proposed* now (the one
before it committed, an entry of the own term committed) is the server's business, not decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from protocols.api import message
from protocols.values import NodeId, in_order

__all__ = [
    "NO_NODE",
    "AddLearner",
    "AddVoter",
    "Change",
    "Configuration",
    "ConfigurationError",
    "Remove",
    "Update",
]

NO_NODE: NodeId = ""
"""A change of this node changes nothing: how an entry of the log is made harmless afterwards."""


@message
class AddVoter:
    """Make ``node`` a voter: a new node, or a learner that has caught up."""

    node: NodeId


@message
class AddLearner:
    """Let ``node`` receive the log without a vote: a new node, or a voter that shall lose it."""

    node: NodeId


@message
class Remove:
    """Take ``node`` out of the cluster, whatever it was."""

    node: NodeId


@message
class Update:
    """Change nothing in the configuration: tells the application something about ``node``."""

    node: NodeId


Change = AddVoter | AddLearner | Remove | Update


class ConfigurationError(ValueError):
    """A configuration that cannot be, or a change that the present one doesn't allow."""


@dataclass(frozen=True, slots=True, init=False)
class Configuration:
    """Voters and learners; while ``joint``, the voters of the configuration being left as well.

    Every group of nodes is a sorted tuple without repetitions, whatever iterable it was made of:
    the order is that of the names, so that it never depends on the interpreter.

    ``voters``            the (new) majority is taken of these
    ``voters_outgoing``   while joint, a majority of these must agree too; else empty
    ``learners``          receive the log, have no vote
    ``learners_next``     still vote in ``voters_outgoing``, become learners on leaving it
    ``auto_leave``        the leader leaves the joint configuration as soon as it is committed

    >>> before = Configuration(["n1", "n2", "n3"])
    >>> joint = before.enter_joint(True, [Remove("n1"), Remove("n2"), AddVoter("n4")])
    >>> print(joint, "→", joint.leave_joint())
    (n3 n4)&&(n1 n2 n3) auto_leave → (n3 n4)
    """

    voters: tuple[NodeId, ...]
    learners: tuple[NodeId, ...]
    voters_outgoing: tuple[NodeId, ...]
    learners_next: tuple[NodeId, ...]
    auto_leave: bool

    def __init__(
        self,
        voters: Iterable[NodeId] = (),
        learners: Iterable[NodeId] = (),
        voters_outgoing: Iterable[NodeId] = (),
        learners_next: Iterable[NodeId] = (),
        auto_leave: bool = False,
    ) -> None:
        """Sort the groups. ConfigurationError if they contradict each other."""
        put = object.__setattr__
        put(self, "voters", _group("voters", voters))
        put(self, "learners", _group("learners", learners))
        put(self, "voters_outgoing", _group("voters_outgoing", voters_outgoing))
        put(self, "learners_next", _group("learners_next", learners_next))
        put(self, "auto_leave", auto_leave)
        self._check()

    def _check(self) -> None:
        if both := _common(self.learners, (*self.voters, *self.voters_outgoing)):
            self._impossible(f"{both[0]} is a learner and a voter; it can be one of them")
        if both := _common(self.learners_next, self.voters):
            self._impossible(f"{both[0]} is in learners_next, but stays a voter")
        if not set(self.learners_next) <= set(self.voters_outgoing):
            self._impossible("learners_next holds only nodes of voters_outgoing, the others are")
        if self.joint and not self.voters:
            self._impossible("a joint configuration leads to at least one voter")
        if self.auto_leave and not self.joint:
            self._impossible("auto_leave is for a joint configuration; give voters_outgoing too")

    def _impossible(self, why: str) -> NoReturn:
        raise ConfigurationError(f"configuration {self}: {why}")

    @property
    def joint(self) -> bool:
        """Whether two majorities decide (§4.3)."""
        return bool(self.voters_outgoing)

    def members(self) -> tuple[NodeId, ...]:
        """Every node that belongs to the cluster, in order: all of them receive the log."""
        if not self.voters_outgoing and not self.learners:
            return self.voters
        return in_order({*self.voters, *self.voters_outgoing, *self.learners})

    def is_voter(self, node: NodeId) -> bool:
        """Whether ``node`` has a vote, in either majority."""
        return node in self.voters or node in self.voters_outgoing

    def is_learner(self, node: NodeId) -> bool:
        """Whether ``node`` belongs to the cluster without a vote."""
        return node in self.learners

    def __contains__(self, node: object) -> bool:
        return node in self.voters or node in self.voters_outgoing or node in self.learners

    def __str__(self) -> str:
        text = f"({' '.join(self.voters)})"
        if self.joint:
            text += f"&&({' '.join(self.voters_outgoing)})"
        for name in ("learners", "learners_next"):
            if nodes := getattr(self, name):
                text += f" {name}=({' '.join(nodes)})"
        return text + (" auto_leave" if self.auto_leave else "")

    def simple(self, changes: Iterable[object]) -> Configuration:
        """The configuration after ``changes`` by which at most one voter differs (§4.1).

        ``changes`` are `Change` values; they are checked, since they come from an administrator.
        ConfigurationError if the configuration is joint, if more voters would differ (then any
        quorum of the old configuration need not meet one of the new), or if none would be left.
        """
        if self.joint:
            raise ConfigurationError(
                f"configuration {self} is joint: no change may begin before leave_joint()"
            )
        after = self._after(changes)
        differing = in_order(set(self.voters) ^ set(after.voters))
        if len(differing) > 1:
            raise ConfigurationError(
                f"from {self} to {after} the voters {', '.join(differing)} differ; a simple change "
                "may differ in one: make the changes one by one, or use enter_joint()"
            )
        return after

    def enter_joint(self, auto_leave: bool, changes: Iterable[object]) -> Configuration:
        """The joint configuration on the way to ``changes`` (§4.3); () leads back to the same.

        ConfigurationError if it is joint already, has no voters, or would lead to none.
        """
        if self.joint:
            raise ConfigurationError(f"configuration {self} is joint already: leave_joint() first")
        if not self.voters:
            raise ConfigurationError(
                "a configuration without voters cannot become joint: nobody could agree to it; "
                "give the first voters to Configuration(…) or add one with simple()"
            )
        both = Configuration(self.voters, self.learners, self.voters)
        return both._after(changes, auto_leave)

    def leave_joint(self) -> Configuration:
        """The configuration that the joint one leads to. ConfigurationError if it isn't joint."""
        if not self.joint:
            raise ConfigurationError(f"configuration {self} is not joint: there is none to leave")
        return Configuration(self.voters, (*self.learners, *self.learners_next))

    def _after(self, changes: Iterable[object], auto_leave: bool = False) -> Configuration:
        """All changes, one after the other; only then is the result judged."""
        voters, learners, staged = set(self.voters), set(self.learners), set(self.learners_next)
        for change in changes:
            if not isinstance(change, Change):
                raise ConfigurationError(
                    f"{change!r} is no change; give AddVoter, AddLearner, Remove or Update values"
                )
            node = change.node
            if node == NO_NODE or isinstance(change, Update):
                continue
            for group in (voters, learners, staged):
                group.discard(node)
            if isinstance(change, AddVoter):
                voters.add(node)
            elif isinstance(change, AddLearner):
                # A node that votes in the outgoing majority cannot be a learner yet.
                (staged if node in self.voters_outgoing else learners).add(node)
        if not voters:
            raise ConfigurationError(
                f"the changes would have removed all voters of {self}: keep or add one"
            )
        return Configuration(voters, learners, self.voters_outgoing, staged, auto_leave)


def _group(name: str, nodes: Iterable[NodeId]) -> tuple[NodeId, ...]:
    if isinstance(nodes, str):
        raise ConfigurationError(f"{name}={nodes!r}: give several names, such as ({nodes!r},)")
    group = in_order(set(nodes))
    if NO_NODE in group:
        raise ConfigurationError(f"{name}={group!r}: a node's name is not empty")
    return group


def _common(some: Iterable[NodeId], others: Iterable[NodeId]) -> tuple[NodeId, ...]:
    return in_order(set(some) & set(others))
