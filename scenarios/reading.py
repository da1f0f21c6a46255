"""From the plain data of a scenario file to a `Scenario`: every key, every mistake at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar, cast

from protocols.values import NodeId
from scenarios import registry
from scenarios.checks_read import parse_checks
from scenarios.model import CheckSpec, Scenario, WorkItem
from scenarios.traffic_read import parse_traffic
from scenarios.traffic_spec import Traffic
from scenarios.values_read import (
    parse_disk,
    parse_flag,
    parse_length,
    parse_metrics,
    parse_name,
    parse_nodes,
    parse_seeds,
    parse_text,
    parse_title,
)
from scenarios.workload_read import parse_workload
from sim.fields import FieldError, FieldErrors, Fields, parse_whole, unknown_name
from sim.latency import Latency, parse_latency
from sim.links import LinkSpec, parse_link
from sim.nemesis import NemesisSpec, draw_plan, parse_nemesis
from sim.plan import Plan, parse_plan
from sim.topology import DEFAULT_LINK, DOMAINS, Topology, parse_topology
from sim.units import format_duration, parse_duration

__all__ = ["KEYS", "domains", "read_scenario"]

KEYS = (
    *("name", "title", "text", "protocol", "parameters", "nodes", "topology", "link", "service"),
    *(
        "disk",
        "clocks",
        "workload",
        "traffic",
        "faults",
        "nemesis",
        "checks",
        "metrics",
        "duration",
    ),
    *("seeds", "random_ties"),
)
"""The keys of a scenario file."""
T = TypeVar("T")
_PPM = partial(parse_whole, least=-999_999, most=999_999_999)


@dataclass(slots=True)
class _Setting:
    """What later keys need of earlier ones; None where that one is wrong."""

    nodes: tuple[NodeId, ...] | None
    duration_us: int | None
    protocol: registry.Protocol | None
    topology: Topology | None = None


def read_scenario(raw: Mapping[str, Any], source: Path | None = None) -> Scenario:
    """The scenario that ``raw`` says; FieldErrors with every mistake in it.

    ``raw`` holds plain data: what YAML or JSON gives.
    """
    fields = Fields(raw, KEYS, "a scenario")
    one: tuple[int, ...] = (1,)
    no_metrics: tuple[str, ...] = ()
    no_checks: tuple[CheckSpec, ...] = ()
    none: Latency | None = None
    no_traffic: Traffic | None = None
    made: dict[str, Any] = {
        "name": fields.need("name", parse_name, "a name such as my-scenario"),
        "title": fields.need("title", parse_title, "a title of one line"),
        "text": fields.read("text", parse_text, ""),
        "random_ties": fields.read("random_ties", parse_flag, False),
        "seeds": fields.read("seeds", parse_seeds, one),
        "metrics": fields.read("metrics", parse_metrics, no_metrics),
        "checks": fields.read("checks", parse_checks, no_checks),
        "service": fields.read("service", parse_latency, none),
        "traffic": fields.read("traffic", parse_traffic, no_traffic),
        "disk_sync": fields.read("disk", parse_disk, None),
    }
    setting = _read_setting(fields)
    made |= _read_by_setting(fields, setting)
    fields.done()
    assert setting.nodes is not None and setting.topology is not None
    return Scenario(
        protocol=raw["protocol"],
        nodes=setting.nodes,
        topology=setting.topology,
        duration_us=setting.duration_us or 0,
        raw=raw,
        source=source,
        **made,
    )


def _read_setting(fields: Fields) -> _Setting:
    protocol = fields.need("protocol", registry.resolve, f"one of {', '.join(registry.PROTOCOLS)}")
    nodes = fields.need("nodes", parse_nodes, "a number such as 5, or a list of ids")
    duration_us = fields.need("duration", parse_length, 'a duration such as "60s"')
    setting = _Setting(nodes, duration_us, protocol)
    setting.topology = _read_topology(fields, setting)
    return setting


def _read_by_setting(fields: Fields, setting: _Setting) -> dict[str, Any]:
    """What depends on the protocol, the nodes, the topology and the duration."""
    return {
        "parameters": _read_parameters(fields, setting),
        "clocks": _read_clocks(fields, setting),
        "workload": _read_workload(fields, setting),
        "faults": _read_faults(fields, setting),
        "nemesis": _read_nemesis(fields, setting),
    }


# -- what depends on the setting ------------------------------------------------------------------


def _read_topology(fields: Fields, setting: _Setting) -> Topology | None:
    found = len(fields.errors)
    link = fields.read("link", partial(parse_link, base=DEFAULT_LINK), DEFAULT_LINK)
    broken = len(fields.errors) > found
    base: LinkSpec = DEFAULT_LINK if broken else link
    if setting.nodes is None:
        return None
    parse = partial(parse_topology, nodes=setting.nodes, link=base)
    if "topology" not in fields.value:
        return parse(None)
    return _attempt(fields, "topology", parse)


def domains(topology: Topology) -> dict[str, dict[str, tuple[NodeId, ...]]]:
    """The racks, zones and regions of a topology, each with its nodes."""
    return {
        kind: {name: topology.members(kind, name) for name in topology.names(kind)}
        for kind in DOMAINS
    }


def _read_parameters(fields: Fields, setting: _Setting) -> dict[str, Any]:
    raw = fields.value.get("parameters", {})
    if setting.protocol is None:
        return {}
    parameters = {} if raw is None else raw
    try:
        if setting.nodes is None or setting.topology is None:
            registry.parse_parameters(setting.protocol, parameters)
        else:
            registry.bind(
                setting.protocol,
                parameters,
                setting.nodes,
                setting.topology,
            )
    except FieldError as error:
        fields.errors.append(error.under("parameters"))
        return {}
    return dict(cast("dict[str, Any]", parameters))


def _read_clocks(fields: Fields, setting: _Setting) -> dict[NodeId, tuple[int, int]]:
    if "clocks" not in fields.value:
        return {}
    return _attempt(fields, "clocks", partial(_parse_clocks, nodes=setting.nodes)) or {}


def _parse_clocks(value: object, nodes: tuple[NodeId, ...] | None) -> dict[NodeId, tuple[int, int]]:
    if not isinstance(value, Mapping):
        raise FieldError(value, "a mapping such as {n1: {offset: 10ms, ppm: 50}}")
    found: dict[NodeId, tuple[int, int]] = {}
    errors: list[FieldError] = []
    known = None if nodes is None else dict.fromkeys(nodes)
    for node, one in value.items():
        if known is not None and node not in known:
            errors.append(unknown_name(node, known, "the nodes", (str(node),)))
        try:
            found[node] = _parse_clock(one)
        except FieldError as error:
            errors.append(error.under(str(node)))
    if errors:
        raise FieldErrors(errors)
    return found


def _parse_clock(value: object) -> tuple[int, int]:
    fields = Fields(value, ("offset", "ppm"), "a clock")
    offset_us = fields.read("offset", partial(parse_duration, allow_negative=True), 0)
    ppm = fields.read("ppm", _PPM, 0)
    fields.done()
    return offset_us, ppm


def _read_workload(fields: Fields, setting: _Setting) -> tuple[WorkItem, ...]:
    if "workload" not in fields.value:
        return ()
    cls = None if setting.protocol is None else setting.protocol.cls
    parse = partial(parse_workload, cls=cls, nodes=setting.nodes, duration_us=setting.duration_us)
    return _attempt(fields, "workload", parse) or ()


def _roles(setting: _Setting) -> tuple[str, ...] | None:
    if setting.protocol is None:
        return None
    try:
        return registry.roles(setting.protocol.name)
    except FieldError:  # said at the parameters already
        return None


def _read_faults(fields: Fields, setting: _Setting) -> Plan:
    if setting.nodes is None or "faults" not in fields.value:
        return Plan()
    topology = setting.topology or Topology.full_mesh(setting.nodes)
    parse = partial(
        parse_plan,
        nodes=setting.nodes,
        roles=_roles(setting),
        racks=topology.names("rack"),
        zones=topology.names("zone"),
        regions=topology.names("region"),
        duration_us=setting.duration_us,
    )
    found = len(fields.errors)
    plan = _attempt(fields, "faults", parse)
    if setting.topology is None:  # what racks there are is not known then
        rest = [e for error in fields.errors[found:] for e in error.errors]
        fields.errors[found:] = [e for e in rest if not any(k in e.path for k in DOMAINS)]
    return plan or Plan()


def _read_nemesis(fields: Fields, setting: _Setting) -> NemesisSpec | None:
    if fields.value.get("nemesis") is None:
        return None
    spec = _attempt(fields, "nemesis", partial(parse_nemesis, duration_us=setting.duration_us))
    if spec is None or setting.nodes is None or setting.topology is None:
        return spec
    _attempt(fields, "nemesis", lambda _: _check_nemesis(spec, setting))
    return spec


def _check_nemesis(spec: NemesisSpec, setting: _Setting) -> None:
    """Refuse what could never be drawn, or would begin after the end."""
    assert setting.nodes is not None and setting.topology is not None
    found = domains(setting.topology)
    roles = _roles(setting)
    for at, role in enumerate(spec.sole_roles):
        if roles is not None and role not in roles:
            raise unknown_name(role, roles, "a role of the protocol", ("sole_roles", at))
    draw_plan(
        spec,
        setting.nodes,
        Random(0),
        racks=found["rack"],
        zones=found["zone"],
        regions=found["region"],
        roles=roles or (),
    )
    if setting.duration_us is not None and spec.end_us > setting.duration_us:
        key = "stop" if spec.heal_at_us is None else "heal_at"
        allowed = f"at most the duration of the run, {format_duration(setting.duration_us)}"
        raise FieldError(format_duration(spec.end_us), allowed, path=(key,))


def _attempt(fields: Fields, key: str, parse: Callable[[object], T]) -> T | None:
    """The parsed value of ``key``; None where it is wrong, which ``fields`` notes."""
    return fields.attempt(key, parse)
