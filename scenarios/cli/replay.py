"""``splitbrain replay``: run again what a trace's header says, and compare the digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scenarios.cli.common import coloured, examples, json_option, quiet_option, say, say_json
from scenarios.cli.guard import Refusal, RunStopped
from scenarios.cli.progress import progress

if TYPE_CHECKING:
    from scenarios.runner import RunResult
    from sim.trace_diff import Divergence
    from sim.trace_read import Trace

__all__ = ["command", "rerun"]

SCHEMA = "splitbrain.replay/1"


@click.command(
    epilog=examples(
        "splitbrain replay runs/detectors-five-regions-seed1-fe30e716",
        "splitbrain replay bug-report.jsonl.gz --json",
    )
)
@click.argument("run", type=click.Path(path_type=Path), metavar="RUNDIR|TRACE")
@json_option
@quiet_option
@click.pass_context
def command(ctx: click.Context, run: Path, as_json: bool, quiet: bool) -> None:
    """Run again what a trace was recorded from: its scenario, its seed, its faults.

    Exits with 0 if the trace comes out the same, byte for byte. Otherwise with 1, and tells the
    first event that differs, and whether the code is another.
    """
    from scenarios.artifacts import read_run
    from sim.trace_diff import diff
    from sim.trace_read import parse_trace

    stored = read_run(run)
    again = rerun(stored.trace, stored.path, quiet=quiet or as_json)
    same = again.digest == stored.trace.digest
    found = None
    if not same:
        recorder = again.cluster.recorder
        assert recorder is not None
        lines = [*recorder.lines(), recorder.end_line(again.end_us)]
        found = diff(stored.trace, parse_trace(lines, "the replay"))
    if as_json:
        say_json(_as_json(stored.path, stored.trace, again, found))
    else:
        _tell(stored.trace, again, found)
    ctx.exit(0 if same else 1)


def rerun(trace: Trace, path: Path, *, quiet: bool = True) -> RunResult:
    """Run what the header of ``trace`` says; ScenarioError if that isn't valid here."""
    from scenarios.loader import from_value
    from scenarios.runner import plan_from, run_scenario

    header = trace.header
    if header.get("scenario") is None:
        raise Refusal(f"{path}: the trace holds no scenario; only runs of scenarios are replayed")
    scenario = replace(from_value(header["scenario"], path), metrics=())  # no part of the trace
    plan = plan_from(header["plan"], scenario)
    label = f"replay of {scenario.name} seed {header['seed']}"
    with progress(label, quiet=quiet) as report:
        try:
            return run_scenario(scenario, header["seed"], plan=plan, progress=report)
        except Exception as error:
            raise RunStopped(f"the {label}", f"splitbrain replay {path}") from error


def _code(trace: Trace, again: RunResult) -> tuple[str, str]:
    assert again.cluster.recorder is not None
    return str(trace.header["code"]), str(again.cluster.recorder.header["code"])


# -- telling --------------------------------------------------------------------------------------


def _tell(trace: Trace, again: RunResult, found: Divergence | None) -> None:
    from sim.trace_diff import format_divergence

    name = f"{again.scenario.name} seed {again.seed}"
    if again.digest == trace.digest:
        events = f"{len(trace.events):,} events, digest {trace.digest}"
        say(f"{coloured('ok', 'IDENTICAL')}: {name} came out the same, {events}")
        say(f"verdict: {coloured(again.verdict.verdict)}, {again.verdict.why}")
        return
    say(f"{coloured('violated', 'DIFFERENT')}: {name} came out otherwise")
    recorded, current = _code(trace, again)
    if recorded != current:
        version = trace.header["version"]
        say(f"the code is another: recorded by {recorded} (version {version}), this is {current}")
    say(format_divergence(found, ("the recorded run", "the replay")))


def _as_json(path: Path, trace: Trace, again: RunResult, found: Divergence | None) -> Any:
    recorded, current = _code(trace, again)
    return {
        "schema": SCHEMA,
        "trace": str(path),
        "scenario": again.scenario.name,
        "seed": again.seed,
        "identical": again.digest == trace.digest,
        "digest": {"recorded": trace.digest, "replayed": again.digest},
        "code": {"recorded": recorded, "current": current, "same": recorded == current},
        "verdict": again.verdict.verdict,
        "divergence": None if found is None else divergence_json(found),
    }


def divergence_json(found: Divergence) -> Mapping[str, Any]:
    """A divergence as plain data; what one side doesn't have is left out of that side."""
    return {
        "reason": found.reason,
        "event": found.at,
        "a": found.a,
        "b": found.b,
        "header": [_difference(one) for one in found.header],
        "fields": [_difference(one) for one in found.fields],
    }


def _difference(one: Any) -> dict[str, Any]:
    from sim.trace_diff import MISSING

    sides = {"a": one.a, "b": one.b}
    return {"path": one.path, **{k: v for k, v in sides.items() if v is not MISSING}}
