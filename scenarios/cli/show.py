"""``splitbrain show``: what a scenario does, in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from scenarios.cli.common import (
    SCENARIO,
    examples,
    json_option,
    load_scenario,
    say,
    say_json,
    table,
)

if TYPE_CHECKING:
    from scenarios.model import Scenario
    from scenarios.registry import Protocol

__all__ = ["command"]

SCHEMA = "splitbrain.scenario/1"


@click.command(
    epilog=examples(
        "splitbrain show detectors-five-regions",
        "splitbrain show detectors-five-regions --source > mine.yaml",
        "splitbrain show my-scenario.yaml --json",
    )
)
@click.argument("scenario", type=SCENARIO, metavar="NAME|FILE")
@click.option("--source", is_flag=True, help="Print the file as it is, to begin your own from.")
@json_option
@click.pass_context
def command(ctx: click.Context, scenario: str, source: bool, as_json: bool) -> None:
    """Tell what a scenario does: protocol, nodes, network, faults, checks."""
    from scenarios.loader import find

    if source and as_json:
        ctx.fail("--source and --json exclude each other")
    if source:
        say(find(scenario).read_text(encoding="utf-8").rstrip("\n"))
        return
    loaded = load_scenario(scenario)
    if as_json:
        say_json(_as_json(loaded))
    else:
        say("\n".join(_lines(loaded, scenario)))


def _protocol(scenario: Scenario) -> Protocol:
    from scenarios.registry import resolve

    return resolve(scenario.protocol)


def _as_json(scenario: Scenario) -> dict[str, Any]:
    from sim.plan import describe

    protocol = _protocol(scenario)
    return {
        "schema": SCHEMA,
        "name": scenario.name,
        "title": scenario.title,
        "text": scenario.text,
        "source": None if scenario.source is None else str(scenario.source),
        "protocol": {
            "name": protocol.name,
            "class": protocol.path,
            "summary": protocol.summary,
            "paper": protocol.paper,
        },
        "parameters": dict(scenario.parameters),
        "nodes": list(scenario.nodes),
        "duration_us": scenario.duration_us,
        "seeds": list(scenario.seeds),
        "faults": [describe(fault) for fault in scenario.faults],
        "checks": [{"check": c.id, "parameters": dict(c.parameters)} for c in scenario.checks],
        "metrics": list(scenario.metrics),
        "scenario": dict(scenario.raw),
    }


# -- in words -------------------------------------------------------------------------------------


def _lines(scenario: Scenario, given: str) -> Iterator[str]:
    yield f"{scenario.name}: {scenario.title}"
    yield from _text(scenario.text)
    yield ""
    yield from table(("", ""), _facts(scenario))[1:]
    yield from _faults(scenario)
    yield from _checks(scenario)
    yield ""
    yield f"Run it: splitbrain run {given}"


def _text(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        if paragraph.strip():
            yield ""
            yield from textwrap.wrap(" ".join(paragraph.split()), 88)


def _facts(scenario: Scenario) -> Iterator[list[str]]:
    from sim.units import format_duration

    protocol = _protocol(scenario)
    yield ["protocol", f"{protocol.name}: {protocol.summary}".removesuffix(": ")]
    if protocol.paper:
        yield ["", protocol.paper]
    for name, value in (scenario.raw.get("parameters") or {}).items():
        yield [f"  {name}", _shown(value)]
    yield ["nodes", _nodes(scenario)]
    yield ["long", format_duration(scenario.duration_us)]
    yield ["metrics", ", ".join(scenario.metrics) or "none"]
    yield ["seeds", _some([str(seed) for seed in scenario.seeds])]
    if scenario.workload:
        calls = sum(item.times for item in scenario.workload)
        names = dict.fromkeys(item.invoke for item in scenario.workload)
        yield ["clients", f"{calls} calls of {', '.join(names)}"]


def _shown(value: Any) -> str:
    """A parameter as the file could say it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_shown(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    words: dict[Any, str] = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _nodes(scenario: Scenario) -> str:
    return f"{len(scenario.nodes)}: {_some(list(scenario.nodes))}"


def _some(names: list[str]) -> str:
    if len(names) <= 12:
        return ", ".join(names)
    return f"{', '.join(names[:5])}, ..., {names[-1]}"


def _faults(scenario: Scenario) -> Iterator[str]:
    from sim.plan import describe

    if not scenario.faults and scenario.nemesis is None:
        return
    yield ""
    yield "what goes wrong"
    yield from (f"  {describe(fault)}" for fault in scenario.faults)
    if scenario.nemesis is not None:
        yield "  a nemesis draws faults from the seed:"
        yield from table(("", ""), _nemesis(scenario.raw.get("nemesis") or {}))[1:]


def _nemesis(raw: Any) -> Iterator[list[str]]:
    for name, value in raw.items() if isinstance(raw, dict) else ():
        yield [f"  {name}", _shown(value)]


def _checks(scenario: Scenario) -> Iterator[str]:
    from scenarios.checks import CHECKS

    yield ""
    yield "what is checked" if scenario.checks else "nothing is checked: a run is inconclusive"
    rows = [
        [_check(check.id, check.parameters), CHECKS[check.id].text] for check in scenario.checks
    ]
    if rows:
        yield from table(("", ""), rows)[1:]


def _check(name: str, parameters: Any) -> str:
    from sim.units import format_duration

    shown = [
        f"{key.removesuffix('_us')} {format_duration(v) if key.endswith('_us') else v}"
        for key, v in parameters.items()
        if v not in (None, "")
    ]
    return f"{name} ({', '.join(shown)})" if shown else name
