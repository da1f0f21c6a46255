"""Figures of runs and sweeps: drawn to be read in print, in grey and by the colour-blind.

``plot_run(run, "suspicion", "figure.svg")`` takes what a run gave, its folder or its trace. The
same run gives the same file, byte for byte, with the same version of matplotlib, which comes with
the extra ``plot`` and is imported only when a figure is drawn.
"""

from __future__ import annotations

from scenarios.plots.errors import MissingExtra, PlotError
from scenarios.plots.kinds import KINDS, plot_run
from scenarios.plots.sweep_figure import plot_sweep
from scenarios.plots.view import RunView, view

__all__ = ["KINDS", "MissingExtra", "PlotError", "RunView", "plot_run", "plot_sweep", "view"]
