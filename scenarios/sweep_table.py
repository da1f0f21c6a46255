"""What a sweep found, setting by setting: means over the seeds with their intervals, verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from scenarios.sweep import Row, Sweep, SweepError
from sim.check.stats import Interval, mean, student_interval

__all__ = ["Cell", "Point", "choose_metrics", "figures", "points", "table", "to_json", "unit_of"]

VERDICTS = ("ok", "violated", "unknown", "error")
_USUAL = ("t_d", "mistake_rate_per_s", "p_a", "residue", "traffic", "t_last")


@dataclass(frozen=True, slots=True)
class Cell:
    """A metric under one setting: mean over the ``n`` seeds that gave a figure, 95 % interval."""

    n: int
    mean: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of settings: its verdicts (all four, counted) and metrics."""

    settings: Mapping[str, Any]
    verdicts: Mapping[str, int]
    cells: Mapping[str, Cell]


def figures(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """All figures in a run's metrics by dotted path; one with an interval counts by its value."""
    found: dict[str, float] = {}
    for name, value in metrics.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            single = value.get("value")
            if isinstance(single, (int, float)):
                found[path] = float(single)
            else:
                found.update(figures(value, f"{path}."))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[path] = float(value)
    return found


def choose_metrics(rows: Iterable[Row], wanted: Sequence[str] = ()) -> list[str]:
    """The metrics to show: those ``wanted``, or else the usual ones that the runs have.

    SweepError for one that no run has, naming those that there are.
    """
    there = list(dict.fromkeys(path for row in rows for path in figures(row["metrics"])))
    for path in wanted:
        if path not in there:
            near = get_close_matches(path, there, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            known = ", ".join(there) or "none: the scenario has no metrics"
            raise SweepError(f"no run has the metric {path}{hint} There are: {known}")
    if wanted:
        return list(dict.fromkeys(wanted))
    return [path for path in there if path.rpartition(".")[2] in _USUAL]


def points(sweep: Sweep, rows: Iterable[Row], metrics: Sequence[str]) -> list[Point]:
    """One point for each combination of settings of which there is a row, in the sweep's order."""
    grouped: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["job"])):
        grouped.setdefault(row["job"] // len(sweep.seeds), []).append(row)
    return [_point(group, metrics) for group in grouped.values()]


def _point(rows: Sequence[Row], metrics: Sequence[str]) -> Point:
    verdicts = {name: sum(row["verdict"] == name for row in rows) for name in VERDICTS}
    found = [figures(row["metrics"]) for row in rows]
    cells = {}
    for path in metrics:
        values = [figure[path] for figure in found if path in figure]
        cells[path] = Cell(len(values), mean(values), student_interval(values))
    return Point(rows[0]["settings"], verdicts, cells)


def to_json(sweep: Sweep, found: Sequence[Point]) -> dict[str, Any]:
    """The summary as plain data, schema ``splitbrain.sweep/1``."""
    return {
        "schema": "splitbrain.sweep/1",
        "scenario": sweep.name,
        "seeds": list(sweep.seeds),
        "points": [
            {
                "settings": dict(point.settings),
                "verdicts": dict(point.verdicts),
                "metrics": {path: _cell_json(cell) for path, cell in point.cells.items()},
            }
            for point in found
        ],
    }


def _cell_json(cell: Cell) -> dict[str, Any]:
    interval = cell.interval.to_json() if cell.interval else None
    return {"n": cell.n, "mean": cell.mean, "interval": interval}


def unit_of(metric: str) -> tuple[float, str]:
    """By what to multiply a metric to show it, and the unit: times are µs, and shown in seconds."""
    *inside, last = metric.split(".")
    timed = last.startswith("t_") or last.endswith("_us")
    timed = timed or any(part.endswith("_us") or part == "coverage" for part in inside)
    return (1e-6, "s") if timed else (1.0, "")


# -- as text ----------------------------------------------------------------------------------


def table(found: Sequence[Point], metrics: Sequence[str]) -> str:
    """The summary as text: a block for each metric, a line for each setting."""
    lines: list[str] = []
    for path in metrics:
        unit = unit_of(path)[1]
        lines.append(f"{path}, {unit}" if unit else path)
        lines += [*_aligned([_line(point, path) for point in found]), ""]
    lines += ["verdicts", *_aligned([[_named(p.settings), _told(p.verdicts)] for p in found])]
    return "\n".join(lines)


def _line(point: Point, path: str) -> list[str]:
    cell, scale = point.cells[path], unit_of(path)[0]
    if cell.mean is None:
        return [_named(point.settings), "never seen", "", "n=0"]
    shown = "no interval"
    if cell.interval is not None:
        shown = f"[{cell.interval.low * scale:.6g}, {cell.interval.high * scale:.6g}]"
    return [_named(point.settings), f"{cell.mean * scale:.6g}", shown, f"n={cell.n}"]


def _named(settings: Mapping[str, Any]) -> str:
    return "  ".join(f"{path}={value}" for path, value in settings.items()) or "as it is"


def _told(verdicts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in verdicts.items() if count)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
