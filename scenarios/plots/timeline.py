"""What happened to whom: nodes that were down or paused, faults, and how many were suspected."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from scenarios.plots.suspicions import counts, suspected
from scenarios.plots.view import RunView, Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["timeline_figure"]

MOST_NODES = 30
UP = "#A6CEE3"


def timeline_figure(run: RunView) -> Figure:
    """A lane a node (up, down, paused), the faults, and the number of suspicions per detector."""
    nodes = _worth_showing(run)
    there = dict.fromkeys(key[0] for key in suspected(run))
    detectors = sorted(there, key=[*run.thresholds, *there].index)
    faults = fault_lanes(run)
    heights = [lanes_height(len(nodes))]
    heights += [lanes_height(len(faults))] if faults else []
    panels = [False, True] if any(map(run.downs, run.nodes)) else [False]
    heights += [1.3] * len(panels) if detectors else []
    figure, axes = new_figure(heights)
    _draw_nodes(axes[0], run, nodes)
    shade(axes[0], run, letters=True)
    if faults:
        draw_lanes(axes[1], faults, run.end_us)
    for axis, of_dead in zip(axes[1 + bool(faults) :], panels, strict=False):
        _draw_counts(axis, run, detectors, of_dead=of_dead)
    axes[-1].set_xlim(0, seconds(run.end_us))
    axes[-1].set_xlabel("time, s")
    left_out = len(run.nodes) - len(nodes)
    caption(
        figure, run, f"{left_out} nodes that were up all the time are not shown" * (left_out > 0)
    )
    return figure


def _worth_showing(run: RunView) -> list[str]:
    if len(run.nodes) <= MOST_NODES:
        return list(run.nodes)
    touched = {node for _, node, _ in run.lifecycle}
    return [node for node in run.nodes if node in touched][:MOST_NODES] or list(run.nodes[:3])


def _draw_nodes(axes: Axes, run: RunView, nodes: list[str]) -> None:
    lanes = [Lane(node, _without((0, run.end_us), run.downs(node)), UP) for node in nodes]
    draw_lanes(axes, lanes, run.end_us)
    for row, node in enumerate(nodes):
        for spans, colour, hatch in (
            (run.downs(node), BLACK, ""),
            (run.pauses(node), COLOURS[1], "////"),
        ):
            for start, end in spans:
                axes.broken_barh(
                    [(seconds(start), seconds(end - start))],
                    (row - 0.32, 0.64),
                    facecolor=colour if not hatch else "white",
                    edgecolor=colour,
                    hatch=hatch or None,
                    linewidth=0.6,
                )
    _legend(axes, paused=any(run.pauses(n) for n in nodes), down=any(run.downs(n) for n in nodes))


def _legend(axes: Axes, *, paused: bool, down: bool) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=UP, label="up")]
    if down:
        handles.append(Patch(facecolor=BLACK, label="down"))
    if paused:
        handles.append(Patch(facecolor="white", edgecolor=COLOURS[1], hatch="////", label="paused"))
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.02),
        ncols=3,
        borderaxespad=0.6,
        handlelength=1.6,
    )


def _without(span: Span, holes: list[Span]) -> list[Span]:
    parts, at = [], span[0]
    for start, end in holes:
        parts.append((at, start))
        at = end
    parts.append((at, span[1]))
    return [part for part in parts if part[0] < part[1]]


def _draw_counts(axes: Axes, run: RunView, detectors: list[str], *, of_dead: bool) -> None:
    """Steps: how many pairs each detector suspects, of targets that are down or that are up."""
    from matplotlib.ticker import MaxNLocator

    shade(axes, run, letters=False)
    highest = 0
    for number, detector in enumerate(detectors):
        curve = counts(run, detector, of_dead=of_dead)
        highest = max([highest, *(count for _, count in curve)])
        curve.append((run.end_us, curve[-1][1]))
        axes.plot(
            [seconds(t) for t, _ in curve],
            [count for _, count in curve],
            drawstyle="steps-post",
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            label=detector,
        )
    axes.set_ylim(0, max(1.0, 1.1 * highest))
    axes.set_ylabel("pairs")
    axes.set_title(f"suspected, and {'down' if of_dead else 'up: mistakes'}", loc="left")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.2)
