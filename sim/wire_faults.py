"""The rules behind partition, link and hold faults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from protocols.values import NodeId
from sim.corruption import corrupted
from sim.faults import Link
from sim.rules import PASS, Deliver, Drop, Duplicate, Envelope, Held, Rule, Stage, Verdict

Pairs = frozenset[tuple[NodeId, NodeId]]


class Cut(Rule):
    """Drops what crosses a partition: ``blocked(src, dst)`` says whether a message would."""

    def __init__(self, blocked: Callable[[NodeId, NodeId], bool]) -> None:
        self.blocked = blocked
        self.reason = "partition"
        self.keep_in_flight = False

    def judge(self, envelope: Envelope, stage: Stage) -> Verdict:
        if stage == "due" and self.keep_in_flight:
            return PASS
        if not self.blocked(envelope.src, envelope.dst):
            return PASS
        self.touched += 1
        return Drop(self.reason)

    @classmethod
    def of_shape(
        cls, shape: str, groups: Sequence[Sequence[NodeId]], nodes: Sequence[NodeId], rng: Random
    ) -> Cut:
        """The cut of a named shape; what is random is drawn from ``rng``."""
        return cls(_SHAPES[shape](groups, nodes, rng))


Blocked = Callable[[NodeId, NodeId], bool]
Groups = Sequence[Sequence[NodeId]]


def _sides(groups: Groups, nodes: Sequence[NodeId]) -> Blocked:
    """Nodes of different groups don't reach each other; the unnamed are one more group."""
    side = dict.fromkeys(nodes, -1)
    for number, group in enumerate(groups):
        side.update(dict.fromkeys(group, number))
    # A node that isn't a subject of faults (a client) is on no side: it reaches everybody.
    return lambda a, b: a in side and b in side and side[a] != side[b]


def _groups(groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    return _sides(groups, nodes)


def _one_way(groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    src, dst = frozenset(groups[0]), frozenset(groups[1])
    return lambda a, b: a in src and b in dst


def _isolate(groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    return _sides([[node] for node in groups[0]], nodes)


def _with_side(size: int, groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    kept = list(groups[0])
    others = [n for n in nodes if n not in kept]
    return _sides([kept + rng.sample(others, max(0, min(len(others), size - len(kept))))], nodes)


def _majority(groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    return _with_side(len(nodes) // 2 + 1, groups, nodes, rng)


def _minority(groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    return _with_side((len(nodes) - 1) // 2, groups, nodes, rng)


def _ring(groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    place = {node: i for i, node in enumerate(nodes)}
    n = len(nodes)
    return lambda a, b: a in place and b in place and (place[a] - place[b]) % n not in (0, 1, n - 1)


def _halves(groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    return _sides([rng.sample(list(nodes), len(nodes) // 2)], nodes)


def _bridge(groups: Groups, nodes: Sequence[NodeId], rng: Random) -> Blocked:
    bridge = list(groups[0]) if groups else [rng.choice(list(nodes))]
    others = [n for n in nodes if n not in bridge]
    half = rng.sample(others, len(others) // 2)
    apart = _sides([half], others)
    return apart


_SHAPES: dict[str, Callable[[Groups, Sequence[NodeId], Random], Blocked]] = {
    "groups": _groups,
    "one_way": _one_way,
    "isolate": _isolate,
    "majority": _majority,
    "minority": _minority,
    "ring": _ring,
    "bridge": _bridge,
    "halves": _halves,
}


class Trouble(Rule):
    """Loss, delay, duplication, corruption and reordering on some links."""

    def __init__(self, fault: Link, pairs: Pairs, rng: Random, reason: str) -> None:
        self.fault, self.pairs, self.rng, self.reason = fault, pairs, rng, reason

    def judge(self, envelope: Envelope, stage: Stage) -> Verdict:
        if stage == "due" or (envelope.src, envelope.dst) not in self.pairs:
            return PASS
        verdict = self._draw(envelope)
        if verdict is not PASS:
            self.touched += 1
        return verdict

    def _draw(self, envelope: Envelope) -> Verdict:
        fault, chance = self.fault, self.rng.random
        if fault.loss and chance() < fault.loss:
            return Drop(f"loss ({self.reason})")
        changed = None
        if fault.corrupt and chance() < fault.corrupt:
            if fault.corrupt_mode == "drop":
                return Drop(f"corrupt ({self.reason})")
            damaged = corrupted(envelope.message, self.rng)
            changed = None if damaged is envelope.message else damaged
        after = fault.delay_us
        if fault.jitter_us:
            after += int(chance() * (fault.jitter_us + 1))
        if fault.reorder and chance() < fault.reorder:
            after += 1 + int(chance() * fault.reorder_us)
        first = None
        if changed is not None:
            first = Deliver(after, changed, "corrupt")
        elif after:
            first = Deliver(after)
        if fault.duplicate and chance() < fault.duplicate:
            return Duplicate(1 + int(chance() * fault.reorder_us), first)
        return first or PASS


class Holding(Rule):
    """Keeps messages until it is told to let go."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.held: list[Envelope] = []

    def judge(self, envelope: Envelope, stage: Stage) -> Verdict:
        if (envelope.src, envelope.dst) not in self.pairs:
            return PASS
        self.touched += 1
        self.held.append(envelope)
        return Held()
