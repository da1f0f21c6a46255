"""``splitbrain plot``: a figure of a run."""

from __future__ import annotations

from pathlib import Path

import click

from scenarios.cli.guard import Refusal
from scenarios.plots.errors import MissingExtra, PlotError
from scenarios.plots.kinds import KINDS, plot_run

__all__ = ["plot"]

_HELP = "\n\n".join(f"{name}: {kind.text}." for name, kind in KINDS.items())


@click.command(help=f"Draw a figure of RUN: a run's folder, or its trace file.\n\n{_HELP}")
@click.argument("run", type=click.Path(exists=True, path_type=Path))
@click.option("--kind", type=click.Choice(list(KINDS)), default="suspicion", show_default=True)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write: .svg, .png or .pdf. Default: KIND.svg beside the trace.",
)
@click.option(
    "--pair",
    "pairs",
    multiple=True,
    metavar="MONITOR:TARGET",
    help="Whose suspicions to show; may be repeated. Default: up to three that are telling.",
)
def plot(run: Path, kind: str, out: Path | None, pairs: tuple[str, ...]) -> None:
    """Draw a figure of a run."""
    from sim.trace_check import TraceError

    path = out or (run if run.is_dir() else run.parent) / f"{kind}.svg"
    try:
        written = plot_run(run, kind, path, pairs=[_pair(text) for text in pairs])
    except (MissingExtra, PlotError, TraceError) as error:
        raise Refusal(str(error)) from None
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}") from None
    click.echo(str(written))


def _pair(text: str) -> tuple[str, str]:
    monitor, colon, target = text.partition(":")
    if not (monitor and colon and target):
        raise PlotError(f"--pair {text}: write MONITOR:TARGET, such as n1:n2")
    return monitor, target
