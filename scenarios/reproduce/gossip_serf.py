"""Serf's convergence curve beside the gossip that it estimates, and why they differ."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import exp
from random import Random
from statistics import mean, stdev

from scenarios.reproduce.gossip_exact import CHAIN, expected_curve
from scenarios.reproduce.gossip_model import simple_epidemic
from scenarios.reproduce.rows import Row, row

__all__ = [
    "CurvePoint",
    "serf_bandwidth_kbps",
    "serf_curve",
    "serf_fraction",
    "serf_rounds",
    "serf_rows",
]

SERF = "Serf, convergence simulator of its web site (_simulator.js)"


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Share of the nodes that know an update after ``round`` gossip intervals.

    By Serf's formula, by our gossip in the mean of some runs, and by its exact expectation (NaN
    where it wasn't computed).

    Why they differ: Serf's curve is logistic with a rate of fanout/2 = 1.5 per round, ours is
    gossip in rounds. At first Serf's grows by e^1.5 = 4.5 per round and ours by 1 + 3 = 4. In the
    end the share that is left shrinks by e^-1.5 = 0.22 per round in Serf's, and by some
    e^-3 = 0.05 in ours, where each of the n nodes calls 3 of the others: the factor 0.5 of the
    formula halves the contacts. So Serf's page promises 9 rounds for 30 nodes and ours needs
    about 5. It also begins at 1/(n+2) instead of 1/n.
    """

    round: int
    serf: float
    simulated: float
    exact: float


def serf_fraction(
    n: int, rounds: float, *, fanout: int = 3, loss: float = 0.0, failed: float = 0.0
) -> float:
    """Serf's formula: the share of ``n`` nodes that know an update after ``rounds``."""
    rate = fanout * (1 - loss) * (1 - failed) * 0.5
    return 1 / (1 + (n + 1) * exp(-rate * rounds))


def serf_rounds(n: int, *, fanout: int = 3, loss: float = 0.0, failed: float = 0.0) -> int:
    """Rounds until the formula shows at least 0.9999; at most 100, as on Serf's page."""
    shares = (serf_fraction(n, x, fanout=fanout, loss=loss, failed=failed) for x in range(100))
    return next((x for x, share in enumerate(shares) if share >= 0.9999), 100)


def serf_bandwidth_kbps(fanout: int = 3, interval_us: int = 200_000) -> float:
    """Serf's estimate of a node's gossip bandwidth: full packets of 1400 bytes, both ways."""
    return 1400 * fanout / (interval_us / 1e6) * 2 * 8 / 1024


def serf_curve(
    n: int, *, rounds: int = 13, runs: int = 200, seed: int = 1, exact: bool = True
) -> list[CurvePoint]:
    """Serf's curve beside that of our gossip with fan-out 3."""
    rng = Random(seed)
    epidemics = [simple_epidemic(n, rng, "push", fanout=3) for _ in range(runs)]
    expected = (
        expected_curve(n, "push", rounds, fanout=3) if exact else [float("nan")] * (rounds + 1)
    )
    return [
        CurvePoint(x, serf_fraction(n, x), mean(e.fraction_at(x) for e in epidemics), expected[x])
        for x in range(rounds + 1)
    ]


SERF_ROUNDS = ((30, 0.0, 9), (100, 0.0, 10), (1_000, 0.0, 11), (10_000, 0.0, 13), (30, 0.25, 12))
SERF_SHARES = (
    (30, 0.0, (("0.03125", 0), ("0.98314", 5), ("0.99996", 9))),  # 0.9999 reached: it stops here
    (100, 0.0, (("0.00980", 0), ("0.94709", 5), ("0.99997", 10))),
    (1_000, 0.0, (("0.00100", 0), ("0.64365", 5), ("0.99969", 10))),
    (10_000, 0.0, (("0.0001", 0), ("0.15311", 5), ("0.99695", 10))),
    (30, 0.25, (("0.89944", 5),)),
)


def serf_rows(runs: int = 2_000, *, seed: int = 1) -> list[Row]:
    """Serf's formula at its figures, and our gossip with fan-out 3 at its exact expectation."""
    rows = [
        row(f"{_named(n, loss)}: rounds to .9999", rounds, serf_rounds(n, loss=loss), source=SERF)
        for n, loss, rounds in SERF_ROUNDS
    ]
    for n, loss, shares in SERF_SHARES:
        for text, x in shares:
            half_digit = 10.0 ** int(Decimal(text).as_tuple().exponent) / 2
            ours = serf_fraction(n, x, loss=loss)
            name = f"{_named(n, loss)}: share after {x} rounds"
            rows.append(row(name, float(text), ours, tolerance=half_digit, source=SERF))
    rows.append(
        row("Serf, bandwidth, kbps", 328.1, serf_bandwidth_kbps(), tolerance=0.05, source=SERF)
    )
    return rows + _gossip_rows(30, runs, seed)


def _named(n: int, loss: float) -> str:
    return f"Serf, n={n}, loss {loss:.0%}"


def _gossip_rows(n: int, runs: int, seed: int) -> list[Row]:
    rng = Random(seed)
    epidemics = [simple_epidemic(n, rng, "push", fanout=3) for _ in range(runs)]
    expected = expected_curve(n, "push", 5, fanout=3)
    rows = []
    for x in range(1, 6):
        shares = [e.fraction_at(x) for e in epidemics]
        rows.append(
            row(
                f"our gossip, fan-out 3, n={n}: share after {x} rounds",
                expected[x],
                mean(shares),
                tolerance=3 * stdev(shares) / runs**0.5 + 1e-12,
                source=CHAIN,
                assumption=f"mean of {runs} runs; Serf's formula has {serf_fraction(n, x):.5f}",
            )
        )
    return rows
