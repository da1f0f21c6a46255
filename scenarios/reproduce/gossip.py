"""Published figures of gossip beside ours: Demers' tables, mean rounds, Serf's curve.

The figures come from the synchronous model of :mod:`scenarios.reproduce.gossip_model`; that the
protocol :class:`protocols.dissemination.rumor.RumorMongering` in the simulator gives the same is
what ``tests/scenarios/test_reproduce_gossip.py`` shows (contact by contact, and in the mean).

Tolerances. A published mean is rounded, and is itself the mean of some runs. Demers et al. don't
say of how many; their tables for the CIN network are means of 250, and the residue 4.0e-6 in
table 3 is one site of a thousand in 250 runs. So a row may differ by half a unit of the last
published digit + 3 standard deviations of the difference of two means, of 250 runs and of ours.

Left out: t_ave of the push tables (11.0 to 12.8), which no reading of the model gives: the mean
cycle of learning is 9.8 to 10.1, and the mean cycle of an update *message* 10.8, 11.8, 12.5, …
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor, log, log2
from random import Random
from statistics import mean, stdev

from scenarios.reproduce.gossip_exact import CHAIN, expected_rounds
from scenarios.reproduce.gossip_model import (
    Epidemic,
    Interest,
    Mode,
    pull_rumor,
    push_rumor,
    simple_epidemic,
)
from scenarios.reproduce.gossip_serf import serf_rows
from scenarios.reproduce.rows import Row, row

__all__ = ["TABLES", "Table", "all_rows", "demers_rows", "rounds_rows", "serf_rows"]

SITES = 1000
PUBLISHED_RUNS = 250
DEMERS = "Demers et al., CSL-89-1 (PODC 1987), table"

Run = Callable[[Random], Epidemic]
Published = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """One of the paper's tables: per k the residue s, traffic m and t_last, as printed."""

    number: int
    title: str
    run: Callable[[int, Random], Epidemic]
    lines: tuple[Published, ...]


TABLES = (
    Table(
        1,
        "push, feedback, counter",
        lambda k, rng: push_rumor(SITES, rng, Interest(k)),
        (
            ("0.18", "1.7", "16.8"),
            ("0.037", "3.3", "16.9"),
            ("0.011", "4.5", "17.4"),
            ("0.0036", "5.6", "17.5"),
            ("0.0012", "6.7", "17.7"),
        ),
    ),
    Table(
        2,
        "push, blind, coin",
        lambda k, rng: push_rumor(SITES, rng, Interest(k, feedback=False, coin=True)),
        (
            ("0.96", "0.04", "38"),
            ("0.20", "1.6", "33"),
            ("0.060", "2.8", "32"),
            ("0.021", "3.9", "32"),
            ("0.008", "4.9", "32"),
        ),
    ),
    Table(
        3,
        "pull, feedback, counter",
        lambda k, rng: pull_rumor(SITES, rng, Interest(k)),
        (
            ("0.031", "2.7", "17.6"),
            ("0.00058", "4.5", "15.4"),
            ("0.0000040", "6.1", "14.0"),
        ),
    ),
)


def demers_rows(runs: int = 500, *, seed: int = 1, tables: Iterable[int] = (1, 2, 3)) -> list[Row]:
    """Residue, traffic and t_last of the tables 1 to 3, for every k (about a minute)."""
    wanted = tuple(tables)
    return [
        line
        for table in TABLES
        if table.number in wanted
        for k, published in enumerate(table.lines, 1)
        for line in _table_line(table, k, published, runs, seed)
    ]


def _table_line(table: Table, k: int, published: Published, runs: int, seed: int) -> list[Row]:
    rng = Random(1_000 * seed + 10 * table.number + k)
    epidemics = [table.run(k, rng) for _ in range(runs)]
    # Few sites are left over at large k: the spread of their number is at least Poisson's.
    poisson = (float(published[0]) / SITES) ** 0.5
    measured = {
        "residue s": ([e.residue for e in epidemics], poisson),
        "traffic m": ([e.traffic for e in epidemics], 0.0),
        "t_last": ([float(e.t_last) for e in epidemics], 0.0),
    }
    return [
        _mean_row(f"{table.title}, k={k}: {what}", text, samples, f"{DEMERS} {table.number}", least)
        for (what, (samples, least)), text in zip(measured.items(), published, strict=True)
    ]


def _mean_row(
    name: str, published: str, samples: Sequence[float], source: str, least_deviation: float
) -> Row:
    """A published mean, as printed, beside the mean of ``samples``."""
    last_digit = 10.0 ** int(Decimal(published).as_tuple().exponent)
    deviation = max(stdev(samples), least_deviation)
    error = deviation * (1 / len(samples) + 1 / PUBLISHED_RUNS) ** 0.5
    return row(
        name,
        float(published),
        mean(samples),
        tolerance=last_digit / 2 + 3 * error,
        source=source,
        assumption=f"{SITES} sites; their mean of {PUBLISHED_RUNS} runs, ours of {len(samples)}",
    )


# -- mean rounds ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bound:
    """What is published about the mean number of rounds: it lies between ``low`` and ``high``."""

    low: Callable[[int], float]
    high: Callable[[int], float]
    formula: str
    source: str


# Doerr and Künnemann prove their constants. For pull and push-pull the O(1) is not given: read as
# at most one and a half rounds (it is near 1 for pull and near 0.1 for push-pull).
BOUNDS: dict[Mode, Bound] = {
    "push": Bound(
        lambda n: floor(log2(n)) + log(n) - 1.116,
        lambda n: ceil(log2(n)) + log(n) + 2.765,
        "floor(log2 n) + ln n - 1.116 to ceil(log2 n) + ln n + 2.765",
        "Doerr, Künnemann: Tight analysis of randomized rumor spreading in complete graphs (2014)",
    ),
    "pull": Bound(
        lambda n: log2(n) + log2(log(n)) - 1.5,
        lambda n: log2(n) + log2(log(n)) + 1.5,
        "log2 n + log2 ln n + O(1), O(1) read as at most 1.5",
        "Doerr, Kostrygin: Randomized rumor spreading revisited (2017)",
    ),
    "push-pull": Bound(
        lambda n: log(n, 3) + log2(log(n)) - 1.5,
        lambda n: log(n, 3) + log2(log(n)) + 1.5,
        "log3 n + log2 ln n + O(1), O(1) read as at most 1.5",
        "Karp et al. (FOCS 2000); Doerr, Kostrygin (2017)",
    ),
}
EXACT: tuple[tuple[Mode, int], ...] = (
    ("push", 100),
    ("pull", 100),
    ("push-pull", 100),
    ("pull", 1_000),
    ("pull", 10_000),
)


def rounds_rows(
    runs: int = 500, *, seed: int = 1, sizes: Sequence[int] = (100, 1_000, 10_000)
) -> list[Row]:
    """Mean rounds until all know, by push, pull and push-pull.

    ``runs`` at 1,000 sites, twice as many at 100, a fifth at 10,000: the standard deviation is
    about 1.4 rounds at each of them.
    """
    rows = []
    for mode in BOUNDS:
        for n in sizes:
            rng = Random(f"{seed} {mode} {n}")
            count = max(2, round(runs * {100: 2.0, 10_000: 0.2}.get(n, 1.0)))
            rows += _rounds_rows(
                mode, n, [simple_epidemic(n, rng, mode).t_last for _ in range(count)]
            )
    return rows


def _rounds_rows(mode: Mode, n: int, samples: Sequence[int]) -> list[Row]:
    ours, error = mean(samples), stdev(samples) / len(samples) ** 0.5
    bound = BOUNDS[mode]
    low, high = bound.low(n), bound.high(n)
    name, counted = f"{mode}, n={n}: mean rounds", f"mean of {len(samples)} runs"
    rows = [
        row(
            f"{name}, bounds",
            (low + high) / 2,
            ours,
            tolerance=(high - low) / 2 + 3 * error,
            source=bound.source,
            assumption=f"{bound.formula} (the middle is shown); {counted}",
        )
    ]
    if (mode, n) in EXACT:
        exact, name = expected_rounds(n, mode), f"{name}, exact"
        rows.append(row(name, exact, ours, tolerance=3 * error, source=CHAIN, assumption=counted))
    return rows


def all_rows() -> list[Row]:
    """Everything, at full size: one to two minutes on one core."""
    return demers_rows() + rounds_rows() + serf_rows()
