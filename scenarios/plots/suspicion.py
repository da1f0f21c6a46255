"""How suspicion rose and fell: the level of each detector, its threshold, and what it decided."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from scenarios.plots.errors import PlotError
from scenarios.plots.style import (
    BLACK,
    COLOURS,
    DASHES,
    Lane,
    caption,
    draw_lanes,
    fault_lanes,
    lanes_height,
    new_figure,
    seconds,
    shade,
)
from scenarios.plots.suspicions import Key, Level, choose_pairs, levels, pair_name, suspected
from scenarios.plots.view import RunView, Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["suspicion_figure"]

Pair = tuple[str, str]
MOST_PANELS = 6


def suspicion_figure(run: RunView, pairs: Sequence[Pair] = ()) -> Figure:
    """A panel a detector with the levels about the chosen (monitor, target) ``pairs``, and lanes.

    Without ``pairs``: up to three are chosen, those with crashed or doubted targets first.
    PlotError if no detector told anything, or nothing about a pair that was asked for.
    """
    sampled, doubted = levels(run), suspected(run)
    chosen = list(pairs) or choose_pairs(run, sampled)
    _check(chosen, [*sampled, *doubted])
    there = dict.fromkeys(key[0] for key in (*sampled, *doubted) if key[1:] in chosen)
    detectors = sorted(there, key=[*run.thresholds, *there].index)
    panels = [d for d in detectors if any((d, *pair) in sampled for pair in chosen)][:MOST_PANELS]
    lanes = [*_suspect_lanes(doubted, detectors, chosen, run), *fault_lanes(run)]
    figure, axes = new_figure([1.45] * len(panels) + [lanes_height(len(lanes))])
    for axis, detector in zip(axes, panels, strict=False):
        shade(axis, run, letters=axis is axes[0])
        _draw_levels(axis, run, detector, chosen, sampled)
    draw_lanes(axes[-1], lanes, run.end_us)
    for axis in axes:
        _mark_crashes(axis, run, chosen, text=axis is axes[0] and bool(panels))
    axes[-1].set_xlabel("time, s")
    if panels:
        _legend(figure, axes[0], chosen)
    cut = "levels above twice the threshold are cut off"
    caption(figure, run, cut if panels else "levels were not sampled: set sample_every")
    return figure


def _check(chosen: Sequence[Pair], keys: Sequence[Key]) -> None:
    there = list(dict.fromkeys(key[1:] for key in keys))
    if not there:
        hint = "run a scenario with a failure detector, with sample_every for the levels"
        raise PlotError(f"this run has no suspicions and no levels of suspicion; {hint}")
    for pair in chosen:
        if pair not in there:
            known = ", ".join(pair_name(p) for p in there[:8])
            raise PlotError(f"nothing was told about {pair_name(pair)}; there are {known}")


# -- levels -----------------------------------------------------------------------------------


def _draw_levels(
    axes: Axes, run: RunView, detector: str, pairs: Sequence[Pair], sampled: dict[Key, list[Level]]
) -> None:
    threshold = run.thresholds.get(detector, 1.0)
    highest = 0.0
    for number, pair in enumerate(pairs):
        series = sampled.get((detector, *pair), [])
        highest = max([highest, *(level for _, level in series)])
        times, values = _with_gaps(series)
        axes.plot(times, values, color=_colour(number), linestyle=_dash(number))
    top = min(2 * threshold, max(1.25 * threshold, 1.05 * highest))
    axes.set_ylim(0, top)
    axes.axhline(threshold, color=BLACK, linewidth=0.9, linestyle=(0, (2, 2)))
    _note_threshold(axes, threshold)
    axes.set_ylabel(detector)


def _note_threshold(axes: Axes, threshold: float) -> None:
    axes.annotate(
        f"threshold\n{threshold:g}",
        (1.0, threshold),
        xycoords=axes.get_yaxis_transform(),
        xytext=(4, 0),
        textcoords="offset points",
        fontsize=7,
        va="center",
    )


def _with_gaps(series: Sequence[Level]) -> tuple[list[float], list[float]]:
    """The samples for a line that breaks where none were taken (the monitor was down)."""
    steps = [b[0] - a[0] for a, b in pairwise(series)]
    usual = median(steps) if steps else 0
    times: list[float] = []
    values: list[float] = []
    for index, (t, level) in enumerate(series):
        if index and t - series[index - 1][0] > 3 * usual:
            times.append(seconds(t))
            values.append(float("nan"))
        times.append(seconds(t))
        values.append(level)
    return times, values


def _legend(figure: Figure, axes: Axes, pairs: Sequence[Pair]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_colour(i), linestyle=_dash(i), label=pair_name(pair))
        for i, pair in enumerate(pairs)
    ]
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.08),
        ncols=len(pairs),
        borderaxespad=0.0,
        title="level of suspicion, monitor → target",
        title_fontsize=8,
    )


# -- lanes and crashes ------------------------------------------------------------------------


def _suspect_lanes(
    doubted: dict[Key, list[Span]], detectors: Sequence[str], pairs: Sequence[Pair], run: RunView
) -> list[Lane]:
    lanes = [
        Lane(
            f"{detector}: {pair_name(pair)}",
            doubted.get((detector, *pair), []),
            _colour(number),
        )
        for detector in detectors
        for number, pair in enumerate(pairs)
    ]
    for node in dict.fromkeys(node for pair in pairs for node in reversed(pair)):
        if run.downs(node):
            lanes.append(Lane(f"{node} down", run.downs(node), BLACK))
        if run.pauses(node):
            lanes.append(Lane(f"{node} paused", run.pauses(node), BLACK, hatch="////"))
    return lanes


def _mark_crashes(axes: Axes, run: RunView, pairs: Sequence[Pair], *, text: bool) -> None:
    shown = {node for pair in pairs for node in pair}
    crashes: dict[int, list[str]] = {}
    for t, node, what in run.lifecycle:
        if what == "crash" and node in shown:
            crashes.setdefault(t, []).append(node)
    for t in crashes:
        axes.axvline(seconds(t), color=BLACK, linewidth=1.0, linestyle=(0, (1, 1)))
    if text:
        _name_crashes(axes, crashes, run.end_us)


def _name_crashes(axes: Axes, crashes: dict[int, list[str]], end_us: int) -> None:
    last = -end_us
    for t, nodes in crashes.items():
        if t - last < end_us // 9:  # the names would overlap; the lanes tell anyway
            continue
        last = t
        axes.annotate(
            f"{', '.join(nodes)} {'crash' if len(nodes) > 1 else 'crashes'}",
            (seconds(t), 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(3, -2) if t < 0.85 * end_us else (-3, -2),
            textcoords="offset points",
            ha="left" if t < 0.85 * end_us else "right",
            va="top",
            fontsize=7.5,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        )


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _dash(number: int) -> Any:
    return DASHES[number % len(DASHES)]
