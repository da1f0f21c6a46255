"""Measured quantities for people: three significant digits, and a unit one can imagine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["NOTHING", "count", "duration", "interval_of", "probability"]

NOTHING = "–"


def duration(us: float | None) -> str:
    """A measured time, given in µs: ``14.3ms``, ``2.94s``, ``17.5min``."""
    if us is None:
        return NOTHING
    for unit, worth, most in (("us", 1, 1e3), ("ms", 1e3, 1e6), ("s", 1e6, 1e9)):
        if abs(us) < most * 0.9995:
            return f"{_digits(us / worth)}{unit}"
    minutes = us / 60e6
    return f"{_digits(minutes)}min" if abs(minutes) < 600 else f"{_digits(minutes / 60)}h"


def _digits(value: float) -> str:
    """Three significant digits, without an exponent, and without zeros that say nothing."""
    size = abs(value)
    places = 2 if size < 9.995 else 1 if size < 99.95 else 0
    if value == int(value):
        places = 0
    return f"{value:,.{places}f}"


def probability(value: float | None) -> str:
    """A probability to five places, and to more where it would look like 1 without being it."""
    if value is None:
        return NOTHING
    places = 5
    while places < 12 and value != 1 and round(value, places) == 1:
        places += 1
    return f"{value:.{places}f}"


def count(number: float) -> str:
    """``4,552``."""
    return f"{number:,}"


def interval_of(metric: Mapping[str, Any], show: Any) -> str:
    """The confidence interval of a metric in JSON; a dash if there is none."""
    found = metric.get("interval")
    return NOTHING if found is None else f"{show(found['low'])} to {show(found['high'])}"
