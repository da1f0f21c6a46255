"""``splitbrain sweep``: one scenario under many settings and seeds."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import click

from scenarios.problems import ScenarioError
from scenarios.sweep import MOST_RUNS, Row, Sweep, SweepError, parse_vary, plan_sweep, run_sweep
from scenarios.sweep_store import Store
from scenarios.sweep_table import Point, choose_metrics, points, table, to_json

__all__ = ["sweep"]

_INTERRUPTED = 130


@click.command()
@click.argument("name")
@click.option(
    "--vary",
    multiple=True,
    metavar="SETTING=A,B,…",
    help="A setting and its values, such as link.loss=0%,1%,5%; may be repeated.",
)
@click.option("--seeds", metavar="1..20", help="Default: the scenario's own.")
@click.option(
    "--metric", "metrics", multiple=True, metavar="PATH", help="Such as qos.phi.p_a; repeatable."
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default: one per core.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for rows.jsonl, one line a run, written as they come.",
)
@click.option("--resume", is_flag=True, help="Go on with the rows that are in --out.")
@click.option(
    "--plot",
    "figure",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the metrics over the settings: .svg, .png or .pdf.",
)
@click.pass_context
def sweep(
    ctx: click.Context,
    name: str,
    vary: tuple[str, ...],
    seeds: str | None,
    metrics: tuple[str, ...],
    workers: int | None,
    as_json: bool,
    out: Path | None,
    resume: bool,
    figure: Path | None,
) -> None:
    """Run scenario NAME under every combination of settings, each with the same seeds.

    Prints the mean of each metric over the seeds, its 95 % interval (Student t), and how many runs
    had which verdict. Exit code 0 if all checks of all runs hold, 1 if some are violated, 4 if
    some are inconclusive, 3 if a run failed. Ctrl-C keeps what is done (see --out, --resume).
    """
    try:
        if resume and out is None:
            raise SweepError("--resume needs --out, the folder with the rows to go on with")
        planned = plan_sweep(name, [parse_vary(text) for text in vary], _seeds(seeds))
        rows, whole = _run(planned, workers or os.cpu_count() or 1, out, resume=resume)
        chosen = choose_metrics(rows, metrics)
        found = points(planned, rows, chosen)
        _tell(planned, found, chosen, as_json=as_json)
        _draw(planned, found, chosen, figure)
    except (SweepError, ScenarioError) as error:
        click.echo(str(error), err=True)
        ctx.exit(2)
    _fail(rows)
    ctx.exit(_exit_code(rows) if whole else _INTERRUPTED)


def _seeds(text: str | None) -> Sequence[int]:
    """``1..20``, ``3`` or ``1,4,9``."""
    if text is None:
        return ()
    ends = re.fullmatch(r"([0-9]{1,15})\.\.([0-9]{1,15})", text)
    if ends is not None:
        first, last = map(int, ends.groups())
        if first <= last < first + MOST_RUNS:
            return range(first, last + 1)
    elif re.fullmatch(r"[0-9]{1,15}(,[0-9]{1,15})*", text):
        return [int(part) for part in text.split(",")]
    raise SweepError(f"--seeds {text}: write 1..20, or 1,4,9; at most {MOST_RUNS} seeds")


def _run(planned: Sweep, workers: int, out: Path | None, *, resume: bool) -> tuple[list[Row], bool]:
    """The rows, and whether they are all there (False: interrupted)."""
    rows: dict[int, Row] = {}
    with ExitStack() as stack:
        store = None if out is None else stack.enter_context(Store(out, planned, resume=resume))
        done = store.done if store is not None else []
        rows.update((row["job"], row) for row in done)

        def keep(row: Row) -> None:
            rows[row["job"]] = row
            if store is not None:
                store.keep(row)

        try:
            run_sweep(planned, workers=workers, done=done, keep=keep, progress=_progress)
        except KeyboardInterrupt:
            _interrupted(len(rows), len(planned), out)
            return [rows[job] for job in sorted(rows)], False
        found = [rows[job] for job in sorted(rows)]
        if store is not None:
            store.finish(found)
        return found, True


def _progress(done: int, total: int) -> None:
    """On a terminal a line that counts; elsewhere a line at every tenth."""
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total} runs", err=True, nl=done == total)
    elif done * 10 // total > (done - 1) * 10 // total:
        click.echo(f"{done} of {total} runs", err=True)


def _interrupted(done: int, total: int, out: Path | None) -> None:
    hint = "with --out FOLDER one could go on later" if out is None else "go on with --resume"
    click.echo(f"\ninterrupted after {done} of {total} runs; {hint}", err=True)


def _tell(planned: Sweep, found: Sequence[Point], metrics: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(to_json(planned, found), ensure_ascii=False, indent=2))
    elif found:
        click.echo(table(found, metrics))


def _draw(
    planned: Sweep, found: Sequence[Point], metrics: Sequence[str], figure: Path | None
) -> None:
    if figure is None:
        return
    from scenarios.plots import MissingExtra, PlotError, plot_sweep

    try:
        written = plot_sweep(planned, found, metrics, figure)
    except (MissingExtra, PlotError) as error:
        raise SweepError(str(error)) from None
    click.echo(str(written), err=True)


def _fail(rows: Sequence[Row]) -> None:
    for row in [row for row in rows if row["verdict"] == "error"][:3]:
        settings = " ".join(f"{k}={v}" for k, v in row["settings"].items())
        click.echo(f"seed {row['seed']} {settings}: {row['why']}", err=True)


def _exit_code(rows: Sequence[Row]) -> int:
    verdicts = [row["verdict"] for row in rows]
    for verdict, code in (("error", 3), ("violated", 1), ("unknown", 4)):
        if verdict in verdicts:
            return code
    return 0
