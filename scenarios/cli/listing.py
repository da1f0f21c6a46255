"""``splitbrain list``: the scenarios that come with splitbrain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scenarios.cli.common import examples, json_option, note, say, say_json, table

if TYPE_CHECKING:
    from scenarios.model import Scenario

__all__ = ["command"]


@click.command(
    epilog=examples("splitbrain list", "splitbrain list --json | jq -r '.[].name'"),
)
@json_option
def command(as_json: bool) -> None:
    """List the scenarios of the library."""
    from scenarios.loader import library, load

    scenarios = [load(name) for name in library()]
    if as_json:
        say_json([entry(scenario) for scenario in scenarios])
        return
    rows = [[s.name, s.protocol, str(len(s.nodes)), _long(s), s.title] for s in scenarios]
    header = ("scenario", "protocol", "nodes", "long", "title")
    say("\n".join(table(header, rows, right=(2, 3))))
    note("\nsplitbrain show NAME tells more; splitbrain run NAME runs it")


def _long(scenario: Scenario) -> str:
    from sim.units import format_duration

    return format_duration(scenario.duration_us)


def entry(scenario: Scenario) -> dict[str, Any]:
    """A scenario in one object."""
    return {
        "name": scenario.name,
        "title": scenario.title,
        "protocol": scenario.protocol,
        "nodes": len(scenario.nodes),
        "duration_us": scenario.duration_us,
        "faults": len(scenario.faults),
        "nemesis": scenario.nemesis is not None,
        "checks": [check.id for check in scenario.checks],
        "metrics": list(scenario.metrics),
        "seeds": list(scenario.seeds),
    }
