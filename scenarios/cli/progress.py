"""How far a run has come, on stderr: a bar on a terminal, otherwise a line at each quarter."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from scenarios.cli.common import note

__all__ = ["progress"]

Report = Callable[[int, int], None]
"""Called with the simulated time now and at the end, µs."""

_SILENT_S = 1.0


@contextmanager
def progress(label: str, *, quiet: bool) -> Iterator[Report | None]:
    """What to call with the progress of a run; None if nothing is to be said."""
    if quiet:
        yield None
    elif _bar_possible():
        with _bar(label) as report:
            yield report
    else:
        yield _lines(label)


def _bar_possible() -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and sys.stderr.isatty() and find_spec("rich") is not None


@contextmanager
def _bar(label: str) -> Iterator[Report]:
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TextColumn("{task.percentage:>3.0f}%"),
        rich.TimeRemainingColumn(),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=None)
        yield lambda now, end: shown.update(task, completed=now, total=end)


def _lines(label: str, clock: Callable[[], float] = time.monotonic) -> Report:
    """Tells each quarter once; nothing in the first second, so that short runs are silent."""
    begun, told = clock(), 0

    def report(now: int, end: int) -> None:
        nonlocal told
        quarters = 4 * now // end
        if quarters > told and clock() - begun >= _SILENT_S:
            from sim.units import format_duration

            done = f"{format_duration(now)} of {format_duration(end)} simulated"
            note(f"{label}: {25 * quarters}% ({done})")
        told = max(told, quarters)

    return report
