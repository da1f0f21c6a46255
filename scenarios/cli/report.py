"""A run for people: verdicts, counterexamples, figures, faults, messages, and where it all is."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scenarios.cli.common import coloured, table
from scenarios.cli.quantities import count
from scenarios.cli.report_metrics import metric_lines

if TYPE_CHECKING:
    from scenarios.runner import RunResult
    from sim.check.result import Violated

__all__ = ["replay_command", "report", "speed"]

_CHAIN = 10
_WIDTH = 160


def report(run: RunResult, result: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the report on ``run``, whose JSON object is ``result``."""
    yield from _title(run)
    yield from _verdicts(run)
    yield from _counterexamples(run)
    yield from metric_lines(result["metrics"])
    yield from _faults(run)
    yield from ("", _messages(result["messages"]))
    yield from _trace(run)
    yield from _artifacts(result)


def speed(run: RunResult) -> str:
    """How fast it went, in one sentence. The only thing that differs between equal runs."""
    from sim.units import format_duration

    wall_s = max(run.wall_s, 1e-6)
    times = run.end_us / 1e6 / wall_s
    rate = f"{count(round(run.cluster.delivered / wall_s))} messages/s"
    simulated = format_duration(run.end_us)
    return f"{simulated} simulated in {wall_s:.2f}s: {count(round(times))} × real time, {rate}"


def _title(run: RunResult) -> Iterator[str]:
    from sim.units import format_duration

    scenario = run.scenario
    yield f"{scenario.name}: {scenario.title}"
    about = f"{len(scenario.nodes)} nodes, {format_duration(run.end_us)} simulated"
    yield f"seed {run.seed}, {about}, protocol {scenario.protocol}"


def _verdicts(run: RunResult) -> Iterator[str]:
    verdict = run.verdict
    yield ""
    yield f"{coloured(verdict.verdict, _WORDS[verdict.verdict])}: {verdict.why}"
    if run.checks:
        yield ""
        rows = [[name, coloured(found.verdict), found.why] for name, found in run.checks]
        yield from table(("check", "verdict", "why"), rows)


_WORDS = {"ok": "HOLDS", "violated": "VIOLATED", "unknown": "INCONCLUSIVE"}


# -- counterexamples ----------------------------------------------------------------------------


def _counterexamples(run: RunResult) -> Iterator[str]:
    from sim.check.result import Violated

    violated = [(name, found) for name, found in run.checks if isinstance(found, Violated)]
    for name, found in violated:
        yield from _counterexample(run, name, found)


def _counterexample(run: RunResult, name: str, found: Violated) -> Iterator[str]:
    from sim.units import format_duration

    shown = found.counterexample
    where = f" ({', '.join(shown.nodes)})" if shown.nodes else ""
    yield ""
    yield f"counterexample to {name} at {format_duration(shown.time_us)}{where}"
    if shown.explanation and shown.explanation not in found.why:
        yield f"  {shown.explanation}"
    yield from (f"  {line}" for line in _causes(run, shown.event_ids))


def _causes(run: RunResult, event_ids: Sequence[int]) -> list[str]:
    """The chain of causes of the last event that shows it."""
    from sim.trace_query import format_chain, why
    from sim.trace_read import Trace

    recorder = run.cluster.recorder
    known = [number for number in event_ids if number >= 0]
    if recorder is None or not known:
        return []
    trace = Trace(recorder.header, recorder.events(), "")
    chain = why(trace, known[-1])
    lines = format_chain(chain[:_CHAIN], _WIDTH).splitlines()
    more = len(chain) - _CHAIN
    return [*lines, f"  and {more} causes before that"] if more > 0 else lines


# -- faults, messages, files --------------------------------------------------------------------


def _faults(run: RunResult) -> Iterator[str]:
    from sim.plan import describe

    if not run.usage:
        return
    rows = [
        [
            count(usage.touched) if usage.touched else coloured("unused", "unused"),
            ", ".join(usage.targets[:6]) + (", ..." if len(usage.targets) > 6 else ""),
            describe(usage.fault),
        ]
        for usage in run.usage
    ]
    yield ""
    yield from table(("touched", "nodes", "fault"), rows, right=(0,))


def _messages(messages: Mapping[str, Any]) -> str:
    dropped: Mapping[str, int] = messages["dropped"]
    reasons = ", ".join(f"{count(number)} {reason}" for reason, number in dropped.items())
    lost = f"{count(sum(dropped.values()))} dropped" + (f" ({reasons})" if reasons else "")
    sent, delivered = count(messages["sent"]), count(messages["delivered"])
    twice = f", {count(messages['duplicated'])} duplicated" if messages["duplicated"] else ""
    return f"messages: {sent} sent, {delivered} delivered, {lost}{twice}"


def _trace(run: RunResult) -> Iterator[str]:
    recorder = run.cluster.recorder
    if recorder is not None:
        yield f"trace:    {count(recorder.next_id)} events, digest {run.digest}"


def _artifacts(result: Mapping[str, Any]) -> Iterator[str]:
    artifacts = result["artifacts"]
    yield f"folder:   {artifacts['folder']}"
    yield from (f"figure:   {figure}" for figure in artifacts["figures"])
    yield f"replay:   {replay_command(result)}"


def replay_command(result: Mapping[str, Any]) -> str:
    """What to type to have this very run again."""
    artifacts = result["artifacts"]
    if artifacts["trace"] is None:
        scenario = shlex.quote(artifacts["scenario"])
        return f"splitbrain run {scenario} --seed {result['seed']}"
    return f"splitbrain replay {shlex.quote(os.fspath(artifacts['folder']))}"
