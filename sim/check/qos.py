"""Quality of service of a failure detector: how fast it is, and how often it is wrong.

The metrics of Chen, Toueg, Aguilera, "On the Quality of Service of Failure Detectors", IEEE
Trans. Computers 51(5), 2002, section 2, measured on :class:`~sim.check.timeline.PairRecord`:

  T_D   from a crash to the S-transition that is never taken back (0 if it came before)
  T_MR  from one S-transition to the next (mistake recurrence)
  T_M   from an S-transition to the next T-transition (mistake duration)
  T_G   from a T-transition to the next S-transition (good period); T_MR = T_M + T_G
  T_FG  from a random time of a good period to its end: E(T_G²) / (2 E(T_G))
  λ_M   mistakes per second of the time in which both nodes were up
  P_A   share of that time in which the target was (rightly) not suspected
  T_R   from a recovery of the target to the T-transition it causes (crash-recovery only)

What is counted, and what is not
  * Mistakes are looked for in each *stretch* (both nodes up, inside the window) by itself.
  * A mistake still open when its stretch ends (target or monitor crashes, run ends) is censored:
    no T_M sample, but its time up to there counts against P_A and it counts for λ_M.
  * A suspicion that a stretch begins with (from before the window or before a recovery) is no
    mistake of that stretch; its time counts against P_A.
  * A down whose suspicion was never permanent is censored: it gives no T_D, so that the mean of
    the others is too good. ``t_d.censored`` counts them, ``missed_downs`` those of them where
    the target came back unsuspected. The observation of a down ends when the target recovers,
    the monitor goes down, or the run ends. Downs from before the window, or at which the
    monitor was down, are left out.
  * Means of T_MR and T_G are over complete periods, which is too short if the run is not much
    longer than they are; λ_M is not biased so.

Intervals (rule)
  * Independent units: the pairs (or all pairs of one target or of one run, see ``by``) if ten or
    more have data. If they are fewer, and each is one pair: batches of at least five consecutive
    episodes inside each pair, at most about thirty in all. Fewer than ten of either, or no
    spread: no interval.
  * Then the delta method for a ratio of means, or, given ``rng`` and at most
    :data:`MAX_RESAMPLED` units, the BCa bootstrap.
  * P_A and λ_M further need ten units with a mistake. With fewer than ten mistakes in all, λ_M
    gets the exact Poisson interval, which takes mistakes to be independent.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from sim.check.episodes import Observations, measure
from sim.check.stats import Interval, bootstrap_interval, poisson_rate_interval, ratio_interval
from sim.check.timeline import PairRecord

__all__ = ["Metric", "Observations", "PairRecord", "QosSummary", "measure", "pool", "summarise"]

By: TypeAlias = Literal["pair", "target", "run"]
Terms: TypeAlias = list[tuple[int, int]]  # of one unit, in time order: (numerator, denominator)

MIN_UNITS = 10
MAX_BATCHES = 30
MIN_BATCH = 5
MAX_RESAMPLED = 200

_SECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure: ``value`` over ``n`` observations, with its interval if there is one.

    Times are µs. ``n`` counts samples (for P_A and λ_M: mistakes). ``censored`` are the episodes
    that began but were not seen to end. ``smallest`` and ``largest`` are those of the samples.
    """

    n: int
    value: float
    interval: Interval | None
    censored: int = 0
    smallest: float | None = None
    largest: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return a dict that ``json.dumps`` takes as it is."""
        shown: dict[str, object] = {f.name: getattr(self, f.name) for f in fields(self)}
        shown["interval"] = self.interval.to_json() if self.interval else None
        return shown


@dataclass(frozen=True, slots=True)
class QosSummary:
    """The metrics of one pair or of several pooled; None where nothing was observed.

    ``observed_us`` is the time both nodes were up, summed over pairs. All times are µs,
    ``mistake_rate_per_s`` is per second, ``p_a`` is a probability. ``undetected`` counts the
    downs without a T_D (also if there was no T_D at all), ``missed_downs`` those of them that
    ended by recovery.
    """

    pairs: int
    observed_us: int
    mistakes: int
    undetected: int
    missed_downs: int
    t_d: Metric | None
    t_mr: Metric | None
    t_m: Metric | None
    t_g: Metric | None
    t_fg: Metric | None
    t_r: Metric | None
    mistake_rate_per_s: Metric | None
    p_a: Metric | None

    def to_json(self) -> dict[str, object]:
        """Return a dict that ``json.dumps`` takes as it is."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: v.to_json() if isinstance(v, Metric) else v for name, v in values}


def summarise(
    record: PairRecord, *, level: float = 0.95, rng: random.Random | None = None
) -> QosSummary:
    """Return the metrics of one pair."""
    return pool((record,), level=level, rng=rng)


def pool(
    records: Iterable[PairRecord],
    *,
    level: float = 0.95,
    rng: random.Random | None = None,
    by: By = "pair",
) -> QosSummary:
    """Return the metrics of several pairs together: every episode, every µs weighs the same.

    ``by`` says what is independent of each other, for the intervals: ``"pair"`` each record,
    ``"target"`` the records of one target in one run taken together (its crash is one event for
    all its monitors), ``"run"`` all records of one run.
    """
    units = _units(records, by)
    every = [one for unit in units for one in unit]
    estimator = _Estimator(units, level, rng, in_time=by == "pair")
    undetected = sum(len(one.undetected_us) for one in every)
    open_mistakes = sum(one.open_mistakes for one in every)
    return QosSummary(
        pairs=len(every),
        observed_us=sum(one.observed_us for one in every),
        mistakes=sum(one.mistakes for one in every),
        undetected=undetected,
        missed_downs=sum(one.missed_downs for one in every),
        t_d=estimator.mean("t_d_us", undetected),
        t_mr=estimator.mean("t_mr_us"),
        t_m=estimator.mean("t_m_us", open_mistakes),
        t_g=estimator.mean("t_g_us"),
        t_fg=estimator.forward_good(),
        t_r=estimator.mean("t_r_us"),
        mistake_rate_per_s=estimator.mistake_rate(),
        p_a=estimator.accuracy(),
    )


def _units(records: Iterable[PairRecord], by: By) -> list[list[Observations]]:
    if by not in ("pair", "target", "run"):
        raise ValueError(f"by is {by!r}; allowed are 'pair', 'target' and 'run'")
    units: dict[object, list[Observations]] = {}
    for index, record in enumerate(records):
        target = (record.run, record.target)
        key: object = index if by == "pair" else target if by == "target" else record.run
        units.setdefault(key, []).append(measure(record))
    return list(units.values())


class _Estimator:
    """Ratio estimates over units that are independent of each other."""

    def __init__(
        self,
        units: Sequence[Sequence[Observations]],
        level: float,
        rng: random.Random | None,
        *,
        in_time: bool,
    ) -> None:
        self.units, self.level, self.rng = units, level, rng
        self.in_time = in_time  # a unit is one series in time, which may be cut into batches

    def mean(self, name: str, censored: int = 0) -> Metric | None:
        series = [[(v, 1) for one in unit for v in getattr(one, name)] for unit in self.units]
        samples = [value for terms in series for value, _ in terms]
        if not samples:
            return None
        value = sum(samples) / len(samples)
        interval = self._interval(self._groups(series))
        return Metric(len(samples), value, interval, censored, min(samples), max(samples))

    def forward_good(self) -> Metric | None:
        series = [[(g * g, 2 * g) for one in unit for g in one.t_g_us] for unit in self.units]
        n, value = sum(map(len, series)), _ratio(series)
        return None if value is None else Metric(n, value, self._interval(self._groups(series)))

    def accuracy(self) -> Metric | None:
        series = [[p[:2] for one in unit for p in one.pieces] for unit in self.units]
        suspected = _ratio(series)
        if suspected is None:
            return None
        found = self._interval(self._groups(series), self._mistakes_by_group())
        return Metric(self._mistakes(), 1 - suspected, _one_minus(found))

    def mistake_rate(self) -> Metric | None:
        series = [[(p[2], p[1]) for one in unit for p in one.pieces] for unit in self.units]
        rate = _ratio(series)
        if rate is None:
            return None
        mistakes, observed_us = self._mistakes(), sum(x for terms in series for _, x in terms)
        if mistakes < MIN_UNITS:
            found = poisson_rate_interval(mistakes, observed_us, level=self.level)
        else:
            found = self._interval(self._groups(series), self._mistakes_by_group())
        return Metric(mistakes, rate * _SECOND, _scaled(found, _SECOND))

    def _mistakes(self) -> int:
        return sum(one.mistakes for unit in self.units for one in unit)

    def _mistakes_by_group(self) -> int:
        """Return how many of the independent groups saw a mistake."""
        rate = [[(p[2], p[1]) for one in unit for p in one.pieces] for unit in self.units]
        return sum(mistakes > 0 for mistakes, _ in self._groups(rate))

    def _interval(self, groups: Terms, telling: int = MIN_UNITS) -> Interval | None:
        if len(groups) < MIN_UNITS or telling < MIN_UNITS:
            return None
        delta = ratio_interval(groups, level=self.level)
        if self.rng is None or delta is None or len(groups) > MAX_RESAMPLED:
            return delta
        return bootstrap_interval(groups, _ratio_of, self.rng, level=self.level)

    def _groups(self, series: Sequence[Terms]) -> Terms:
        """Return the sums of independent groups: the units, or batches where they are too few."""
        units = [terms for terms in series if any(x for _, x in terms)]
        if len(units) >= MIN_UNITS or not self.in_time:
            return [_sum(terms) for terms in units]
        size = max(MIN_BATCH, -(-sum(map(len, units)) // MAX_BATCHES))
        batches = [batch for terms in units for batch in _batches(terms, size)]
        return [group for group in map(_sum, batches) if group[1]]


def _ratio_of(terms: Sequence[tuple[int, int]]) -> float:
    return sum(y for y, _ in terms) / sum(x for _, x in terms)


def _ratio(series: Sequence[Terms]) -> float | None:
    terms = [term for unit in series for term in unit]
    return _ratio_of(terms) if any(x for _, x in terms) else None


def _batches(terms: Terms, size: int) -> list[Terms]:
    """Cut into runs of ``size``; what is left over joins the last."""
    count = max(1, len(terms) // size)
    ends = [size * (i + 1) for i in range(count - 1)] + [len(terms)]
    return [terms[size * i : end] for i, end in enumerate(ends)]


def _sum(terms: Terms) -> tuple[int, int]:
    return sum(y for y, _ in terms), sum(x for _, x in terms)


def _one_minus(found: Interval | None) -> Interval | None:
    if found is None:
        return None
    low, high = max(0.0, 1 - found.high), min(1.0, 1 - found.low)
    return Interval(low, high, found.level, found.method)


def _scaled(found: Interval | None, factor: float) -> Interval | None:
    if found is None:
        return None
    low, high = max(0.0, found.low * factor), found.high * factor
    return Interval(low, high, found.level, found.method)
