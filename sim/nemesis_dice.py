"""The dice of the nemesis: draws of targets, times and sizes, all of them of integers.

A drawn plan depends on the random stream and on nothing else, on every machine and Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar, cast

from protocols.values import MS, SECOND
from sim.faults import Target, TargetKind, Targets
from sim.plan_targets import ALL

__all__ = ["Dice", "Domains", "pick"]

T = TypeVar("T")
Domains = Mapping[str, Mapping[str, Sequence[str]]]


def pick(rng: Random, weighted: Sequence[tuple[T, int]]) -> T:
    """One of several values, each as likely as its whole-number weight says."""
    drawn = rng.randrange(sum(weight for _, weight in weighted))
    for value, weight in weighted:
        drawn -= weight
        if drawn < 0:
            return value
    raise ValueError("weights must be positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dice:
    """Draws targets, windows and sizes. Faults begin in [start, stop) and end by ``end_us``.

    ``most_down`` nodes may be down at once; ``endless`` allows faults without an end.
    """

    rng: Random
    nodes: tuple[str, ...]
    intensity: float
    start_us: int
    stop_us: int
    end_us: int
    most_down: int
    endless: bool
    roles: tuple[str, ...] = ()
    sole_roles: tuple[str, ...] = ()
    domains: Domains

    # -- sizes --------------------------------------------------------------------------------

    def chance(self, one_in: int) -> bool:
        """True once in ``one_in`` times."""
        return self.rng.randrange(one_in) == 0

    def scaled(self, top: int) -> int:
        """From 1 to ``top`` at full intensity, to a part of it at less."""
        return 1 + self.rng.randrange(max(1, int(top * self.intensity)))

    def share(self) -> float:
        """A probability in whole percent."""
        return self.scaled(100) / 100

    def magnitude(self, powers: int) -> int:
        """A digit times a power of ten, so that small and large sizes are equally likely."""
        return int(10 ** self.rng.randrange(powers)) * (1 + self.rng.randrange(9))

    def signed(self, size: int) -> int:
        """``size`` or its negative."""
        return size if self.chance(2) else -size

    # -- time ---------------------------------------------------------------------------------

    @property
    def grain_us(self) -> int:
        """Times are drawn in whole ms, for people's eyes, unless there is less than 1 s."""
        return MS if self.stop_us - self.start_us >= SECOND else 1

    def moment(self) -> int:
        """When a fault begins."""
        steps = -(-(self.stop_us - self.start_us) // self.grain_us)
        return self.start_us + self.grain_us * self.rng.randrange(steps)

    def window(self) -> tuple[int, int]:
        """When a fault begins and ends. Short and long windows are about equally likely."""
        at_us = self.moment()
        half = int((self.end_us - self.start_us) * self.intensity) // 2
        longest = max(1, (half // self.grain_us) >> self.rng.randrange(5))
        length = self.grain_us * (1 + self.rng.randrange(longest))
        return at_us, min(at_us + length, self.end_us)

    def lasting(self) -> dict[str, Any]:
        """The fields ``at_us`` and ``until_us`` of a fault; sometimes it doesn't end."""
        at_us, until_us = self.window()
        ends = not self.endless or not self.chance(8)
        return {"at_us": at_us, "until_us": until_us if ends else None}

    # -- targets ------------------------------------------------------------------------------

    def targets(self, most: int, *, fixed: bool = False) -> Targets:
        """Whom to hit, at most ``most`` nodes. ``fixed``: the same nodes at any time."""
        options = [("node", 8), *([("nodes", 2)] if most > 1 else [])]
        options += [(kind, 1) for kind in self.domains if self._fitting(kind, most)]
        if most >= len(self.nodes):
            options.append(("all", 1))
        if not fixed:
            options.append(("random", 2))
            options += [("role", 4)] if self._roles(most) else []
        return self._targets(pick(self.rng, options), most)

    def _targets(self, kind: str, most: int) -> Targets:
        rng = self.rng
        if kind == "node":
            return self.named([rng.choice(self.nodes)])
        if kind == "nodes":
            return self.named(rng.sample(self.nodes, 2 + rng.randrange(most - 1)))
        if kind == "random":
            return (Target("random", count=1 + rng.randrange(most)),)
        if kind == "all":
            return (ALL,)
        names = self._roles(most) if kind == "role" else self._fitting(kind, most)
        return (Target(cast(TargetKind, kind), rng.choice(names)),)

    def _fitting(self, kind: str, most: int) -> list[str]:
        return [name for name, nodes in self.domains[kind].items() if 1 <= len(nodes) <= most]

    def _roles(self, most: int) -> tuple[str, ...]:
        """Roles that may be hit: any number of nodes may hold one, unless it is a sole role."""
        if most >= len(self.nodes):
            return self.roles
        return tuple(role for role in self.roles if role in self.sole_roles)

    def named(self, nodes: Iterable[str]) -> Targets:
        """These nodes, in node order."""
        chosen = tuple(nodes)
        return tuple(Target("node", node) for node in self.nodes if node in chosen)

    def one(self) -> Targets:
        """A single node, by name, by role or drawn when the fault begins."""
        options = [("node", 4), ("random", 1), *([("role", 3)] if self.roles else [])]
        kind = pick(self.rng, options)
        if kind == "role":
            return (Target("role", self.rng.choice(self.roles)),)
        return self._targets(kind, 1)

    def anyone(self) -> Targets:
        """Whom to hit with a fault that takes no node down."""
        return self.targets(len(self.nodes))

    def shuffled(self) -> list[str]:
        """The nodes in a random order."""
        nodes = list(self.nodes)
        self.rng.shuffle(nodes)
        return nodes
