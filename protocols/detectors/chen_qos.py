"""What NFD-S guarantees, in closed form, and how to choose its parameters for a wanted quality.

Chen, Toueg, Aguilera, "On the quality of service of failure detectors", IEEE Transactions on
Computers 51(5), 2002: theorem 5 (closed forms), §4 (configuration for a known law), §5 (for a
law of which only mean and variance are known).

Times are floats in one unit of your choice (seconds, say); ``loss`` is the probability that a
message is lost, ``delay_cdf(x)`` the probability that a message which isn't lost takes at most
``x``. The law is taken to be continuous: P(D < x) = P(D ≤ x).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf

__all__ = ["Choice", "Qos", "configure_known_law", "configure_unknown_law", "qos_nfd_s"]

Cdf = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Qos:
    """The quality of service of a detector: four of the metrics of §2.

    ``detection_max`` bounds T_D (crash to final suspicion); ``recurrence`` is E(T_MR), the mean
    time between two mistakes; ``duration`` E(T_M), the mean length of one; ``accuracy`` P_A, the
    probability that the output is right at a random time. ``mistake`` is p_s, the probability that
    a given freshness point begins a mistake.
    """

    detection_max: float
    recurrence: float
    duration: float
    accuracy: float
    mistake: float


def qos_nfd_s(eta: float, delta: float, loss: float, delay_cdf: Cdf) -> Qos:
    """Return the quality of NFD-S with these parameters (theorem 5). All four are exact.

    p_j(x) = loss + (1 - loss)·P(D > δ + x - jη), u(x) = Π_{j=0..k} p_j(x), k = ⌈δ/η⌉;
    p_s = (1 - loss)·P(D < δ + η)·u(0); E(T_MR) = η/p_s; E(T_M) = ∫u/p_s; P_A = 1 - ∫u/η, the
    integrals from 0 to η.
    """
    _check_law(loss)
    if not (eta > 0 and delta >= 0):
        raise ValueError(f"eta = {eta!r}, delta = {delta!r}: give eta > 0 and delta ≥ 0")
    k = ceil(delta / eta)

    def all_late(x: float) -> float:
        product = 1.0
        for j in range(k + 1):
            product *= loss + (1 - loss) * (1 - delay_cdf(delta + x - j * eta))
        return product

    mistake = (1 - loss) * delay_cdf(delta + eta) * all_late(0.0)
    kinks = [j * eta - delta for j in range(k + 1)]
    wrong = _integral(all_late, [0.0, *sorted(x for x in kinks if 0 < x < eta), eta])
    if not mistake:
        return Qos(delta + eta, inf, 0.0, 1.0 - wrong / eta, 0.0)
    return Qos(delta + eta, eta / mistake, wrong / mistake, 1.0 - wrong / eta, mistake)


@dataclass(frozen=True, slots=True)
class Choice:
    """Parameters of NFD-S that meet a wanted quality with as few heartbeats as possible."""

    eta: float
    delta: float


def configure_known_law(
    detection_max: float, recurrence_min: float, duration_max: float, loss: float, delay_cdf: Cdf
) -> Choice | None:
    """Return the largest η (and δ = T_D^U - η) that meets the three demands; None if none does.

    §4: q = (1 - loss)·P(D < T_D^U); η ≤ q·T_M^U; f(η) ≥ T_MR^L with
    f(η) = η/(q·Π_{j=1}^{⌈T_D^U/η⌉-1} [loss + (1 - loss)·P(D > T_D^U - jη)]).
    """
    _check_law(loss)
    _check_demands(detection_max, recurrence_min, duration_max)
    arrives = (1 - loss) * delay_cdf(detection_max)

    def recurrence(eta: float) -> float:
        product = arrives
        for j in range(1, ceil(detection_max / eta)):
            product *= loss + (1 - loss) * (1 - delay_cdf(detection_max - j * eta))
        return eta / product if product else inf

    if not arrives:
        return None
    eta = _largest(recurrence, recurrence_min, min(arrives * duration_max, detection_max))
    return Choice(eta, detection_max - eta)


def configure_unknown_law(
    detection_max: float,
    recurrence_min: float,
    duration_max: float,
    loss: float,
    mean: float,
    variance: float,
) -> Choice | None:
    """Return η and δ that meet the demands whatever the law of the delay, given E(D) and V(D).

    §5, by the one-sided Chebyshev inequality, with T = T_D^U - E(D): γ' = (1 - loss)·T²/(V + T²);
    η ≤ γ'·T_M^U; f(η) = η·Π_{j=1}^{⌈T/η⌉-1} (V + z_j²)/(V + loss·z_j²), z_j = T - jη.
    None if T_D^U ≤ E(D): then no choice can do.
    """
    _check_law(loss)
    _check_demands(detection_max, recurrence_min, duration_max)
    slack = detection_max - mean
    if slack <= 0 or loss == 1:
        return None

    def recurrence(eta: float) -> float:
        product = eta
        for j in range(1, ceil(slack / eta)):
            z2 = (slack - j * eta) ** 2
            unsafe = variance + loss * z2
            product = product * (variance + z2) / unsafe if unsafe else inf
        return product

    arrives = (1 - loss) * slack * slack / (variance + slack * slack)
    eta = _largest(recurrence, recurrence_min, min(arrives * duration_max, slack))
    return Choice(eta, detection_max - eta)


def _check_law(loss: float) -> None:
    if not 0 <= loss <= 1:
        raise ValueError(f"loss = {loss!r}: give a probability, from 0 to 1")


def _check_demands(*demands: float) -> None:
    if not all(0 < demand < inf for demand in demands):
        raise ValueError(
            f"detection_max, recurrence_min, duration_max = {demands}: give positive, finite times"
        )


_STEPS = 400


def _largest(f: Callable[[float], float], least: float, top: float) -> float:
    """Return the largest x ≤ ``top`` with f(x) ≥ ``least``, for f that grows without bound at 0.

    Goes down from ``top`` in steps of 0.25 % and bisects the first step in which f gets there: an
    interval of good x that is narrower than a step may be missed.
    """
    if f(top) >= least:
        return top
    bad = top
    good = bad * (1 - 1 / _STEPS)
    while f(good) < least:
        bad, good = good, good * (1 - 1 / _STEPS)
    while True:
        middle = (good + bad) / 2
        if not good < middle < bad:
            return good
        good, bad = (middle, bad) if f(middle) >= least else (good, middle)


def _integral(f: Callable[[float], float], cuts: list[float]) -> float:
    """Integrate ``f``, smooth between the cuts, by adaptive Simpson (error below 1e-12 of f's)."""
    total = 0.0
    for low, high in pairwise(cuts):
        middle = (low + high) / 2
        ends = (f(low), f(middle), f(high))
        total += _simpson(f, low, high, ends, 1e-13 * (high - low), 48)
    return total


def _simpson(
    f: Callable[[float], float],
    low: float,
    high: float,
    values: tuple[float, float, float],
    tolerance: float,
    depth: int,
) -> float:
    at_low, at_middle, at_high = values
    middle, width = (low + high) / 2, high - low
    left, right = f((low + middle) / 2), f((middle + high) / 2)
    coarse = width / 6 * (at_low + 4 * at_middle + at_high)
    fine = width / 12 * (at_low + 4 * left + 2 * at_middle + 4 * right + at_high)
    if depth == 0 or (depth < 44 and abs(fine - coarse) <= 15 * tolerance):
        return fine + (fine - coarse) / 15
    first = _simpson(f, low, middle, (at_low, left, at_middle), tolerance / 2, depth - 1)
    return first + _simpson(f, middle, high, (at_middle, right, at_high), tolerance / 2, depth - 1)
