"""How rumors spread: the share of the nodes that know each, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenarios.plots.errors import PlotError
from scenarios.plots.style import (
    BLACK,
    COLOURS,
    DASHES,
    caption,
    draw_lanes,
    fault_lanes,
    lanes_height,
    new_figure,
    seconds,
    shade,
)
from scenarios.plots.view import RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sim.check.gossip import Spread

__all__ = ["gossip_figure"]

MOST_NAMED = 8


def gossip_figure(run: RunView) -> Figure:
    """A curve a rumor; if there are many, thin curves that all begin at 0 and their mean.

    PlotError if no node told that it learned anything.
    """
    rumors = _spreads(run)
    if not rumors:
        hint = "publish something in the workload of a gossip scenario"
        raise PlotError(f"no rumor was ever learned in this run; {hint}")
    named = len(rumors) <= MOST_NAMED
    lanes = fault_lanes(run) if named else []
    figure, axes = new_figure([2.9, lanes_height(len(lanes))] if lanes else [2.9])
    (_draw_named if named else _draw_many)(axes[0], run, rumors)
    if lanes:
        draw_lanes(axes[1], lanes, run.end_us)
    axes[-1].set_xlabel("time, s" if named else "time since it was published, s")
    axes[0].set_ylabel("nodes that know it, %")
    axes[0].axhline(100, color=BLACK, linewidth=0.8, linestyle=(0, (2, 2)))
    axes[0].set_ylim(0, 105)
    whole = sum(len(spread.times) == spread.n for spread in rumors.values())
    caption(figure, run, f"{whole} of {len(rumors)} rumors reached all {len(run.nodes)} nodes")
    return figure


def _spreads(run: RunView) -> dict[str, Spread]:
    from sim.check.gossip import spread

    informed: dict[str, list[tuple[int, str]]] = {}
    for t, node, _, seen in run.of_kind("Learned"):
        informed.setdefault(str(seen["rumor"]), []).append((t, node))
    return {rumor: spread(times, len(run.nodes)) for rumor, times in informed.items()}


def _steps(spread: Spread, start_us: int, end_us: int) -> tuple[list[float], list[float]]:
    """The curve as steps, in seconds after ``start_us`` and per cent, on to ``end_us``."""
    points = [(t, share) for t, share in spread.curve() if t <= end_us]
    times = [spread.start, *(t for t, _ in points), end_us]
    shares = [0.0, *(share for _, share in points), points[-1][1]]
    return [seconds(t - start_us) for t in times], [100 * share for share in shares]


def _draw_named(axes: Axes, run: RunView, rumors: dict[str, Spread]) -> None:
    shade(axes, run, letters=True)
    for number, (rumor, spread) in enumerate(rumors.items()):
        axes.plot(
            *_steps(spread, 0, run.end_us),
            drawstyle="steps-post",
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            label=rumor,
        )
    axes.set_xlim(0, seconds(run.end_us))
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.05), ncols=4, title="rumor")


def _draw_many(axes: Axes, run: RunView, rumors: dict[str, Spread]) -> None:
    longest = max(spread.t_last for spread in rumors.values()) or 1
    span = longest * 11 // 10 + 1
    for spread in rumors.values():
        until = min(spread.start + span, run.end_us)
        times, shares = _steps(spread, spread.start, until)
        axes.plot(times, shares, drawstyle="steps-post", color=COLOURS[4], linewidth=0.5, alpha=0.6)
    grid = [span * i // 200 for i in range(201)]
    means = [
        100 * sum(s.fraction_at(s.start + t) for s in rumors.values()) / len(rumors) for t in grid
    ]
    label = f"mean of {len(rumors)} rumors"
    axes.plot([seconds(t) for t in grid], means, color=COLOURS[1], linewidth=2.0, label=label)
    axes.set_xlim(0, seconds(span))
    axes.legend(loc="lower right")
