"""From the plain data of a scenario file to a `Scenario`: every key, every mistake at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from protocols.values import NodeId
from scenarios import registry
from scenarios.checks import CHECKS, Check
from scenarios.metrics import METRICS
from scenarios.model import CheckSpec, Scenario, WorkItem
from scenarios.workload_read import parse_workload
from sim.fields import FieldError, FieldErrors, Fields, parse_whole, unknown_name
from sim.latency import parse_latency
from sim.links import LinkSpec, parse_link
from sim.nemesis import NemesisSpec, draw_plan, parse_nemesis
from sim.plan import Plan, parse_plan
from sim.topology import DEFAULT_LINK, DOMAINS, Topology, parse_topology
from sim.units import parse_duration

__all__ = ["CHECK_NAME", "KEYS", "MAX_NODES", "MAX_SEEDS", "NODE_ID", "domains", "read_scenario"]

KEYS = (
    *("name", "title", "text", "protocol", "parameters", "nodes", "topology", "link", "service"),
    *("disk", "clocks", "workload", "faults", "nemesis", "checks", "metrics", "duration"),
    *("seeds", "random_ties"),
)
"""The keys of a scenario file."""
MAX_NODES = 100_000
MAX_SEEDS = 100_000
NODE_ID = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
CHECK_NAME = r"[a-z0-9]+(-[a-z0-9]+)*"
_SEEDS = re.compile(r"\s*([0-9]{1,18})\s*\.\.\s*([0-9]{1,18})\s*")
_PPM = partial(parse_whole, least=-999_999, most=999_999_999)
T = TypeVar("T")


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
    made: dict[str, Any] = {
        "name": fields.need("name", _parse_name, "a name such as my-scenario"),
        "title": fields.need("title", _parse_title, "a title of one line"),
        "text": fields.read("text", _parse_text, ""),
        "random_ties": fields.read("random_ties", _parse_flag, False),
        "seeds": fields.read("seeds", _parse_seeds, (1,)),
        "metrics": fields.read("metrics", _parse_metrics, ()),
        "checks": fields.read("checks", _parse_checks, ()),
        "service": fields.read("service", parse_latency, None),
        "disk_sync": fields.read("disk", _parse_disk, None),
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
    nodes = fields.need("nodes", _parse_nodes, "a number such as 5, or a list of ids")
    duration_us = fields.need("duration", _parse_length, 'a duration such as "60s"')
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


# -- one value each -------------------------------------------------------------------------------


def _parse_name(value: object) -> str:
    if isinstance(value, str) and re.fullmatch(CHECK_NAME, value) and len(value) <= 80:
        return value
    hint = ""
    if isinstance(value, str):
        tried = "-".join(re.findall(r"[a-z0-9]+", value.lower()))
        hint = f"try {tried}" if tried else ""
    raise FieldError(value, "words of a-z and 0-9 joined by -, at most 80 characters", hint=hint)


def _parse_title(value: object) -> str:
    if isinstance(value, str) and value.strip() and "\n" not in value.strip():
        return value.strip()
    raise FieldError(value, "a text of one line", hint="longer texts go under text:")


def _parse_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise FieldError(value, "a text", hint="write text: | and the lines below it, indented")


def _parse_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise FieldError(value, "true or false")


def _parse_length(value: object) -> int:
    duration_us = parse_duration(value)
    if duration_us == 0:
        raise FieldError(value, 'a duration above 0 such as "60s"')
    return duration_us


def _parse_seeds(value: object) -> tuple[int, ...]:
    if isinstance(value, str):
        return _parse_seed_range(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, (list, tuple)) or not value:
        raise FieldError(value, 'seeds such as [1, 2, 3] or "1..20"')
    seeds = _each(value, parse_whole)
    twice = next((at for at, seed in enumerate(seeds) if seed in seeds[:at]), None)
    if twice is not None:
        raise FieldError(seeds[twice], "each seed once", path=(twice,))
    return tuple(seeds)


def _parse_seed_range(value: str) -> tuple[int, ...]:
    match = _SEEDS.fullmatch(value)
    if match is None:
        raise FieldError(value, 'seeds such as [1, 2, 3] or "1..20"')
    first, last = map(int, match.groups())
    if not first <= last < first + MAX_SEEDS:
        allowed = f"a range from the smaller to the greater, at most {MAX_SEEDS} seeds"
        raise FieldError(value, allowed)
    return tuple(range(first, last + 1))


def _parse_nodes(value: object) -> tuple[NodeId, ...]:
    if isinstance(value, (list, tuple)):
        return _parse_node_list(value)
    if not isinstance(value, int):
        raise FieldError(value, "a number of nodes such as 5, or a list of ids such as [n1, n2]")
    return tuple(f"n{at}" for at in range(1, parse_whole(value, least=1, most=MAX_NODES) + 1))


def _parse_node_list(values: list[object] | tuple[object, ...]) -> tuple[NodeId, ...]:
    if not 1 <= len(values) <= MAX_NODES:
        raise FieldError(values, f"1 to {MAX_NODES} nodes")
    seen: dict[str, None] = {}

    def parse(value: object) -> NodeId:
        if not isinstance(value, str) or not re.fullmatch(NODE_ID, value) or value == "all":
            allowed = "a node id: a letter, then letters, digits, _ and -, not the word all"
            raise FieldError(value, allowed)
        if value in seen:
            raise FieldError(value, "each node once")
        seen[value] = None
        return value

    return tuple(_each(values, parse))


def _parse_metrics(value: object) -> tuple[str, ...]:
    def parse(name: object) -> str:
        if not isinstance(name, str) or name not in METRICS:
            raise unknown_name(name, METRICS, "a metric family")
        return name

    return tuple(dict.fromkeys(_each(_listed(value, "[qos]"), parse)))


def _parse_disk(value: object) -> Any:
    fields = Fields(value, ("sync",), "disk")
    sync = fields.need("sync", parse_latency, 'a latency such as "2ms"')
    fields.done()
    return sync


# -- checks ---------------------------------------------------------------------------------------


def _parse_checks(value: object) -> tuple[CheckSpec, ...]:
    return tuple(_each(_listed(value, "[{strong-completeness: {bound: 10s}}]"), _parse_check))


def _parse_check(value: object) -> CheckSpec:
    """An id alone, or {id: {parameters}}."""
    name, given = value, None
    if isinstance(value, Mapping):
        if len(value) != 1:
            raise FieldError(dict(value), "one check in each line: an id or {id: {bound: 10s}}")
        ((name, given),) = value.items()
    if not isinstance(name, str) or name not in CHECKS:
        path = (str(name),) if isinstance(value, Mapping) else ()
        raise unknown_name(name, CHECKS, "a check", path)
    try:
        return _parse_check_parameters(CHECKS[name], {} if given is None else given)
    except FieldError as error:
        raise error.under(*([name] if isinstance(value, Mapping) else [])) from None


def _parse_check_parameters(check: Check, given: object) -> CheckSpec:
    known = {name.removesuffix("_us"): name for name in check.parameters}
    if not known and given != {}:
        raise FieldError(given, f"nothing: {check.id} has no parameters")
    fields = Fields(given, known, check.id)
    found: dict[str, Any] = {}
    for key, name in known.items():
        default = check.parameters[name]
        read = parse_duration if name.endswith("_us") else partial(_like, default)
        if default is None:
            what = f'a duration, such as {check.id}: {{{key}: "10s"}}'
            found[name] = fields.need(key, read, what)
        elif key in fields.value:
            found[name] = fields.attempt(key, read)
    fields.done()
    return CheckSpec(check.id, found)


def _like(default: object, value: object) -> object:
    """A value of the kind of the default: text, whole number or number."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise FieldError(value, "a text or a number")
    if isinstance(default, str) != isinstance(value, str):
        raise FieldError(value, "a text" if isinstance(default, str) else "a number")
    if isinstance(default, int) and not isinstance(value, int):
        raise FieldError(value, "a whole number")
    return value


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
    return fields.attempt("topology", parse)


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
            registry.parse_parameters(setting.protocol, parameters)  # type: ignore[arg-type]
        else:
            registry.bind(
                setting.protocol,
                parameters,  # type: ignore[arg-type]
                setting.nodes,
                setting.topology,
            )
    except FieldError as error:
        fields.errors.append(error.under("parameters"))
        return {}
    return dict(parameters)  # type: ignore[call-overload, no-any-return]


def _read_clocks(fields: Fields, setting: _Setting) -> dict[NodeId, tuple[int, int]]:
    if "clocks" not in fields.value:
        return {}
    return fields.attempt("clocks", partial(_parse_clocks, nodes=setting.nodes)) or {}


def _parse_clocks(
    value: object, nodes: tuple[NodeId, ...] | None
) -> dict[NodeId, tuple[int, int]]:
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
    parse = partial(
        parse_workload, cls=cls, nodes=setting.nodes, duration_us=setting.duration_us
    )
    return fields.attempt("workload", parse) or ()


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
    plan = fields.attempt("faults", parse)
    if setting.topology is None:  # what racks there are is not known then
        rest = [e for error in fields.errors[found:] for e in error.errors]
        fields.errors[found:] = [e for e in rest if not any(k in e.path for k in DOMAINS)]
    return plan or Plan()


def _read_nemesis(fields: Fields, setting: _Setting) -> NemesisSpec | None:
    if fields.value.get("nemesis") is None:
        return None
    spec = fields.attempt("nemesis", partial(parse_nemesis, duration_us=setting.duration_us))
    if spec is None or setting.nodes is None or setting.topology is None:
        return spec
    fields.attempt("nemesis", lambda _: _check_nemesis(spec, setting))
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
        allowed = "at most the duration of the run"
        raise FieldError(f"{spec.end_us}us", allowed, path=(key,))


# -- helpers --------------------------------------------------------------------------------------


def _listed(value: object, example: str) -> list[object] | tuple[object, ...]:
    if isinstance(value, (list, tuple)):
        return value
    raise FieldError(value, f"a list such as {example}")


def _each(values: Iterable[object], parse: Callable[[object], T]) -> list[T]:
    """Parse every value of a list, gathering the mistakes of all."""
    found: list[T] = []
    errors: list[FieldError] = []
    for index, value in enumerate(values):
        try:
            found.append(parse(value))
        except FieldError as error:
            errors.append(error.under(index))
    if errors:
        raise FieldErrors(errors)
    return found
