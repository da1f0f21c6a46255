"""What a sweep found: each metric over the settings, with its interval as error bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenarios.plots.errors import PlotError
from scenarios.plots.style import COLOURS, DASHES, save, styled
from scenarios.sweep_table import unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from scenarios.sweep import Sweep
    from scenarios.sweep_table import Point

__all__ = ["plot_sweep"]

MOST_PANELS = 12
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def plot_sweep(
    sweep: Sweep, found: Sequence[Point], metrics: Sequence[str], path: str | Path
) -> Path:
    """Draw a panel a metric: first setting along the axis, a line for each value of the others.

    PlotError if there is nothing to draw; MissingExtra without matplotlib.
    """
    seen = [m for m in metrics if any(point.cells[m].mean is not None for point in found)]
    if not sweep.vary or not seen:
        raise PlotError("nothing to draw: vary a setting (--vary) and choose a metric (--metric)")
    with styled():
        return save(_figure(sweep, found, seen), path)


def _figure(sweep: Sweep, found: Sequence[Point], wanted: Sequence[str]) -> Figure:
    from matplotlib.figure import Figure

    metrics = wanted[:MOST_PANELS]
    columns = len(metrics) if len(metrics) < 3 else 2 if len(metrics) == 4 else 3
    rows = -(-len(metrics) // columns)
    size = (3.4 * columns + 0.6, 2.4 * rows + 1.0)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    panels = [axes for line in grid for axes in line]
    for axes, metric in zip(panels, metrics, strict=False):
        _draw(axes, sweep, found, metric)
    for axes in panels[len(metrics) :]:
        axes.remove()
    if len(sweep.vary) > 1:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=3, fontsize=8)
    text = f"scenario {sweep.name} · {len(sweep.seeds)} seeds"
    note = f"{text} · mean with 95 % interval (Student t) · sweep {sweep.digest}"
    if len(wanted) > len(metrics):
        note += f"\n{len(wanted) - len(metrics)} more metrics are not shown: choose with --metric"
    figure.supxlabel(note, fontsize=6.5, x=0.02, ha="left")
    return figure


def _draw(axes: Axes, sweep: Sweep, found: Sequence[Point], metric: str) -> None:
    first, values = sweep.vary[0]
    scale, unit = unit_of(metric)
    lines: dict[str, list[Point]] = {}
    for point in found:
        lines.setdefault(_others(point.settings, first), []).append(point)
    for number, (label, line) in enumerate(lines.items()):
        shown = [point for point in line if point.cells[metric].mean is not None]
        places = [
            values.index(point.settings[first]) + _aside(number, len(lines)) for point in shown
        ]
        means = [(point.cells[metric].mean or 0.0) * scale for point in shown]
        axes.errorbar(
            places,
            means,
            yerr=_errors(shown, metric, scale),
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=4.5,
            capsize=3,
            elinewidth=1.0,
            label=label,
        )
    axes.set_xticks(range(len(values)), [str(value) for value in values])
    axes.set_xlim(-0.35, len(values) - 0.65)
    axes.margins(y=0.15)
    axes.set_xlabel(first)
    axes.set_title(metric + (f", {unit}" if unit else ""), loc="left")
    axes.ticklabel_format(axis="y", useOffset=False)


def _others(settings: Mapping[str, Any], first: str) -> str:
    return ", ".join(f"{path}={value}" for path, value in settings.items() if path != first)


def _aside(number: int, count: int) -> float:
    """Points of several lines stand a little beside each other, so that bars don't hide bars."""
    return 0.06 * (number - (count - 1) / 2)


def _errors(points: Sequence[Point], metric: str, scale: float) -> list[list[float]]:
    below, above = [], []
    for point in points:
        cell = point.cells[metric]
        centre, interval = cell.mean or 0.0, cell.interval
        below.append((centre - interval.low) * scale if interval else 0.0)
        above.append((interval.high - centre) * scale if interval else 0.0)
    return [below, above]
