"""The figures of a run: those that belong into its folder, and the one that was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scenarios.cli.common import note

if TYPE_CHECKING:
    from scenarios.runner import RunResult

__all__ = ["check_figure", "draw_into", "figures_into", "kind_of"]


def kind_of(run: RunResult) -> str | None:
    """The kind of figure that shows most of a run; None if it tells nothing that can be drawn."""
    kinds = dict.fromkeys(type(seen).__name__ for _, _, seen, _ in run.observations)
    if any(name in kinds for name in ("Suspect", "Trust", "SuspicionLevel")):
        return "suspicion"
    return "gossip" if "Learned" in kinds else None


def check_figure(path: Path) -> None:
    """PlotError or MissingExtra, before a long run, if ``path`` will not be drawn."""
    from scenarios.plots.errors import MissingExtra, PlotError
    from scenarios.plots.style import FORMATS

    if not _installed():
        raise MissingExtra("plot", f"--plot {path}")
    if path.suffix.lower() not in FORMATS:
        raise PlotError(f"--plot {path}: a figure's name must end in {', '.join(FORMATS)}")
    if path.parent.exists() and not os.access(path.parent, os.W_OK):
        raise PlotError(f"--plot {path}: {path.parent} cannot be written to; name another folder")


def draw_into(run: RunResult, path: Path) -> None:
    """Draw ``run`` into ``path``."""
    from scenarios.plots import plot_run

    path.parent.mkdir(parents=True, exist_ok=True)
    plot_run(run, kind_of(run) or "timeline", path)


def figures_into(run: RunResult, *, remarks: bool) -> Callable[[Path], Sequence[str]] | None:
    """What draws the run's figures into its folder; None if there is nothing to draw (with)."""
    kind = kind_of(run)
    if kind is None:
        return None
    if not _installed():
        if remarks:
            note("no figure: it needs matplotlib: pip install 'splitbrain[plot]'")
        return None
    return lambda folder: _draw(run, kind, folder, remarks=remarks)


def _draw(run: RunResult, kind: str, folder: Path, *, remarks: bool) -> list[str]:
    from scenarios.plots import PlotError, plot_run

    names = [f"{kind}.png", f"{kind}.svg"]
    try:
        for name in names:
            plot_run(run, kind, folder / name)
    except PlotError as error:
        if remarks:
            note(f"no figure: {error}")
        for name in names:
            (folder / name).unlink(missing_ok=True)
        return []
    return names


def _installed() -> bool:
    return find_spec("matplotlib") is not None
