"""The history of a simulated cluster, from its records of client operations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from protocols.client import Outcome
from sim.history.errors import HistoryError, shown
from sim.history.values import History, Operation

__all__ = ["Described", "Record", "describe", "from_records"]

Described: TypeAlias = tuple[str, Any, Any]
"""What was called: the operation's name, its key, its value."""
_KEYS = ("key", "name", "account")


class Record(Protocol):
    """What :class:`sim.cluster.OperationRecord` tells of an operation; times in µs."""

    id: int
    node: str
    call: object
    invoked_us: int
    completed_us: int | None
    outcome: Outcome | None


def describe(call: object) -> Described:
    """The name, key and value of a call: ``Put(key="x", value=3)`` is ``("put", "x", 3)``.

    The name is that of the class in lower case, the key its field ``key``, ``name`` or
    ``account``, the value its other field, or a tuple of them. HistoryError for a call that is no
    dataclass.
    """
    if not dataclasses.is_dataclass(call) or isinstance(call, type):
        allowed = "an instance of an @operation class; describe others with `describe=`"
        raise HistoryError(f"cannot tell what the call {shown(call)} means", allowed, field="call")
    fields = {field.name: getattr(call, field.name) for field in dataclasses.fields(call)}
    named = next((name for name in _KEYS if name in fields), None)
    key = fields.pop(named) if named is not None else None
    rest = tuple(fields.values())
    value = None if not rest else rest[0] if len(rest) == 1 else rest
    return type(call).__name__.lower(), key, value


def from_records(
    records: Iterable[Record],
    *,
    model: str = "",
    describe: Callable[[object], Described] = describe,
) -> History:
    """The history of ``cluster.history``: the node that was called is the client.

    An operation without an outcome is an *info*. ``describe`` says what a call means.
    """
    return History.of((_operation(record, describe) for record in records), model=model)


def _operation(record: Record, describe: Callable[[object], Described]) -> Operation:
    op, key, value = describe(record.call)
    outcome = record.outcome
    start, client = record.invoked_us, record.node
    if outcome is None or outcome.kind == "info":
        return Operation(record.id, client, start, record.completed_us, "info", op, key, value)
    result = outcome.value if outcome.kind == "ok" else None
    return Operation(
        record.id, client, start, record.completed_us, outcome.kind, op, key, value, result
    )
