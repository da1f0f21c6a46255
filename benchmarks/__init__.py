"""Measurements: ``python -m benchmarks [--smoke] [--json FILE] [NAME …]``.

Each module of this package offers ``run(smoke) -> list[Row]``. All rows of a module are measured
in one run, repetitions interleaved, because machines are noisy: trust the ratios.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """One figure; ``target`` says what was aimed at, ``ok`` whether it was reached (None: none)."""

    name: str
    value: float
    unit: str
    ratio: float | None = None
    to: str = ""
    target: str = ""
    ok: bool | None = None
    note: str = ""


def interleaved(
    jobs: dict[str, Callable[[], float]], repeats: int, *, best: bool = False
) -> dict[str, float]:
    """Each job's median (or best) of ``repeats`` calls, taken in turns. A job gives its figure."""
    seen: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            gc.collect()
            seen[name].append(job())
    return {name: (max(v) if best else median(v)) for name, v in seen.items()}


def rate(count: int, work: Callable[[], object]) -> float:
    """``count`` per second of processor time that ``work()`` takes."""
    began = time.process_time()
    work()
    return count / max(time.process_time() - began, 1e-9)
