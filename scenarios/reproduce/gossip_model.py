"""Rumours as the papers count them: synchronous cycles in plain loops, for many repetitions.

Claim: the same epidemic as :class:`protocols.dissemination.rumor.RumorMongering` on a network
whose latency is far below the period, some hundred times faster. The tests compare the two.

Semantics (Demers et al., Xerox CSL-89-1, §1.4), those that give the paper's tables: all contacts
of a cycle happen at once; partners are uniform among the others; whoever learns the rumour in a
cycle is infective from the next one on; whether a contact was needed is judged on the state at
the *start* of the cycle, so that two pushes to one susceptible site are both useful; a useful
contact sets the counter back to 0. In pull, an infective site's counter is set back if any
of the cycle's pullers needed the rumour, and gains one if there were pullers and none did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal

__all__ = [
    "Epidemic",
    "Interest",
    "Mode",
    "Partner",
    "pull_rumor",
    "push_rumor",
    "simple_epidemic",
    "uniform",
]

Mode = Literal["push", "pull", "push-pull"]

Partner = Callable[[int, int], int]
"""Whom a site calls: ``partner(cycle, site)``, sites being numbered 0 to n - 1; 0 is the source."""

_NEVER = 1 << 60


@dataclass(frozen=True, slots=True)
class Epidemic:
    """How one rumour spread among ``n`` sites.

    ``curve[c]`` is how many sites know it at the end of cycle c (``curve[0]`` is 1, the source);
    ``updates`` how many times it was sent, refused connections not counted.
    """

    n: int
    curve: tuple[int, ...]
    updates: int

    @property
    def residue(self) -> float:
        """Share of the sites that never learn it: the paper's s."""
        return 1 - self.curve[-1] / self.n

    @property
    def traffic(self) -> float:
        """Updates sent per site: the paper's m."""
        return self.updates / self.n

    @property
    def t_last(self) -> int:
        """The cycle in which the last site that ever learns it does: the paper's t_last."""
        return self.curve.index(self.curve[-1])

    def fraction_at(self, cycle: int) -> float:
        """Share of the sites that know it at the end of ``cycle``."""
        return self.curve[min(cycle, len(self.curve) - 1)] / self.n

    def rounds_to(self, fraction: float) -> int | None:
        """The first cycle at whose end at least ``fraction`` of the sites know it; None: never."""
        needed = fraction * self.n
        return next((cycle for cycle, knows in enumerate(self.curve) if knows >= needed), None)


@dataclass(frozen=True, slots=True)
class Interest:
    """When an infective site loses interest (§1.4): after ``k`` contacts, or by a coin of 1/k.

    ``feedback``: only unneeded contacts count, and a needed one sets the counter back to 0;
    otherwise (blind) every contact counts.
    """

    k: int
    feedback: bool = True
    coin: bool = False

    def after(self, counter: int, needed: bool, rng: Random) -> int:
        """The counter after a contact; ``k`` means that interest is lost."""
        if needed and self.feedback:
            return 0
        if self.coin:
            return self.k if rng.random() * self.k < 1 else 0
        return counter + 1


def uniform(n: int, rng: Random) -> Partner:
    """Partners drawn uniformly among the other ``n`` - 1 sites, at every call."""
    draw, others = rng.random, n - 1

    def partner(cycle: int, site: int) -> int:
        other = int(draw() * others)
        return other + (other >= site)

    return partner


def push_rumor(
    n: int,
    rng: Random,
    interest: Interest,
    *,
    limit: int | None = None,
    partner: Partner | None = None,
) -> Epidemic:
    """One rumour among ``n`` sites, pushed by each infective site to one partner per cycle.

    With a connection ``limit`` a site takes so many contacts per cycle and refuses the rest; a
    refused contact gives no feedback and isn't counted as traffic.
    """
    call, after, k = partner or uniform(n, rng), interest.after, interest.k
    learned, counter = [0] + [_NEVER] * (n - 1), [0] * n
    hot, curve, cycle, updates = [0], [1], 0, 0
    while hot:
        cycle += 1
        contacts, hot = _accepted([(site, call(cycle, site)) for site in hot], limit, rng)
        updates += len(contacts)
        fresh: list[int] = []
        for site, other in contacts:
            if learned[other] > cycle:
                learned[other] = cycle
                fresh.append(other)
            counter[site] = after(counter[site], learned[other] == cycle, rng)
            if counter[site] < k:
                hot.append(site)
        hot += fresh
        curve.append(curve[-1] + len(fresh))
    return Epidemic(n, tuple(curve), updates)


def _accepted(
    contacts: list[tuple[int, int]], limit: int | None, rng: Random
) -> tuple[list[tuple[int, int]], list[int]]:
    """The contacts within the limit, first come first served, and the sites that were refused."""
    if limit is None:
        return contacts, []
    rng.shuffle(contacts)
    taken: dict[int, int] = {}
    accepted, refused = [], []
    for site, other in contacts:
        taken[other] = taken.get(other, 0) + 1
        if taken[other] <= limit:
            accepted.append((site, other))
        else:
            refused.append(site)
    return accepted, refused


def pull_rumor(
    n: int, rng: Random, interest: Interest, *, partner: Partner | None = None
) -> Epidemic:
    """One rumour among ``n`` sites; every site asks one partner per cycle, whatever it knows."""
    call, after, k = partner or uniform(n, rng), interest.after, interest.k
    knows, hot, counter = [True] + [False] * (n - 1), [True] + [False] * (n - 1), [0] * n
    infective, curve, cycle, updates = [0], [1], 0, 0
    while infective:
        cycle += 1
        answers = [(s, other) for s in range(n) if hot[other := call(cycle, s)]]
        updates += len(answers)
        fresh = [site for site, _ in answers if not knows[site]]
        needed = {other: False for _, other in answers}
        needed.update((other, True) for site, other in answers if not knows[site])
        for other, was_needed in needed.items():
            counter[other] = after(counter[other], was_needed, rng)
            hot[other] = counter[other] < k
        for site in fresh:
            knows[site] = hot[site] = True
        infective = [site for site in infective if hot[site]] + fresh
        curve.append(curve[-1] + len(fresh))
    return Epidemic(n, tuple(curve), updates)


def simple_epidemic(n: int, rng: Random, mode: Mode, fanout: int = 1) -> Epidemic:
    """A rumour that nobody loses interest in, until all ``n`` sites know it (§1.3's epidemic).

    ``fanout`` distinct partners per site and cycle. ``updates`` counts the needed ones only:
    without removal the others never end. Sites that know it are called 0, 1, …: all sites being
    alike, those that learn it in a cycle may take the next numbers.
    """
    informed, curve = 1, [1]
    call = uniform(n, rng)
    while informed < n:
        reached = bytearray(n)
        if mode != "pull":
            for site in range(informed):
                for other in _distinct(call, site, fanout):
                    reached[other] = 1
        if mode != "push":
            for site in range(informed, n):
                if min(_distinct(call, site, fanout)) < informed:
                    reached[site] = 1
        informed += sum(reached[informed:])
        curve.append(informed)
    return Epidemic(n, tuple(curve), n - 1)


def _distinct(call: Partner, site: int, count: int) -> list[int]:
    chosen = [call(0, site)]
    while len(chosen) < count:
        other = call(0, site)
        if other not in chosen:
            chosen.append(other)
    return chosen
