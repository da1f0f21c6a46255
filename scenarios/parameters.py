"""The parameters of a process: from what a scenario says to what its class takes.

A process gets its parameters by their names and annotations (a parameter ``x_us`` is written
``x: 1s``). `AUTOMATIC` ones are given by the cluster, to a class that has them. A class (or else
its module) may define ``scenario_parameters(raw) -> mapping`` to read its parameters itself, and
``check_parameters(process)`` to refuse some with a ValueError.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from protocols.spec import _MISSING, Spec, spec_of
from protocols.values import NodeId
from scenarios.annotations import Schema, field_name, parse_as, schema_as, written_name
from scenarios.protocol_class import Protocol, hints_of
from sim.fields import FieldError, FieldErrors, unknown_name
from sim.topology import GraphTopology, Topology

__all__ = [
    "AUTOMATIC",
    "bind",
    "make_process",
    "parameter_names",
    "parameters_schema",
    "parse_parameters",
]

AUTOMATIC = ("me", "peers", "members", "nodes", "neighbours")
"""Parameters that the cluster gives, never the file."""
_POSITIVE = ("interval_us", "period_us")
"""Paces: with 0 a process would never let time go on."""


def parameter_names(protocol: Protocol) -> list[str]:
    """The parameters that a scenario may give, as it writes them."""
    return [written_name(name) for name in spec_of(protocol.cls).params if name not in AUTOMATIC]


def parse_parameters(protocol: Protocol, raw: object) -> dict[str, Any]:
    """What to give to the class, by its own names, from what a scenario says.

    FieldErrors with all mistakes, at paths relative to ``raw``.
    """
    if not isinstance(raw, Mapping):
        known = ", ".join(parameter_names(protocol))
        raise FieldError(raw, f"a mapping with the parameters {known}")
    cls = protocol.cls
    hook = _hook(cls, "scenario_parameters")
    if hook is not None:
        return _by_hook(hook, raw)
    return _by_annotation(cls, raw, protocol.name)


def _hook(cls: type, name: str) -> Callable[..., Any] | None:
    """What the class or its module defines under ``name``."""
    for base in cls.__mro__:
        module = sys.modules.get(base.__module__)
        found = getattr(base, name, None) or getattr(module, name, None)
        if callable(found):
            hook: Callable[..., Any] = found
            return hook
    return None


def _by_hook(hook: Callable[..., Any], raw: Mapping[object, object]) -> dict[str, Any]:
    try:
        return dict(hook(raw))
    except FieldError:
        raise
    except Exception as error:  # a user's code may fail in any way
        told = f"{type(error).__name__}: {error}"
        raise FieldError(dict(raw), "what scenario_parameters accepts", hint=told) from error


def _by_annotation(cls: type, raw: Mapping[object, object], name: str) -> dict[str, Any]:
    spec, hints = spec_of(cls), hints_of(cls)
    given: dict[str, Any] = {}
    errors: list[FieldError] = []
    for key, value in raw.items():
        try:
            field = _known_field(str(key), spec, name)
            given[field] = _read(cls, field, str(key), hints.get(field, Any), value)
        except FieldError as error:
            errors.append(error)
    errors += _missing(spec, given, raw)
    if errors:
        raise FieldErrors(errors)
    return given


def _known_field(key: str, spec: Spec, protocol: str) -> str:
    field = field_name(key, spec.params)
    if field is not None and field not in AUTOMATIC:
        return field
    known = [written_name(one) for one in spec.params if one not in AUTOMATIC]
    error = unknown_name(key, known, f"the parameters of {protocol}", (key,))
    if key in AUTOMATIC and key in spec.params:
        error.hint = "the cluster gives it"
    elif key in spec.params:
        error.hint = f"write {written_name(key)}: with a duration"
    elif key in spec.defaults:
        error.hint = f"{key} is state, not a parameter"
    raise FieldError(key, error.allowed, path=(key,), hint=error.hint)


def _read(cls: type, field: str, key: str, annotation: Any, value: object) -> Any:
    try:
        special = _special(cls, field)
        if special is not None:
            return special(value)
        parsed = parse_as(annotation, value, duration=field.endswith("_us"))
        if field in _POSITIVE and parsed == 0:
            raise FieldError(value, 'a duration above 0 such as "1s"')
        return parsed
    except FieldError as error:
        raise error.under(key) from None


def _special(cls: type, field: str) -> Callable[[object], Any] | None:
    """The reader of a parameter that annotations cannot describe: the detectors of heartbeats."""
    if field != "detectors":
        return None
    from protocols.detectors.heartbeat import PushHeartbeat
    from scenarios.detector_parameters import parse_detectors

    return parse_detectors if issubclass(cls, PushHeartbeat) else None


def parameters_schema(protocol: Protocol) -> Schema:
    """The JSON Schema of a protocol's parameters; anything where it reads them itself."""
    cls = protocol.cls
    if _hook(cls, "scenario_parameters") is not None:
        return {"type": "object"}
    spec, hints = spec_of(cls), hints_of(cls)
    names = [name for name in spec.params if name not in AUTOMATIC]
    needed = [written_name(name) for name in names if spec.params[name] is _MISSING]
    return {
        "type": "object",
        "properties": {written_name(n): _schema(cls, n, hints.get(n, Any)) for n in names},
        "required": needed,
        "additionalProperties": False,
    }


def _schema(cls: type, field: str, annotation: Any) -> Schema:
    if _special(cls, field) is not None:
        from scenarios.detector_parameters import detectors_schema

        return detectors_schema()
    if field in _POSITIVE:
        return {"$ref": "#/$defs/positive_duration"}
    return schema_as(annotation, duration=field.endswith("_us"))


def _missing(
    spec: Spec, given: Mapping[str, Any], raw: Mapping[object, object]
) -> list[FieldError]:
    needed = [n for n, default in spec.params.items() if default is _MISSING]
    left = [written_name(n) for n in needed if n not in (*given, *AUTOMATIC)]
    return [
        FieldError(None, "a value, it has no default", path=(name,), hint="add this parameter")
        for name in left
        if name not in raw
    ]


# -- making processes -----------------------------------------------------------------------------


def bind(
    protocol: Protocol,
    parameters: object,
    nodes: tuple[NodeId, ...],
    topology: Topology,
) -> Callable[[NodeId], Any]:
    """How to make the process of each node: parameters are read once, for 100,000 nodes too.

    ``parameters`` as the scenario says them. FieldErrors with all that is wrong with them.
    """
    cls = protocol.cls
    given = parse_parameters(protocol, parameters)
    automatic = _automatic(spec_of(cls), nodes, topology)

    def make(me: NodeId) -> Any:
        return cls(**given, **{name: give(me) for name, give in automatic.items()})

    _check_nodes(cls, given, nodes)
    _check(cls, make, nodes, parameters)
    return make


def make_process(
    protocol: Protocol,
    me: NodeId,
    nodes: tuple[NodeId, ...],
    topology: Topology,
    parameters: object,
) -> Any:
    """The process of one node; `bind` is quicker for many."""
    return bind(protocol, parameters, nodes, topology)(me)


def _automatic(
    spec: Spec, nodes: tuple[NodeId, ...], topology: Topology
) -> dict[str, Callable[[NodeId], Any]]:
    """Who gets what: see `AUTOMATIC`. Routed topologies let everybody reach everybody."""
    partial_links = isinstance(topology, GraphTopology)
    routed = partial_links and getattr(topology, "mode", "") == "hops"

    def others(me: NodeId) -> tuple[NodeId, ...]:
        at = nodes.index(me) if len(nodes) < 64 else places[me]
        return nodes[:at] + nodes[at + 1 :]

    places = {node: at for at, node in enumerate(nodes)}
    near = topology.neighbours if partial_links else others
    gives: dict[str, Callable[[NodeId], Any]] = {
        "me": lambda me: me,
        "peers": others if routed else near,
        "members": lambda me: nodes,
        "nodes": lambda me: nodes,
        "neighbours": near,
    }
    if not partial_links and spec.params.get("neighbours", _MISSING) is not _MISSING:
        del gives["neighbours"]  # everybody is: its default says so, at no cost for many nodes
    return {name: give for name, give in gives.items() if name in spec.params}


def _check_nodes(cls: type, given: Mapping[str, Any], nodes: tuple[NodeId, ...]) -> None:
    """Refuse, in parameters annotated with NodeId, what is no node of the scenario."""
    known = dict.fromkeys(nodes)
    errors: list[FieldError] = []
    for base in cls.__mro__:
        for name, annotation in inspect.get_annotations(base).items():
            if name in given and "NodeId" in str(annotation):
                key, value = written_name(name), given[name]
                named = [((key,), value)] if isinstance(value, str) else _numbered(key, value)
                errors += [
                    unknown_name(one, nodes, "the nodes", path)
                    for path, one in named
                    if isinstance(one, str) and one not in known
                ]
    if errors:
        raise FieldErrors(errors)


def _numbered(key: str, values: Any) -> list[tuple[tuple[str | int, ...], Any]]:
    listed = values if isinstance(values, tuple) else ()
    return [((key, at), one) for at, one in enumerate(listed)]


def _check(
    cls: type, make: Callable[[NodeId], Any], nodes: tuple[NodeId, ...], raw: object
) -> None:
    """Refuse what the class itself refuses, before anything runs."""
    try:
        process = make(nodes[0])
        check = _hook(cls, "check_parameters")
        if check is not None:
            check(process)
    except FieldError:
        raise
    except Exception as error:  # a user's code may fail in any way
        raise _refused(error, spec_of(cls), raw) from error


def _refused(error: Exception, spec: Spec, raw: object) -> FieldError:
    """The class's own words, at the parameter that they name."""
    told = str(error)
    named = [name for name in spec.params if told.startswith((f"{name}=", f"{name} "))]
    if not named or not isinstance(raw, Mapping):
        return FieldError(raw, f"what the protocol accepts ({type(error).__name__}: {told})")
    key = written_name(named[0])
    return FieldError(raw.get(key), told.partition(": ")[2] or told, path=(key,))
