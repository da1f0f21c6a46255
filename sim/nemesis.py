"""The nemesis: draws fault plans at random, so that a campaign tries what nobody thought of.

Swarm style (Groce, Zhang, Eide, Chen, Regehr, "Swarm Testing", ISSTA 2012): every plan first draws
which kinds of fault it knows at all and how much it likes each, because a plan that never crashes
a node finds bugs that crashes would have hidden. Then it draws how many faults there are, when, and
whom they hit.

In ``safety`` mode anything goes. In ``liveness`` mode the cluster is whole again at ``heal_at``:
every fault has an end by then, never more than a minority is down, and kinds that leave something
behind are not drawn. ``EXCLUDED_FROM_LIVENESS`` says which and why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from random import Random
from typing import TypeVar

from sim.faults import Crash, CrashLoop, Disk, Fault, Pause, Targets
from sim.fields import FieldError
from sim.nemesis_dice import Dice, Domains, pick
from sim.nemesis_kinds import Kind
from sim.nemesis_spec import (
    EXCLUDED_FROM_LIVENESS,
    WORDS,
    NemesisSpec,
    kinds_named,
    parse_nemesis,
)
from sim.plan import Plan

__all__ = ["EXCLUDED_FROM_LIVENESS", "NemesisSpec", "draw_plan", "parse_nemesis"]

T = TypeVar("T")
Swarm = list[tuple[list[tuple[Kind, int]], int]]

# -- drawing --------------------------------------------------------------------------------------

_TRIES = 8
"""How often a fault that would take too many nodes down is drawn again before it is given up."""


def draw_plan(
    spec: NemesisSpec,
    nodes: Sequence[str],
    rng: Random,
    *,
    racks: Mapping[str, Sequence[str]] | None = None,
    zones: Mapping[str, Sequence[str]] | None = None,
    regions: Mapping[str, Sequence[str]] | None = None,
    roles: Sequence[str] = (),
) -> Plan:
    """A random plan of 1 to ``spec.budget`` faults, the same for the same state of ``rng``.

    ``racks``, ``zones``, ``regions`` map each name to its nodes. FieldError if nothing that
    ``spec`` wants can be done to so few nodes.
    """
    limit = spec.most_down(len(nodes))
    domains = {"rack": racks or {}, "zone": zones or {}, "region": regions or {}}
    dice = Dice(
        rng=rng,
        nodes=tuple(nodes),
        intensity=spec.intensity,
        start_us=spec.start_us,
        stop_us=spec.stop_us,
        end_us=spec.end_us,
        most_down=len(nodes) if limit is None else limit,
        endless=spec.mode == "safety",
        roles=tuple(roles),
        sole_roles=spec.sole_roles,
        domains=domains,
    )
    swarm = _draw_swarm(_possible(spec, len(nodes), limit), rng)
    number = _draw_number(spec, swarm, rng)
    downtimes = None if limit is None else Downtimes(dice.nodes, domains, limit)
    return Plan(tuple(_draw_faults(dice, swarm, number, downtimes))).sorted()


def _possible(spec: NemesisSpec, nodes: int, limit: int | None) -> list[Kind]:
    """The kinds that the specification wants, the mode permits and so many nodes allow."""
    wanted = [kind for name in spec.kinds or WORDS for kind in kinds_named(name)]
    possible = [
        kind
        for kind in dict.fromkeys(wanted)
        if kind.nodes <= nodes
        and kind.lines <= spec.budget
        and not (kind.down and limit == 0)
        and not (kind.harm and spec.mode == "liveness")
    ]
    if not possible:
        down = "any number" if limit is None else str(limit)
        allowed = f"kinds that need at most {nodes} nodes and {spec.budget} lines, {down} down"
        raise FieldError(list(spec.kinds or WORDS), allowed, path=("kinds",))
    return possible


def _draw_swarm(possible: list[Kind], rng: Random) -> Swarm:
    """Which fault words this plan knows, which variants of each, and how much it likes them."""
    words = _some(list(dict.fromkeys(kind.word for kind in possible)), rng)
    swarm: Swarm = []
    for word in words:
        variants = _some([kind for kind in possible if kind.word == word], rng)
        weighted = [(kind, 1 + rng.randrange(9)) for kind in variants]
        swarm.append((weighted, 1 + rng.randrange(9)))
    return swarm


def _some(options: list[T], rng: Random) -> list[T]:
    """Each option with probability 1/2, but at least one."""
    return [one for one in options if rng.randrange(2)] or [rng.choice(options)]


def _draw_number(spec: NemesisSpec, swarm: Swarm, rng: Random) -> int:
    least = min(kind.lines for variants, _ in swarm for kind, _ in variants)
    return max(least, 1 + rng.randrange(ceil(spec.intensity * spec.budget)))


def _draw_faults(dice: Dice, swarm: Swarm, number: int, downtimes: Downtimes | None) -> list[Fault]:
    faults: list[Fault] = []
    while fitting := _fitting(swarm, number - len(faults)):
        kind = pick(dice.rng, pick(dice.rng, fitting))
        for _ in range(_TRIES):
            drawn = kind.draw(dice)
            if downtimes is None or downtimes.admit(drawn):
                faults.extend(drawn)
                break
        else:
            number -= 1
    return faults


def _fitting(swarm: Swarm, lines: int) -> Swarm:
    """What of the swarm still fits into so many lines."""
    fitting = [
        ([(kind, weight) for kind, weight in variants if kind.lines <= lines], liking)
        for variants, liking in swarm
    ]
    return [(variants, liking) for variants, liking in fitting if variants]


# -- how many are down ----------------------------------------------------------------------------

_FOREVER = 1 << 62


class Downtimes:
    """Who is down or paused from when until when, so that it is never more than ``limit`` nodes.

    A node is in one downtime at a time. Random and role targets may be any node, and so exclude
    other downtimes while they last; a role counts as one node (only sole roles get here).
    """

    def __init__(self, nodes: tuple[str, ...], domains: Domains, limit: int) -> None:
        self.nodes, self.domains, self.limit = nodes, domains, limit
        self.taken: list[tuple[int, int, tuple[str, ...] | None, int]] = []

    def admit(self, faults: tuple[Fault, ...]) -> bool:
        """Note the downtime of what was drawn together, unless it would be too much."""
        if (until_us := _down_until(faults)) is None:
            return True
        first = faults[0]
        assert isinstance(first, (Crash, CrashLoop, Pause, Disk))
        names, count = self._hit(first.targets)
        new = (first.at_us, until_us, names, count)
        overlapping = [old for old in self.taken if old[0] < new[1] and new[0] < old[1]]
        if any(_may_meet(names, old[2]) for old in overlapping):
            return False
        moments = [new[0], *(old[0] for old in overlapping if old[0] > new[0])]
        if max(_down_at(moment, overlapping) for moment in moments) + count > self.limit:
            return False
        self.taken.append(new)
        return True

    def _hit(self, targets: Targets) -> tuple[tuple[str, ...] | None, int]:
        """The nodes (None: not known yet) that the targets stand for, and how many at most."""
        names: list[str] = []
        for target in targets:
            if target.kind in ("random", "role"):
                return None, target.count
            if target.kind == "all":
                return self.nodes, len(self.nodes)
            members = self.domains.get(target.kind, {}).get(target.name, (target.name,))
            names.extend(members)
        return tuple(names), len(names)


def _may_meet(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> bool:
    return one is None or other is None or any(name in other for name in one)


def _down_at(moment: int, downtimes: Iterable[tuple[int, int, object, int]]) -> int:
    return sum(count for start, end, _, count in downtimes if start <= moment < end)


def _down_until(faults: tuple[Fault, ...]) -> int | None:
    """Until when the first of these faults keeps its targets down; None: it doesn't at all."""
    first = faults[0]
    if isinstance(first, Disk):
        takes_down = first.kind == "full" or (first.kind == "corrupt" and first.detected)
        return _FOREVER if takes_down else None
    if not isinstance(first, (Crash, CrashLoop, Pause)):
        return None
    if len(faults) == 2:
        return faults[1].at_us
    return _FOREVER if first.until_us is None else first.until_us
