"""Which event could have influenced which: happens-before, light cones and vector clocks.

Two steps are ordered if one node did both, if one sent what the other received, or by a chain of
such steps (Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM
1978). All other events are ordered after their cause. A message that arrives twice was sent once:
both arrivals follow the same step.

A node that recovers goes on from its disk, so its events follow those before the crash; with
``forget_at_crash`` each incarnation is a process of its own (a protocol with nothing durable). A
node that left and joins again under its old name always is. Processes of later incarnations are
called ``n1#2``, ``n1#3``.

Events on the wire (a drop) and of the environment (a fault) belong to no process: they follow
their cause, and what they cause follows them, but they count in no vector clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sim.trace_check import ENVIRONMENT, WIRE
from sim.trace_read import Trace

__all__ = ["happens_before", "light_cone", "predecessors", "processes", "vector_clocks"]

_NO_PROCESS = (*ENVIRONMENT, *WIRE)


def processes(trace: Trace, *, forget_at_crash: bool = False) -> list[str | None]:
    """The process that each event belongs to, by event id; None for wire and environment.

    ``n1`` is the first incarnation of that node, ``n1#2`` the next (see the module).
    """
    incarnation: dict[str, int] = {}
    over: dict[str, bool] = {}
    lanes: list[str | None] = []
    for event in trace.events:
        kind, node = event["kind"], event["node"]
        if kind in _NO_PROCESS:
            lanes.append(None)
            continue
        if over.get(node) and _begins(kind):
            incarnation[node] += 1
            over[node] = False
        number = incarnation.setdefault(node, 1)
        lanes.append(node if number == 1 else f"{node}#{number}")
        if kind == "leave" or (forget_at_crash and kind == "crash"):
            over[node] = True
    return lanes


def _begins(kind: str) -> bool:
    return kind in ("recover", "join", "start")


def predecessors(trace: Trace, *, forget_at_crash: bool = False) -> list[tuple[int, ...]]:
    """By event id: the events right before it, at most two (its cause, and its node's last)."""
    return order_of(trace, processes(trace, forget_at_crash=forget_at_crash))


def order_of(trace: Trace, lanes: list[str | None]) -> list[tuple[int, ...]]:
    """The same for any division of events into processes."""
    last: dict[str, int] = {}
    found: list[tuple[int, ...]] = []
    for number, (event, lane) in enumerate(zip(trace.events, lanes, strict=True)):
        cause = event["cause"]
        before = None
        if lane is not None:
            before = last.get(lane)
            last[lane] = number
        found.append(_both(before, cause))
    return found


def _both(before: int | None, cause: int | None) -> tuple[int, ...]:
    if before is None:
        return () if cause is None else (cause,)
    return (before,) if cause is None or cause == before else (before, cause)


def happens_before(trace: Trace, a: int, b: int, *, forget_at_crash: bool = False) -> bool:
    """Whether event ``a`` could have influenced event ``b``. No event is before itself.

    Linear in the events between them. ValueError if there is no such event.
    """
    trace.event(a)
    trace.event(b)
    before = predecessors(trace, forget_at_crash=forget_at_crash)
    return a != b and any(number == a for number in _past(before, b, a))


def _past(before: list[tuple[int, ...]], start: int, least: int = 0) -> Iterator[int]:
    """What lies before ``start``, down to the id ``least``, each once, in no order."""
    seen = bytearray(start + 1)
    todo = [start]
    while todo:
        for number in before[todo.pop()]:
            if number >= least and not seen[number]:
                seen[number] = 1
                todo.append(number)
                yield number


def light_cone(
    trace: Trace, number: int, *, forget_at_crash: bool = False
) -> tuple[list[int], list[int]]:
    """Ids of the past and of the future of an event, ascending, without itself.

    The past could have influenced it, it could have influenced the future; all other events are
    concurrent with it. Linear in the length of the trace.
    """
    trace.event(number)
    before = predecessors(trace, forget_at_crash=forget_at_crash)
    return sorted(_past(before, number)), following(before, number)


def following(before: list[tuple[int, ...]], number: int) -> list[int]:
    """Ids of all that lies after ``number``, ascending, where ``before`` says what is before."""
    reached = bytearray(len(before))
    reached[number] = 1
    for later in range(number + 1, len(before)):
        if any(reached[earlier] for earlier in before[later]):
            reached[later] = 1
    return [later for later in range(number + 1, len(before)) if reached[later]]


def vector_clocks(trace: Trace, *, forget_at_crash: bool = False) -> list[Mapping[str, int]]:
    """By event id: how many events of each process it knows of, its own among them.

    For events of processes, ``a`` happens before ``b`` exactly if ``a``'s clock is at most
    ``b``'s in every entry and they differ (Fidge 1988, Mattern 1989). Wire and environment
    events have the clock of their cause (none: empty) and count in no clock. The time and memory
    are proportional to events × processes.
    """
    lanes = processes(trace, forget_at_crash=forget_at_crash)
    return clocks_of(lanes, order_of(trace, lanes))


def clocks_of(lanes: list[str | None], before: list[tuple[int, ...]]) -> list[Mapping[str, int]]:
    """Vector clocks of events in ``lanes`` (None: no own entry) with the order ``before``."""
    clocks: list[Mapping[str, int]] = []
    for lane, earlier in zip(lanes, before, strict=True):
        clock = dict(clocks[earlier[0]]) if earlier else {}
        for number in earlier[1:]:
            _merge(clock, clocks[number])
        if lane is not None:
            clock[lane] = clock.get(lane, 0) + 1
        clocks.append(clock)
    return clocks


def _merge(clock: dict[str, int], other: Mapping[str, int]) -> None:
    for lane, count in other.items():
        if count > clock.get(lane, 0):
            clock[lane] = count


def is_before(a: Mapping[str, int], b: Mapping[str, int]) -> bool:
    """Whether the vector clock ``a`` is before ``b``: nowhere more, somewhere less."""
    return a != b and all(count <= b.get(lane, 0) for lane, count in a.items())
