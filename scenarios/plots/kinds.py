"""The kinds of figures of one run, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scenarios.plots.errors import PlotError
from scenarios.plots.spreading import gossip_figure
from scenarios.plots.style import FORMATS, save, styled
from scenarios.plots.suspicion import suspicion_figure
from scenarios.plots.timeline import timeline_figure
from scenarios.plots.view import RunView, view

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from scenarios.runner import RunResult

__all__ = ["KINDS", "Kind", "plot_run"]

Pairs = Sequence[tuple[str, str]]


class Kind(NamedTuple):
    """A kind of figure: what it shows, and what draws it."""

    text: str
    draw: Callable[[RunView, Pairs], Figure]


KINDS: dict[str, Kind] = {
    "suspicion": Kind(
        "level of suspicion, threshold, what each detector decided, crashes and faults",
        suspicion_figure,
    ),
    "gossip": Kind(
        "share of the nodes that know each rumor, over time", lambda run, _: gossip_figure(run)
    ),
    "timeline": Kind(
        "nodes up, down, paused; faults; number of suspicions", lambda run, _: timeline_figure(run)
    ),
}
"""Name → kind."""


def plot_run(
    run: RunResult | RunView | str | Path, kind: str, path: str | Path, *, pairs: Pairs = ()
) -> Path:
    """Draw ``run`` (a result, a run's folder, a trace file) into ``path`` (.svg, .png or .pdf).

    ``pairs``: (monitor, target) to show, for ``suspicion``. PlotError if there is no such kind or
    nothing to draw, TraceError for a file that is no trace, MissingExtra without matplotlib.
    """
    if kind not in KINDS:
        raise PlotError(f"no figure is called {kind!r}; there are: {', '.join(KINDS)}")
    if Path(path).suffix.lower() not in FORMATS:
        raise PlotError(f"{path}: a figure's name must end in {', '.join(FORMATS)}")
    with styled():
        return save(KINDS[kind].draw(view(run), pairs), path)
