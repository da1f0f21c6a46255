"""One object's operations, made ready for the search.

Events are ordered by time; at one time invocations come before returns, so that operations which
touch count as concurrent. Only a client that calls again in the very µs of its last answer is
known to have done one after the other (unless it is seen to have several operations at once).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sim.check.linearizable.model import PENDING, Call, Model, ModelError
from sim.history.values import Operation

__all__ = [
    "Entry",
    "Problem",
    "Row",
    "Space",
    "Task",
    "events_of",
    "same_time_predecessors",
    "tasks_of",
]


class Task(NamedTuple):
    """An operation to be placed; ``end`` is None and the result PENDING if it never returned.

    ``client`` is None if it is known to have several operations at once.
    """

    operation: Operation
    call: Call
    result: Any
    start: int
    end: int | None
    client: str | None


class Space:
    """The states met so far, by number; for each the places in which it was met."""

    __slots__ = ("ids", "model", "places", "states")

    def __init__(self, model: Model) -> None:
        self.model = model
        self.states: list[Any] = [model.initial]
        self.ids: dict[Any, int] = {model.initial: 0}
        self.places: list[set[int]] = [set()]

    def number(self, state: Any) -> int:
        """The number of a state, a new one if it is new."""
        found = self.ids.setdefault(state, len(self.states))
        if found == len(self.states):
            self.states.append(state)
            self.places.append(set())
        return found


class Row(dict[int, int]):
    """What a call with its result does: state → state after, -1 where it is not possible.

    All operations with equal calls and results share one row, filled when asked for. For a call
    that never returned a state that it doesn't change counts as not possible: placing it there
    would change nothing, and it may as well stay unplaced.

    ``eager``: it is a read that returned, to be placed as soon as it can be.
    """

    __slots__ = ("call", "eager", "result", "space")

    def __init__(self, space: Space, call: Call, result: Any) -> None:
        self.space, self.call, self.result = space, call, result
        self.eager = result is not PENDING and call.op in space.model.reads

    def __missing__(self, state: int) -> int:
        space = self.space
        possible, after = space.model.step(space.states[state], self.call, self.result)
        number = space.number(after) if possible else -1
        if number == state and self.result is PENDING:
            number = -1
        elif self.eager and number not in (state, -1):
            raise ModelError(
                f"model {space.model.name!r} says that {self.call.op!r} never changes a state, but "
                f"{self.call} changed {space.states[state]!r} to {after!r}"
            )
        self[state] = number
        return number


class Entry(NamedTuple):
    """An operation as the search sees it: it can be placed where ``mask & care == need``.

    ``bit``: what placing it sets in the mask. ``task``: its number among the tasks.
    """

    care: int
    need: int
    bit: int
    row: Row
    task: int


def tasks_of(operations: Sequence[Operation], model: Model) -> list[Task]:
    """What there is to place: no *fail*, and no read that never returned.

    The operations are all of a history, by their starts. ModelError if the model cannot judge one.
    """
    several = _several_at_once(operations)
    tasks = []
    for operation in operations:
        pending = operation.kind == "info"
        if operation.kind == "fail":
            continue
        call = _call(operation, model)
        if pending and operation.op in model.reads:
            continue
        result, end = (PENDING, None) if pending else (operation.result, operation.end)
        client = None if operation.client in several else operation.client
        task = Task(operation, call, result, operation.start, end, client)
        if model.check is not None:
            _check(task, model)
        tasks.append(task)
    return tasks


def _call(operation: Operation, model: Model) -> Call:
    if model.ops and operation.op not in model.ops:
        raise ModelError(
            f"{_named(operation)} is a {operation.op!r}, which model {model.name!r} does not know; "
            f"it knows: {', '.join(model.ops)}"
        )
    client = operation.client if model.by_client else None
    call = Call(operation.op, operation.key, operation.value, client)
    try:
        hash((call, operation.result))
    except TypeError:
        raise ModelError(
            f"{_named(operation)} has a mutable key, value or result ({operation}); use tuples and "
            "frozensets"
        ) from None
    return call


def _check(task: Task, model: Model) -> None:
    assert model.check is not None
    try:
        model.check(task.call, task.result)
    except ValueError as why:
        named = _named(task.operation)
        raise ModelError(f"{named} is no {task.call.op} of model {model.name!r}: {why}") from None


def _named(operation: Operation) -> str:
    line = f" (line {operation.line})" if operation.line else ""
    return f"operation {operation.id}{line}"


class Problem:
    """Tasks laid out along the returns of those that returned, numbered from 0 in their order.

    A configuration of the search is a state and one integer: the number of the first return that
    is still ahead, in the bits from ``shift`` on, and below these who of the operations then under
    way is already placed. Operations under way at the same time have different bits; a bit is
    used again once its operation has returned. Those that never return keep theirs.

    ``open[p]``: the entries under way at return ``p``, reads first; ``waiting[:available[p]]``:
    those invoked before it that never return; ``due[p]``: the bit of the operation that returns
    there; ``rows[n]``: what task ``n`` does.
    """

    __slots__ = (
        "available",
        "due",
        "open",
        "returns",
        "rows",
        "shift",
        "space",
        "tasks",
        "waiting",
    )

    def __init__(self, tasks: Sequence[Task], model: Model, alone: int | None = None) -> None:
        """``alone``: a task whose row is not shared, so that it tells where this one was tried."""
        self.tasks = tasks
        self.space = Space(model)
        self.returns: list[int] = []
        self.due: list[int] = []
        self.open: list[tuple[Entry, ...]] = []
        self.available: list[int] = []
        self.waiting: list[Entry] = []
        rows = _rows(tasks, self.space)
        if alone is not None:
            rows[alone] = Row(self.space, tasks[alone].call, tasks[alone].result)
        self.rows = rows
        slots, width = _slots(tasks)
        self.shift = width + sum(task.end is None for task in tasks)
        self._lay_out(slots, width)
        self.due.append(0)

    def _lay_out(self, slots: list[int], width: int) -> None:
        """Sweep over the events, keeping the entries that are under way."""
        before = same_time_predecessors(self.tasks)
        under_way: dict[int, Entry] = {}
        latest: dict[int, int] = {}
        for is_return, number in events_of(self.tasks):
            if is_return:
                self.returns.append(number)
                self.due.append(slots[number])
                entries = under_way.values()
                reads = [entry for entry in entries if entry.row.eager]
                self.open.append((*reads, *[e for e in entries if not e.row.eager]))
                self.available.append(len(self.waiting))
                del under_way[number]
                self._release(number, before, under_way)
                continue
            need = self._needed(before.get(number), under_way, slots)
            if self.tasks[number].end is not None:
                entry = self._entry(number, slots[number], need)
            else:
                slots[number] = bit = 1 << width
                width += 1
                entry = self._pending(number, bit, need, latest)
            if need or self.tasks[number].end is not None:
                under_way[number] = entry
            else:
                self.waiting.append(entry)

    def _needed(self, first: int | None, under_way: dict[int, Entry], slots: list[int]) -> int:
        """The bit of the operation that its client did just before, if that may be unplaced."""
        if first is None:
            return 0
        return slots[first] if first in under_way or self.tasks[first].end is None else 0

    def _entry(self, number: int, bit: int, need: int) -> Entry:
        return Entry(bit | need, need, bit, self.rows[number], number)

    def _pending(self, number: int, bit: int, need: int, latest: dict[int, int]) -> Entry:
        """Of equal calls that never return each waits for the one invoked before it.

        Unless that one had to wait for another operation of its client (it has a ``need``).
        """
        row = id(self.rows[number])
        entry = self._entry(number, bit, need | latest.get(row, 0))
        if not need:
            latest[row] = bit
        return entry

    def _release(self, number: int, before: dict[int, int], under_way: dict[int, Entry]) -> None:
        """Task ``number`` returned: what its client began in that instant is free now."""
        for later in [n for n in under_way if before.get(n) == number]:
            entry = under_way[later]
            need = entry.need & ~self.due[-1]
            entry = entry._replace(care=entry.bit | need, need=need)
            if self.tasks[later].end is None:
                del under_way[later]
                self.waiting.append(entry)
            else:
                under_way[later] = entry


def _rows(tasks: Sequence[Task], space: Space) -> list[Row]:
    """The row of each task; equal calls and results share one."""
    rows: dict[tuple[Any, ...], Row] = {}
    found = []
    for task in tasks:
        key = (task.call, task.result, _types(task.call.value), _types(task.result))
        row = rows.get(key)
        if row is None:
            row = rows[key] = Row(space, task.call, task.result)
        found.append(row)
    return found


def _types(value: Any) -> Any:
    """What tells 1 from True and from 1.0, which are equal."""
    return tuple(map(_types, value)) if isinstance(value, tuple) else type(value)


def events_of(tasks: Sequence[Task]) -> list[tuple[bool, int]]:
    """(is it a return?, the task) in order of time, at one time the invocations first."""
    events = [(task.start, False, n) for n, task in enumerate(tasks)]
    events += [(task.end, True, n) for n, task in enumerate(tasks) if task.end is not None]
    events.sort()
    return [(is_return, number) for _, is_return, number in events]


def _slots(tasks: Sequence[Task]) -> tuple[list[int], int]:
    """A bit for each task that returned, and how many bits there are."""
    bits = [0] * len(tasks)
    free: list[int] = []
    width = 0
    for is_return, number in events_of(tasks):
        if is_return:
            free.append(bits[number])
        elif tasks[number].end is not None:
            if free:
                bits[number] = free.pop()
            else:
                bits[number] = 1 << width
                width += 1
    return bits, width


def same_time_predecessors(tasks: Sequence[Task]) -> dict[int, int]:
    """Task → the task that its client ended in the same instant in which it began this one."""
    ended: dict[tuple[str | None, int], int] = {}
    found: dict[int, int] = {}
    for number, task in enumerate(tasks):
        if task.client is None:
            continue
        before = ended.get((task.client, task.start))
        if before is not None:
            found[number] = before
        if task.operation.kind == "ok" and task.operation.end is not None:
            ended[task.client, task.operation.end] = number
    return found


def _several_at_once(operations: Iterable[Operation]) -> frozenset[str]:
    """The clients that have two operations under way at once."""
    until: dict[str, int | None] = {}
    several = []
    for operation in operations:
        client = operation.client
        if client in until:
            last = until[client]
            if last is None or operation.start < last:
                several.append(client)
        until[client] = operation.end
    return frozenset(several)
