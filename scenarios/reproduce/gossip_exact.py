"""The simple epidemic as a Markov chain on the number of informed sites: no dice, exact figures.

For few sites, to hold the simulated means against something that was not simulated. All sites
being alike, the number informed after a cycle depends only on the number before it.
"""

from __future__ import annotations

from math import comb

from scenarios.reproduce.gossip_model import Mode

__all__ = ["CHAIN", "expected_curve", "expected_rounds"]

CHAIN = "Markov chain on the number of informed sites, computed exactly"

Chances = dict[int, float]
"""How many sites learn the rumour in a cycle, with what probability."""

_NEGLIGIBLE = 1e-15


def expected_rounds(n: int, mode: Mode, fanout: int = 1) -> float:
    """Mean number of cycles until all ``n`` sites know a rumour that nobody loses interest in.

    Some n³ steps for push, n² for pull (which takes fan-out 1 only).
    """
    left = [0.0] * (n + 1)
    for informed in range(n - 1, 0, -1):
        chances = _learn(n, informed, mode, fanout)
        later = sum(p * left[informed + new] for new, p in chances.items() if new)
        left[informed] = (1 + later) / (1 - chances.get(0, 0.0))
    return left[1]


def expected_curve(n: int, mode: Mode, cycles: int, fanout: int = 1) -> list[float]:
    """Mean share of the sites that know the rumour at the end of cycle 0, 1, … ``cycles``."""
    state, curve = {1: 1.0}, [1 / n]
    for _ in range(cycles):
        after: Chances = {}
        for informed, share in state.items():
            for new, p in _learn(n, informed, mode, fanout).items():
                after[informed + new] = after.get(informed + new, 0.0) + share * p
        state = after
        curve.append(sum(informed * p for informed, p in state.items()) / n)
    return curve


def _learn(n: int, informed: int, mode: Mode, fanout: int) -> Chances:
    if mode != "push" and fanout != 1:
        raise ValueError(f"fanout={fanout} with {mode}: the chain of pull is for fan-out 1")
    if mode == "pull":
        return _binomial(n - informed, informed / (n - 1))
    pushed = _reached(n, informed, fanout)
    if mode == "push":
        return pushed
    found: Chances = {}
    for hit, p in pushed.items():
        for pulled, q in _binomial(n - informed - hit, informed / (n - 1)).items():
            found[hit + pulled] = found.get(hit + pulled, 0.0) + p * q
    return found


def _reached(n: int, informed: int, fanout: int) -> Chances:
    """How many uninformed sites at least one of the informed sites calls."""
    ways = comb(n - 1, fanout)
    chances: Chances = {0: 1.0}
    for _ in range(informed):
        after: Chances = {}
        for hit, p in chances.items():
            fresh = n - informed - hit
            for new in range(min(fanout, fresh) + 1):
                q = p * comb(fresh, new) * comb(n - 1 - fresh, fanout - new) / ways
                if q > _NEGLIGIBLE:
                    after[hit + new] = after.get(hit + new, 0.0) + q
        chances = after
    return chances


def _binomial(trials: int, p: float) -> Chances:
    """The binomial distribution without its negligible tails, from the mode outwards."""
    if trials == 0 or p >= 1:
        return {trials: 1.0}
    mode = min(int((trials + 1) * p), trials)
    weights = {mode: 1.0}
    for step, odds in ((1, p / (1 - p)), (-1, (1 - p) / p)):
        at, weight = mode, 1.0
        while 0 <= at + step <= trials and weight > _NEGLIGIBLE:
            weight *= odds * ((trials - at) / (at + 1) if step > 0 else at / (trials - at + 1))
            at += step
            weights[at] = weight
    total = sum(weights[at] for at in sorted(weights))
    return {at: weights[at] / total for at in sorted(weights)}
