"""``splitbrain run``: run a scenario with one seed or with several, judge, measure, keep it all."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scenarios.cli.common import (
    SCENARIO,
    examples,
    json_option,
    load_scenario,
    note,
    quiet_option,
    say,
    say_json,
)
from scenarios.cli.guard import RunStopped, worst
from scenarios.cli.progress import progress

if TYPE_CHECKING:
    from scenarios.model import Scenario
    from scenarios.runner import RunResult

    _SeedsType = click.ParamType[tuple[int, ...]]
else:
    _SeedsType = click.ParamType  # not generic in older versions of click

__all__ = ["Seeds", "command", "run_one"]

MAX_SEED = 2**63 - 1
MOST_SEEDS = 10_000


class Seeds(_SeedsType):
    """``1..20``, ``1,5,9`` or ``all``, which are those that the scenario names."""

    name = "seeds"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        if not isinstance(value, str):
            return tuple(value)
        if value == "all":
            return ()
        found = [seed for part in value.split(",") for seed in self._range(part, value, param, ctx)]
        if len(found) > MOST_SEEDS:
            self.fail(f"{value!r} are {len(found)} seeds; at most {MOST_SEEDS} at once", param, ctx)
        return tuple(dict.fromkeys(found))

    def _range(
        self, part: str, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        match = re.fullmatch(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?", part.strip())
        if match is None:
            self.fail(f"{value!r} are no seeds; write 1..20, or 1,5,9, or all", param, ctx)
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            self.fail(f"{value!r}: {last} is below {first}; write {last}..{first}", param, ctx)
        return range(first, min(last, first + MOST_SEEDS) + 1)


@dataclass(frozen=True, slots=True)
class Settings:
    """How runs are made and kept."""

    name: str
    changes: Sequence[str]
    out: Path | None
    trace: bool
    plot: Path | None
    as_json: bool
    quiet: bool


@click.command(
    epilog=examples(
        "splitbrain run detectors-five-regions",
        "splitbrain run detectors-five-regions --seeds 1..20",
        "splitbrain run my-scenario.yaml --seed 7 --set link.loss=5% --set nodes=7",
        "splitbrain run my-scenario.yaml --plot figure.svg",
        "splitbrain run my-scenario.yaml --json | jq .verdict",
    )
)
@click.argument("scenario", type=SCENARIO, metavar="NAME|FILE")
@click.option(
    "--seed", type=click.IntRange(0, MAX_SEED), help="Which run. [default: the scenario's first]"
)
@click.option(
    "--seeds", type=Seeds(), metavar="1..20|1,5|all", help="Several runs, one after another."
)
@click.option(
    "--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a value of the scenario."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="The run's folder. [default: in runs/]",
)
@click.option("--no-trace", is_flag=True, help="Record nothing: faster, but no digest, no replay.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the run (.svg, .png, .pdf).",
)
@json_option
@quiet_option
@click.pass_context
def command(
    ctx: click.Context,
    scenario: str,
    seed: int | None,
    seeds: tuple[int, ...] | None,
    changes: tuple[str, ...],
    out: Path | None,
    no_trace: bool,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a scenario: a name of the library (splitbrain list) or a file.

    Prints verdicts and figures. Everything else goes into a folder of its own, runs/NAME-seedN-…
    here, or in the folder that SPLITBRAIN_RUNS names: the trace, the result, the scenario, the
    faults, and, if matplotlib is installed, a figure. With several seeds, --out is the folder of
    the runs' folders.

    Exits with 0 if all checks hold, 1 if one is violated, 4 if the run doesn't tell.
    """
    if seed is not None and seeds is not None:
        ctx.fail("--seed and --seeds exclude each other; for seeds 1 to 5 write --seeds 1..5")
    settings = Settings(scenario, changes, out, not no_trace, plot, as_json, quiet)
    loaded = load_scenario(scenario, changes)
    chosen = (loaded.seeds[0] if seed is None else seed,) if seeds is None else seeds
    chosen = chosen or loaded.seeds
    if len(chosen) > 1 and plot is not None:
        ctx.fail(f"--plot draws one run, and these are {len(chosen)}; add --seed {chosen[0]}")
    if seeds is None or len(chosen) == 1:
        ctx.exit(_single(loaded, chosen[0], settings))
    from scenarios.cli.run_many import run_many

    ctx.exit(run_many(loaded, chosen, settings))


def _single(scenario: Scenario, seed: int, settings: Settings) -> int:
    from scenarios.artifacts import check_folder
    from scenarios.cli.figures import check_figure, draw_into, figures_into
    from scenarios.cli.report import report, speed

    if settings.out is not None:
        check_folder(settings.out)
    if settings.plot is not None:
        check_figure(settings.plot)
    run = run_one(scenario, seed, settings)
    if not (settings.quiet or settings.as_json):
        note(speed(run))
    drawn = None
    if settings.plot is not None:
        draw_into(run, settings.plot)
    elif not settings.as_json:
        drawn = figures_into(run, remarks=not settings.quiet)
    result = keep(run, settings.out, drawn)
    if settings.plot is not None:
        result["artifacts"]["figures"].append(str(settings.plot))
    if settings.as_json:
        say_json(result)
    else:
        for line in report(run, result):
            say(line)
    return worst([run.verdict.verdict])


def keep(
    run: RunResult, folder: Path | None, drawn: Callable[[Path], Sequence[str]] | None = None
) -> dict[str, Any]:
    """Write the run into ``folder`` (None: where runs go); its object as JSON."""
    from scenarios.artifacts import default_folder, write_run

    return write_run(run, default_folder(run) if folder is None else folder, drawn)


def run_one(scenario: Scenario, seed: int, settings: Settings) -> RunResult:
    """Run once, with progress; RunStopped if the protocol or the simulator raises."""
    from scenarios.runner import run_scenario

    label = f"{scenario.name} seed {seed}"
    with progress(label, quiet=settings.quiet or settings.as_json) as report:
        try:
            return run_scenario(scenario, seed, trace=settings.trace, progress=report)
        except Exception as error:
            raise RunStopped(f"the run of {label}", _again(seed, settings)) from error


def _again(seed: int, settings: Settings) -> str:
    words = ["splitbrain", "run", settings.name, "--seed", str(seed)]
    words += [word for change in settings.changes for word in ("--set", change)]
    return shlex.join(words)
