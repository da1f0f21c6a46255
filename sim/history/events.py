"""From a sequence of events (``invoke``, ``ok``, ``fail``, ``info``) to operations.

Jepsen's histories are such sequences: a process has one operation at a time, and after an *info*
it is never used again, because its operation may still be under way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from sim.history.errors import HistoryError, shown
from sim.history.values import KINDS, Kind, Operation

__all__ = ["MAX_OPERATIONS", "Event", "Pairing"]

MAX_OPERATIONS = 2_000_000
"""A history of more operations is refused."""

_ECHOES = frozenset({"write", "put", "append", "add", "enqueue"})
_TRUE_IF_OK = frozenset({"cas", "acquire", "release"})


class Event(NamedTuple):
    """One event: the process, what happened, the operation's name, its key and value."""

    process: str
    type: str
    op: str
    key: Any
    value: Any
    line: int


class Pairing:
    """Takes events one by one; ``operations()`` are what they make up, in order of invocation."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[int, Event]] = {}
        self._done: list[Operation] = []
        self._seen = 0

    def take(self, event: Event) -> None:
        """The next event; HistoryError if it cannot follow those before."""
        number, self._seen = self._seen, self._seen + 1
        if event.type == "invoke":
            self._invoke(number, event)
        elif event.type in KINDS:
            self._complete(number, event)
        else:
            problem = f"unknown type {shown(event.type)}"
            allowed = f"invoke, {', '.join(KINDS)}"
            raise HistoryError(problem, allowed, line=event.line, field="type")

    def operations(self) -> tuple[Operation, ...]:
        """All operations; what was invoked and never returned is an *info* without end."""
        rest = [self._operation(at, event, None, "info", None) for at, event in self._open.values()]
        ordered = sorted(self._done + rest, key=lambda o: o.start)
        return tuple(replace(each, id=number) for number, each in enumerate(ordered))

    def _invoke(self, number: int, event: Event) -> None:
        before = self._open.get(event.process)
        if before is not None:
            problem = (
                f"process {shown(event.process)} invokes {event.op!r} while its {before[1].op!r} "
                f"of line {before[1].line} has not returned"
            )
            raise HistoryError(problem, "one operation at a time", line=event.line, field="process")
        if len(self._done) + len(self._open) >= MAX_OPERATIONS:
            allowed = f"{MAX_OPERATIONS:,} operations"
            raise HistoryError("the history is too long", allowed, line=event.line)
        self._open[event.process] = (number, event)

    def _complete(self, number: int, event: Event) -> None:
        opened = self._open.pop(event.process, None)
        if opened is None:
            problem = f"process {shown(event.process)} ends an operation that it never invoked"
            raise HistoryError(problem, "an invoke before it", line=event.line, field="process")
        at, call = opened
        if call.op != event.op:
            problem = f"process {shown(event.process)} ends {event.op!r}, but invoked {call.op!r}"
            raise HistoryError(problem, repr(call.op), line=event.line, field="f")
        if event.type == "ok":
            done = self._operation(at, call, number, "ok", _result(event))
        elif event.type == "fail":
            done = self._operation(at, call, number, "fail", None)
        else:
            done = self._operation(at, call, number, "info", None)
        self._done.append(done)

    def _operation(
        self, at: int, call: Event, end: int | None, kind: Kind, result: Any
    ) -> Operation:
        return Operation(
            0, call.process, at, end, kind, call.op, call.key, call.value, result, call.line
        )


def _result(event: Event) -> Any:
    """What an *ok* says: some operations repeat their argument instead of an answer."""
    if event.op in _ECHOES:
        return None
    if event.op in _TRUE_IF_OK and not isinstance(event.value, bool):
        return True
    return event.value
