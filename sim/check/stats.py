"""Means, percentiles and honest confidence intervals, with the standard library alone.

Every interval function returns ``None`` where the data cannot carry an interval: too few values,
or no spread at all (values that never differed say nothing about how far they may). An interval
that exists names its method and the counts it rests on.

Which one to use: independent samples :func:`student_interval` or :func:`bootstrap_interval`; one
long correlated series :func:`batch_means_interval`; successes in trials :func:`wilson_interval`;
rare events in a time :func:`poisson_rate_interval`; a quotient of two sums
:func:`ratio_interval`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeVar

from sim.check.distributions import gamma_quantile, normal_cdf, normal_quantile, student_quantile

T = TypeVar("T")

_ROUNDING = 1e-12

MIN_BOOTSTRAP = 10
"""Fewest samples that are resampled: below it the bootstrap covers far less than it says."""

DEFAULT_BATCHES = 20
"""Batches of :func:`batch_means_interval`; 10 to 30 is the usual advice (Schmeiser 1982)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided confidence interval: ``low <= high``, ``level`` such as 0.95, and how made."""

    low: float
    high: float
    level: float
    method: str

    def __contains__(self, value: float) -> bool:
        """Say whether ``value`` lies in the interval, ends included."""
        return self.low <= value <= self.high

    def to_json(self) -> dict[str, object]:
        """Return a dict that ``json.dumps`` takes as it is."""
        return {"low": self.low, "high": self.high, "level": self.level, "method": self.method}


def mean(values: Sequence[float]) -> float | None:
    """Return the arithmetic mean, correctly rounded; None for no values."""
    return math.fsum(values) / len(values) if values else None


def variance(values: Sequence[float]) -> float | None:
    """Return the sample variance (divisor n - 1); None below two values."""
    centre = mean(values)
    if centre is None or len(values) < 2:
        return None
    return math.fsum((v - centre) ** 2 for v in values) / (len(values) - 1)


def percentile(values: Iterable[float], percent: float) -> float | None:
    """Return the ``percent``-th percentile, 0 to 100; None for no values.

    Linear interpolation at rank ``(n - 1) * percent / 100`` of the sorted values: type 7 of
    Hyndman and Fan (1996), the default of R and NumPy.
    """
    if not 0 <= percent <= 100:
        raise ValueError(f"the percentile is {percent}; it must lie between 0 and 100")
    ordered = sorted(values)
    return _at_percent(ordered, percent) if ordered else None


def percentiles(values: Iterable[float], percents: Sequence[float]) -> tuple[float | None, ...]:
    """Return several percentiles (see :func:`percentile`), sorting once."""
    ordered = sorted(values)
    return tuple(percentile(ordered, percent) for percent in percents)


def _at_percent(ordered: Sequence[float], percent: float) -> float:
    rank = (len(ordered) - 1) * percent / 100
    below = math.floor(rank)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (rank - below) * (ordered[above] - ordered[below])


def student_interval(values: Sequence[float], *, level: float = 0.95) -> Interval | None:
    """Return Student's t interval for the mean of independent, roughly normal values.

    None below two values or without spread.
    """
    half = _half_width(values, level)
    if half is None:
        return None
    centre = math.fsum(values) / len(values)
    return Interval(centre - half, centre + half, level, f"Student t, n={len(values)}")


def _half_width(values: Sequence[float], level: float, scale: float | None = None) -> float | None:
    """Half of Student's interval; None without spread above rounding noise at ``scale``."""
    _check_level(level)
    spread = variance(values)
    if scale is None:
        scale = max(map(abs, values), default=0.0)
    if spread is None or math.sqrt(spread) <= _ROUNDING * scale:
        return None
    t = student_quantile((1 + level) / 2, len(values) - 1)
    return t * math.sqrt(spread / len(values))


def batch_means_interval(
    series: Sequence[float], *, level: float = 0.95, batches: int = DEFAULT_BATCHES
) -> Interval | None:
    """Return an interval for the mean of a stationary, correlated series in its given order.

    The series is cut into ``batches`` runs of equal length, whose means are nearly independent
    if a batch is much longer than the correlation; values left over are dropped at the front.
    None if a batch would hold fewer than two values, or without spread.
    Law and Kelton, Simulation Modeling and Analysis, section 9.5.3.
    """
    if batches < 2:
        raise ValueError(f"batches is {batches}; at least 2 are needed, 10 to 30 are usual")
    size = len(series) // batches
    if size < 2:
        return None
    first = len(series) - size * batches
    starts = range(first, len(series), size)
    means = [math.fsum(series[at : at + size]) / size for at in starts]
    half = _half_width(means, level)
    if half is None:
        return None
    centre = math.fsum(means) / batches
    method = f"batch means, {batches} batches of {size}, Student t"
    return Interval(centre - half, centre + half, level, method)


def lag1_autocorrelation(series: Sequence[float]) -> float | None:
    """Return the correlation of neighbours in a series; None below three values or spread.

    Near 0 the values may be taken as independent; a batch size is long enough when the batch
    means come near 0.
    """
    centre = mean(series)
    if centre is None or len(series) < 3:
        return None
    off = [value - centre for value in series]
    power = math.fsum(x * x for x in off)
    return math.fsum(a * b for a, b in pairwise(off)) / power if power else None


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval | None:
    """Return Wilson's score interval for a proportion; None without trials.

    Wilson, JASA 22 (1927). Sound at 0 and at ``trials`` successes, where p ± z·s is not.
    """
    _check_level(level)
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials; need 0 <= successes <= trials")
    if trials == 0:
        return None
    z2 = normal_quantile((1 + level) / 2) ** 2
    centre = (successes + z2 / 2) / (trials + z2)
    inner = successes * (trials - successes) / trials + z2 / 4
    half = math.sqrt(z2 * inner) / (trials + z2)
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return Interval(low, high, level, f"Wilson score, n={trials}")


def poisson_rate_interval(events: int, exposure: float, *, level: float = 0.95) -> Interval | None:
    """Return the exact interval for the rate of independent events, per unit of ``exposure``.

    None without exposure. Garwood, Biometrika 28 (1936); conservative; sound at 0 events.
    """
    _check_level(level)
    if events < 0 or exposure < 0:
        raise ValueError(f"{events} events in an exposure of {exposure}; neither may be negative")
    if exposure == 0:
        return None
    tail = (1 - level) / 2
    low = gamma_quantile(tail, events) if events else 0.0
    high = gamma_quantile(1 - tail, events + 1)
    return Interval(low / exposure, high / exposure, level, f"exact Poisson, {events} events")


def ratio_interval(pairs: Sequence[tuple[float, float]], *, level: float = 0.95) -> Interval | None:
    """Return an interval for E(Y)/E(X) from independent pairs (y, x), by the delta method.

    The estimate is sum(y)/sum(x); its error that of the mean of ``(y - ratio·x) / mean(x)``, with
    Student's t on n - 1 degrees of freedom. None below two pairs, if sum(x) is not above 0, or
    without spread. Cochran, Sampling Techniques, chapter 6.
    """
    below = math.fsum(x for _, x in pairs)
    if len(pairs) < 2 or below <= 0:
        _check_level(level)
        return None
    ratio = math.fsum(y for y, _ in pairs) / below
    mean_x = below / len(pairs)
    scale = abs(ratio) * max(abs(x) for _, x in pairs) / mean_x
    half = _half_width([(y - ratio * x) / mean_x for y, x in pairs], level, scale)
    if half is None:
        return None
    return Interval(ratio - half, ratio + half, level, f"ratio, delta method, n={len(pairs)}")


def bootstrap_interval(
    samples: Sequence[T],
    statistic: Callable[[Sequence[T]], float],
    rng: random.Random,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    method: Literal["bca", "percentile"] = "bca",
) -> Interval | None:
    """Return a bootstrap interval for ``statistic`` of independent samples.

    ``bca`` corrects bias and skewness (Efron and Tibshirani 1993, section 14.3) and also calls
    the statistic once per left-out sample. The answer is a function of the samples and of the
    state of ``rng``. None below :data:`MIN_BOOTSTRAP` samples, or if the resamples never differ
    or all lie on one side of the estimate.
    """
    _check_level(level)
    if resamples < 100 or method not in ("bca", "percentile"):
        raise ValueError(
            f"resamples={resamples}, method={method!r}; need 100 or more, 'bca' or 'percentile'"
        )
    if len(samples) < MIN_BOOTSTRAP:
        return None
    drawn = sorted(statistic(_resample(samples, rng)) for _ in range(resamples))
    if drawn[0] == drawn[-1]:
        return None
    tails: tuple[float, float] | None = ((1 - level) / 2, (1 + level) / 2)
    if method == "bca":
        tails = _bca_tails(samples, statistic, drawn, level)
    if tails is None:
        return None
    low, high = (_at_percent(drawn, 100 * tail) for tail in tails)
    return Interval(low, high, level, f"bootstrap {method}, n={len(samples)}, {resamples} draws")


def _resample(samples: Sequence[T], rng: random.Random) -> list[T]:
    n, draw = len(samples), rng.random
    return [samples[int(draw() * n)] for _ in range(n)]


def _bca_tails(
    samples: Sequence[T],
    statistic: Callable[[Sequence[T]], float],
    drawn: Sequence[float],
    level: float,
) -> tuple[float, float] | None:
    estimate = statistic(samples)
    below = sum(v < estimate for v in drawn) + sum(v == estimate for v in drawn) / 2
    if not 0 < below < len(drawn):
        return None
    bias = normal_quantile(below / len(drawn))
    skew = _acceleration(samples, statistic)

    z = normal_quantile((1 + level) / 2)
    if abs(skew) * (abs(bias) + z) >= 1:  # the correction has a pole there
        return None
    low, high = (bias + z_bias / (1 - skew * z_bias) for z_bias in (bias - z, bias + z))
    return normal_cdf(low), normal_cdf(high)


def _acceleration(samples: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> float:
    items = list(samples)
    left_out = [statistic(items[:i] + items[i + 1 :]) for i in range(len(items))]
    centre = math.fsum(left_out) / len(left_out)
    off = [centre - value for value in left_out]
    squares = math.fsum(x * x for x in off)
    return math.fsum(x**3 for x in off) / (6 * squares**1.5) if squares else 0.0


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"the level is {level}; it must lie strictly between 0 and 1, as 0.95")
