"""The quality of service of NFD-S, measured on the real process in the simulator.

Chen, Toueg, Aguilera, "On the quality of service of failure detectors", IEEE Transactions on
Computers 51(5), 2002: theorem 5 at the parameters of their simulations (§7), η = 1 s, 1 % loss,
exponential delays of 20 ms in the mean. ``chen_quality`` of :mod:`scenarios.reproduce.detectors`
has the closed forms.

Rare mistakes
  With 1 % loss, NFD-S with δ = 2.5 s errs once in a million heartbeats: waiting for 10,000 such
  mistakes would take 10¹⁰ heartbeats. So these runs are *conditional*: a rule on the wire drops m
  heartbeats in a row, i to i+m-1, again and again; all others are lost and delayed by chance, and
  only what begins at τ_i is counted. As losses are independent of each other, a mistake begins
  at a freshness point with probability loss^m · p̂, p̂ being the share of these trials in which one
  began. What is left out are mistakes in which one of the m heartbeats was not lost but late: at
  most a share of P(delay > δ - (m - 1)η)/loss of them, which every row keeps below 0.04 %.
Lengths
  Chosen so that the standard error, which every row tells, is about a third of the 3 % allowed or
  less. Where a mistake mostly takes 20 ms and at times a second, that takes 115,000 mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import hypot, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from protocols.detectors.chen import NfdS
from protocols.detectors.observations import Suspect
from protocols.values import SECOND, NodeId
from scenarios.reproduce.detector_runs import (
    BY_SIMULATION,
    LOSS,
    MEAN_DELAY_US,
    Detectors,
    dropping,
    star,
)
from scenarios.reproduce.detectors import _QUALITY as QUALITY
from scenarios.reproduce.rows import Row, row
from sim.check.qos import Metric, pool
from sim.check.timeline import PairRecord
from sim.latency import Exponential
from sim.links import LinkSpec

__all__ = ["FULL", "QUICK", "Plan", "nfd_s_given_losses", "nfd_s_plain"]

_CHEN = "Chen, Toueg, Aguilera, IEEE ToC 51(5), 2002, theorem 5, parameters of §7"


def nfd_s(deltas: Sequence[float]) -> Detectors:
    """NFD-S with η = 1 s and these δ (seconds), side by side on the same heartbeats."""
    return tuple((f"{d:.2f}", NfdS(SECOND, round(d * SECOND))) for d in deltas)


# -- NFD-S, nothing forced --------------------------------------------------------------------


def nfd_s_plain(
    deltas: Sequence[float] = (1.00, 1.02), beats: int = 2_700_000, *, seed: int = 1
) -> Iterator[Row]:
    """E(T_MR) of NFD-S as it comes, over 20 pairs and so many heartbeats in all."""
    records = _watch(deltas, 20, beats // 20, seed)
    for delta, recurrence, *_ in QUALITY:
        if delta in deltas:
            found = pool(records[f"{delta:.2f}"]).t_mr
            assert found is not None
            yield row(
                f"NFD-S delta {delta:.2f}, plain run: E(T_MR), s",
                recurrence,
                found.value / SECOND,
                relative=BY_SIMULATION,
                source=_CHEN,
                assumption=f"20 pairs, {beats:,} heartbeats: {_told(found)}",
            )


def _told(found: Metric) -> str:
    interval, text = found.interval, f"{found.n:,} times between mistakes"
    if interval is None:
        return text
    return f"{text}, 95 % interval {interval.low / SECOND:.6g} to {interval.high / SECOND:.6g} s"


def _watch(
    deltas: Sequence[float], pairs: int, beats: int, seed: int
) -> dict[str, list[PairRecord]]:
    detectors = nfd_s(deltas)
    link = LinkSpec(Exponential(MEAN_DELAY_US), loss=LOSS)
    cluster, names = star(pairs, link, detectors, seed)
    told: dict[tuple[str, NodeId], list[tuple[int, bool]]] = {
        (detector, name): [] for detector, _ in detectors for name in names
    }
    cluster.observers.append(
        lambda t, node, seen: told[seen.detector, node].append((t, type(seen) is Suspect))  # type: ignore[attr-defined]
    )
    cluster.start()
    end = beats * SECOND
    cluster.run_until(end)
    start = 10 * SECOND  # by then everybody has heard the first heartbeats
    return {
        detector: [PairRecord(m, "s", start, end, tuple(told[detector, m])) for m in names]
        for detector, _ in detectors
    }


# -- NFD-S, given that m heartbeats are lost --------------------------------------------------


@dataclass(slots=True)
class Trials:
    """What began at the freshness points τ_i of heartbeats i that were dropped by force.

    ``lasted_us``: detector → how long each mistake was; ``count``: how many trials there were.
    """

    count: int
    lasted_us: dict[str, list[int]] = field(default_factory=dict)


def given_losses(
    deltas: Sequence[float],
    forced: int,
    trials: int,
    *,
    seed: int,
    pairs: int = 50,
    loss: float = LOSS,
) -> Trials:
    """Force losses of ``forced`` heartbeats in a row, of every ``forced`` + 3, and watch NFD-S.

    The three others between keep trials apart: all of them are lost once in a million trials.
    """
    period, cycles = forced + 3, -(-trials // pairs)
    detectors = nfd_s(deltas)
    link = LinkSpec(Exponential(MEAN_DELAY_US), loss=loss)
    cluster, _ = star(pairs, link, detectors, seed)
    cluster.network.rules.append(dropping(lambda sequence: sequence % period < forced))
    found = Trials(cycles * pairs, {detector: [] for detector, _ in detectors})
    deltas_us = {detector: round(float(detector) * SECOND) for detector, _ in detectors}
    since: dict[tuple[str, NodeId], int] = {}

    def note(t: int, node: NodeId, seen: object) -> None:
        detector: str = seen.detector  # type: ignore[attr-defined]
        if type(seen) is Suspect:
            trial, off = divmod(t - deltas_us[detector], period * SECOND)
            if off == 0 and 1 <= trial <= cycles:
                since[detector, node] = t
        elif (start := since.pop((detector, node), None)) is not None:
            found.lasted_us[detector].append(t - start)

    cluster.observers.append(note)
    cluster.start()
    cluster.run_until(((cycles + 1) * period - 1) * SECOND + 40 * SECOND)
    assert not since, "a mistake went on for 40 s"
    return found


class Plan(NamedTuple):
    """A conditional run: δ of the detectors, heartbeats forced in a row, trials, what to tell."""

    deltas: tuple[float, ...]
    forced: int
    trials: int
    figures: tuple[str, ...] = ("E(T_MR), s", "E(T_M), s", "P_A")


FULL = (
    Plan((1.00, 1.02), 1, 350_000),
    Plan((1.05, 1.10), 1, 750_000),
    Plan((1.25, 1.50, 2.00), 2, 130_000),
    Plan((2.50,), 3, 20_000),
)
"""Everything within 3 %: see the module about lengths."""
QUICK = (
    Plan((1.00, 1.02), 1, 20_000, ("E(T_MR), s",)),
    Plan((1.25, 1.50), 2, 4_000),
    Plan((2.50,), 3, 4_000),
)
"""Seconds long: what can be told so soon with a standard error of at most 1 %."""


def nfd_s_given_losses(plans: Sequence[Plan] = FULL, *, seed: int = 1) -> Iterator[Row]:
    """E(T_MR), E(T_M) and P_A of NFD-S by conditional runs (see the module)."""
    for plan in plans:
        found = given_losses(plan.deltas, plan.forced, plan.trials, seed=seed)
        for delta, recurrence, duration, accuracy, _ in QUALITY:
            if delta in plan.deltas:
                yield from _quality(found, plan, delta, (recurrence, duration, accuracy))


def _quality(
    found: Trials, plan: Plan, delta: float, published: tuple[float, float, float]
) -> Iterator[Row]:
    """The rows of one detector. P_A is held to 3 % of 1 - P_A, which is far more than 3 % of it."""
    lasted = [us / SECOND for us in found.lasted_us[f"{delta:.2f}"]]
    weight, share, duration = LOSS**plan.forced, len(lasted) / found.count, fmean(lasted)
    share_error = sqrt((1 - share) / (share * found.count))
    mean_error = stdev(lasted) / duration / sqrt(len(lasted))
    recurrence, mistake, accuracy = published
    measured = {
        "E(T_MR), s": (recurrence, 1 / (weight * share), recurrence, share_error),
        "E(T_M), s": (mistake, duration, mistake, mean_error),
        "P_A": (
            accuracy,
            1 - weight * share * duration,
            1 - accuracy,
            hypot(share_error, mean_error),
        ),
    }
    many = f"{found.count:,} trials of weight {weight:g}, {len(lasted):,} mistakes"
    for what in plan.figures:
        expected, ours, scale, error = measured[what]
        told = (
            f"{error:.2%} of 1 - P_A, 3 % of which is allowed" if what == "P_A" else f"{error:.2%}"
        )
        yield row(
            f"NFD-S delta {delta:.2f}, given {plan.forced} lost: {what}",
            expected,
            ours,
            tolerance=BY_SIMULATION * scale,
            source=_CHEN,
            assumption=f"{many}; standard error {told}",
        )
