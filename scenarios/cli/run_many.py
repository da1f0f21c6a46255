"""``splitbrain run --seeds``: the same scenario with several seeds, in one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scenarios.cli.common import coloured, note, say, say_json, table
from scenarios.cli.guard import worst
from scenarios.cli.report import replay_command
from scenarios.cli.run import Settings, keep, run_one

if TYPE_CHECKING:
    from scenarios.model import Scenario

__all__ = ["run_many"]

SCHEMA = "splitbrain.runs/1"


def run_many(scenario: Scenario, seeds: Sequence[int], settings: Settings) -> int:
    """Run all ``seeds``, keep each run, and tell; the exit code of the worst verdict.

    On Ctrl-C the runs that are done are there already.
    """
    from scenarios.metrics import by_itself

    results: list[dict[str, Any]] = []
    scenario = by_itself(scenario)
    for seed in seeds:
        try:
            results.append(_run(scenario, seed, settings))
        except KeyboardInterrupt:
            note(f"\n{len(results)} of {len(seeds)} runs are done and kept")
            raise
        if not (settings.quiet or settings.as_json):
            note(f"{scenario.name} seed {seed}: {results[-1]['verdict']}")
    if settings.as_json:
        say_json(_as_json(scenario, seeds, results))
    else:
        _tell(scenario, results)
    return worst([result["verdict"] for result in results])


def _run(scenario: Scenario, seed: int, settings: Settings) -> dict[str, Any]:
    from scenarios.artifacts import check_folder, default_folder

    folder = None if settings.out is None else settings.out / f"{scenario.name}-seed{seed}"
    if folder is not None:
        check_folder(folder)
    run = run_one(scenario, seed, settings)
    return keep(run, folder or default_folder(run))


def _as_json(
    scenario: Scenario, seeds: Sequence[int], results: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    verdicts = [result["verdict"] for result in results]
    names = {0: "ok", 1: "violated", 4: "unknown"}
    return {
        "schema": SCHEMA,
        "scenario": scenario.name,
        "seeds": list(seeds),
        "verdict": names[worst(verdicts)],
        "verdicts": {name: verdicts.count(name) for name in names.values()},
        "runs": list(results),
    }


def _tell(scenario: Scenario, results: Sequence[dict[str, Any]]) -> None:
    say(f"{scenario.name}: {scenario.title}")
    verdicts = [result["verdict"] for result in results]
    found = {name: verdicts.count(name) for name in ("ok", "violated", "unknown")}
    counts = ", ".join(f"{number} {coloured(name)}" for name, number in found.items() if number)
    say(f"{len(results)} seeds: {counts}\n")
    rows = [
        [
            str(result["seed"]),
            coloured(result["verdict"]),
            result["artifacts"]["folder"],
            result["why"],
        ]
        for result in results
    ]
    say("\n".join(table(("seed", "verdict", "folder", "why"), rows, right=(0,))))
    bad = [result for result in results if result["verdict"] == "violated"]
    for result in bad[:10]:
        say(f"replay:   {replay_command(result)}")
