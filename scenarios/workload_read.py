"""Reading the client operations of a scenario: which, when, at whom, with which arguments."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, get_type_hints

from protocols.spec import spec_of
from protocols.values import NodeId
from scenarios.annotations import field_name, parse_as, written_name
from scenarios.model import WorkItem
from sim.fields import FieldError, FieldErrors, Fields, parse_whole, unknown_name
from sim.units import format_duration, parse_duration

__all__ = ["MAX_CALLS", "operations_of", "parse_workload"]

MAX_CALLS = 1_000_000
_KEYS = ("at", "every", "times", "node", "invoke", "with")
_ITEM = "a mapping such as {at: 1s, node: n1, invoke: Publish, with: {rumor: r1}}"
_WORD = re.compile(r"\{i\}")


def operations_of(cls: type) -> dict[str, type]:
    """The operations that a process class handles, by name."""
    return {operation.__name__: operation for operation in spec_of(cls).operations}


def parse_workload(
    value: object,
    *,
    cls: type | None,
    nodes: tuple[NodeId, ...] | None,
    duration_us: int | None,
) -> tuple[WorkItem, ...]:
    """The work items of a list; FieldErrors with all mistakes.

    ``cls``, ``nodes`` and ``duration_us`` None: not known, nothing is checked against them.
    """
    if not isinstance(value, (list, tuple)):
        raise FieldError(value, f"a list, each line {_ITEM}")
    known = None if nodes is None else dict.fromkeys(nodes)
    items: list[WorkItem] = []
    errors: list[FieldError] = []
    for index, one in enumerate(value):
        try:
            items.append(_parse_item(one, cls, known, duration_us))
        except FieldError as error:
            errors.append(error.under(index))
    if not errors and sum(item.times for item in items) > MAX_CALLS:
        errors.append(FieldError(sum(item.times for item in items), f"at most {MAX_CALLS} calls"))
    if errors:
        raise FieldErrors(errors)
    return tuple(items)


def _parse_item(
    value: object, cls: type | None, nodes: Mapping[str, None] | None, duration_us: int | None
) -> WorkItem:
    if not isinstance(value, Mapping):
        raise FieldError(value, _ITEM)
    fields = Fields(value, _KEYS, "a line of the workload")
    at_us = fields.need("at", parse_duration, 'a moment such as "1s"')
    every_us = fields.read("every", _parse_pause, 0)
    times = fields.read("times", partial(parse_whole, least=1, most=MAX_CALLS), 1)
    node = fields.need("node", partial(_parse_node, nodes=nodes), "a node or {random: 1}")
    invoke = fields.need("invoke", partial(_parse_invoke, cls=cls), "the name of an operation")
    arguments = _read_arguments(fields, cls, invoke)
    _check_times(fields, at_us, every_us, times, duration_us)
    return fields.build(lambda: WorkItem(at_us, invoke, arguments, node, every_us, times))


def _parse_pause(value: object) -> int:
    every_us = parse_duration(value)
    if every_us == 0:
        raise FieldError(value, 'a duration above 0 such as "2s"')
    return every_us


def _parse_node(value: object, nodes: Mapping[str, None] | None) -> NodeId | None:
    if value == {"random": 1} and not isinstance(value["random"], bool):
        return None
    if not isinstance(value, str):
        raise FieldError(value, "a node such as n1, or {random: 1}")
    if nodes is not None and value not in nodes:
        raise unknown_name(value, nodes, "a node or {random: 1}; the nodes")
    return value


def _parse_invoke(value: object, cls: type | None) -> str:
    if cls is not None:
        known = operations_of(cls)
        if not isinstance(value, str) or value not in known:
            raise unknown_name(value, known, f"an operation of {cls.__name__}")
        return value
    if not isinstance(value, str):
        raise FieldError(value, "the name of an operation")
    return value


def _read_arguments(fields: Fields, cls: type | None, invoke: str | None) -> dict[str, Any]:
    """The arguments by the operation's fields; mistakes are noted in ``fields``."""
    given = fields.value.get("with", {})
    if given is not None and not isinstance(given, Mapping):
        allowed = "a mapping of arguments such as {rumor: r1}"
        fields.errors.append(FieldError(given, allowed, path=("with",)))
        return {}
    if cls is None or invoke is None:
        return {}
    try:
        return _parse_arguments(operations_of(cls)[invoke], given or {})
    except FieldError as error:
        fields.errors.append(error.under("with"))
        return {}


def _parse_arguments(operation: type, given: Mapping[object, object]) -> dict[str, Any]:
    fields = {field.name: field for field in dataclasses.fields(operation)}
    hints = get_type_hints(operation)
    found: dict[str, Any] = {}
    errors: list[FieldError] = []
    for key, value in given.items():
        name = field_name(str(key), fields)
        if name is None:
            known = map(written_name, fields)
            what = f"the arguments of {operation.__name__}"
            errors.append(unknown_name(key, known, what, (str(key),)))
            continue
        try:
            found[name] = parse_as(hints[name], value, duration=name.endswith("_us"))
        except FieldError as error:
            errors.append(error.under(str(key)))
    errors += _missing(operation, fields, given)
    if errors:
        raise FieldErrors(errors)
    return found


def _missing(
    operation: type, fields: Mapping[str, Any], given: Mapping[object, object]
) -> list[FieldError]:
    gone = dataclasses.MISSING
    needed = [n for n, f in fields.items() if f.default is gone and f.default_factory is gone]
    return [
        FieldError(None, f"an argument of {operation.__name__}", path=(name,), hint="add this key")
        for name in map(written_name, needed)
        if name not in given
    ]


def _check_times(
    fields: Fields,
    at_us: int | None,
    every_us: int | None,
    times: int | None,
    duration_us: int | None,
) -> None:
    for key, other in (("every", "times"), ("times", "every")):
        if key in fields.value and other not in fields.value:
            given = fields.value[key]
            together = f"{key} and {other} together"
            error = FieldError(given, together, path=(key,), hint=f"add {other}")
            fields.errors.append(error)
    if at_us is None or every_us is None or times is None or duration_us is None:
        return
    last_us = at_us + (times - 1) * every_us
    if last_us > duration_us:
        allowed = f"a last call within the duration, {format_duration(duration_us)}"
        given = f"a last call at {format_duration(last_us)}"
        fields.errors.append(FieldError(given, allowed, path=("at" if times == 1 else "times",)))
