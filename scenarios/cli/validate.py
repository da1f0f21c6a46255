"""``splitbrain validate``: all mistakes of scenario files, each with its line."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from scenarios.cli.common import (
    SCENARIO,
    coloured,
    examples,
    json_option,
    load_scenario,
    note,
    say,
    say_json,
)
from scenarios.cli.guard import USAGE

if TYPE_CHECKING:
    from scenarios.model import Scenario
    from scenarios.problems import Problem

__all__ = ["command"]


@click.command(
    epilog=examples(
        "splitbrain validate my-scenario.yaml",
        "splitbrain validate scenarios/*.yaml --json",
    )
)
@click.argument("files", nargs=-1, required=True, type=SCENARIO, metavar="FILE...")
@json_option
@click.pass_context
def command(ctx: click.Context, files: tuple[str, ...], as_json: bool) -> None:
    """Check scenario files. Mistakes go to stderr, one per line, as file:line:column.

    Exits with 0 if all files are valid, with 2 otherwise. Nothing is run.
    """
    found = [_examine(file) for file in files]
    if as_json:
        say_json([_entry(file, *one) for file, one in zip(files, found, strict=True)])
    else:
        for file, (scenario, problems) in zip(files, found, strict=True):
            _tell(file, scenario, problems)
    ctx.exit(USAGE if any(problems for _, problems in found) else 0)


def _examine(file: str) -> tuple[Scenario | None, list[Problem]]:
    from scenarios.problems import ScenarioError

    try:
        return load_scenario(file), []
    except ScenarioError as error:
        return None, error.problems


def _tell(file: str, scenario: Scenario | None, problems: list[Problem]) -> None:
    from sim.units import format_duration

    if scenario is not None:
        about = f"{len(scenario.nodes)} nodes, {format_duration(scenario.duration_us)}"
        say(f"{file}: {coloured('ok', 'valid')} ({scenario.name}, {about})")
        return
    for problem in problems:
        note(str(problem))
    many = "1 mistake" if len(problems) == 1 else f"{len(problems)} mistakes"
    say(f"{file}: {coloured('violated', 'invalid')} ({many})")


def _entry(file: str, scenario: Scenario | None, problems: list[Problem]) -> dict[str, Any]:
    return {
        "file": file,
        "valid": scenario is not None,
        "name": None if scenario is None else scenario.name,
        "problems": [{**asdict(p), "given": _plain(p.given)} for p in problems],
    }


def _plain(given: object) -> object:
    """What was given, if JSON can say it; otherwise in words."""
    from scenarios.problems import shown

    if given is None or isinstance(given, (bool, int)):
        return given
    return given if isinstance(given, str) and len(given) <= 100 else shown(given)
