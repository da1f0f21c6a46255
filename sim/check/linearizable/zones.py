"""Registers whose writes are all distinct, judged in O(n log n).

If every value is written once, a read tells which write it read from. Take each write with the
reads of its value as a *cluster*. Gibbons and Korach ("Testing shared memories", SIAM J. Computing
26(4), 1997, section 4) look at two moments of each: f, the earliest end of its operations, and s,
the latest start. If f < s, the value must have been in the register all the time from f to s: the
*forward zone* [f, s]. If s < f all operations of the cluster overlap in [s, f], its *backward
zone*, and one moment of that is enough. The history is linearizable exactly if

* every value that was read was written (or is the initial one), and no read of it ended before
  its write began,
* no two forward zones overlap, and
* no backward zone lies wholly within a forward zone.

The initial value is a cluster whose write ended before everything else. A write that never
returned has no end; if nobody read its value it may be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Any

from sim.check.linearizable.model import Model
from sim.check.linearizable.problem import Task, events_of, same_time_predecessors

__all__ = ["Zones", "fits_zones"]

_NEVER = 1 << 62


def fits_zones(tasks: Sequence[Task], model: Model) -> bool:
    """Whether the tasks are reads and writes of a register, every value written once."""
    if model.register is None:
        return False
    read, write = model.register
    written = [task.call.value for task in tasks if task.call.op == write]
    if len(written) + sum(task.call.op == read for task in tasks) != len(tasks):
        return False
    distinct = len(frozenset(written)) == len(written) and model.initial not in written
    return distinct and not same_time_predecessors(tasks)


class _Cluster:
    """A value: its write (None: the initial one), its reads, f (``ends``) and s (``starts``)."""

    __slots__ = ("ends", "point", "reads", "starts", "write")

    def __init__(self) -> None:
        self.write: int | None = None
        self.reads: list[int] = []
        self.ends, self.starts = _NEVER, -1
        self.point = (0, 0)

    def add(self, start: int, end: int) -> None:
        """One more operation of this value."""
        self.starts, self.ends = max(self.starts, start), min(self.ends, end)


class Zones:
    """The judgement: ``linearizable``; ``order()`` is a linearization.

    ``before``: judge only what came before that return (counted from 0): what was under way then
    has not returned yet, what began later is left out.
    """

    def __init__(self, tasks: Sequence[Task], model: Model, before: int | None = None) -> None:
        self._tasks = tasks
        assert model.register is not None
        self._write = model.register[1]
        self._start: dict[int, int] = {}
        self._end: dict[int, int] = {}
        self._position(before)
        self._clusters = self._cluster(model.initial)
        self.linearizable = self._each_sane() and self._apart()

    def _position(self, before: int | None) -> None:
        """The place of each start and end in the order of events."""
        returns = 0
        for place, (is_return, number) in enumerate(events_of(self._tasks)):
            if not is_return:
                self._start[number] = place
                self._end[number] = _NEVER
                continue
            if returns == before:
                return
            returns += 1
            self._end[number] = place

    def _cluster(self, initial: Any) -> dict[Any, _Cluster]:
        first = _Cluster()
        first.add(-1, -1)
        clusters = {initial: first}
        for number, start in self._start.items():
            task, end = self._tasks[number], self._end[number]
            is_write = task.call.op == self._write
            if not is_write and end == _NEVER:
                continue
            cluster = clusters.setdefault(task.call.value if is_write else task.result, _Cluster())
            cluster.add(start, end)
            if is_write:
                cluster.write = number
            else:
                cluster.reads.append(number)
        return {value: c for value, c in clusters.items() if c is first or self._needed(c)}

    def _needed(self, cluster: _Cluster) -> bool:
        """Whether its value surely was in the register: somebody read it, or its write ended."""
        return bool(cluster.reads) or (
            cluster.write is not None and self._end[cluster.write] < _NEVER
        )

    def _each_sane(self) -> bool:
        """Whether every value that was read was written, and not after the read."""
        _, *others = self._clusters.values()
        for cluster in others:
            if cluster.write is None:
                return False
            begun = self._start[cluster.write]
            if any(self._end[read] < begun for read in cluster.reads):
                return False
        return True

    def _apart(self) -> bool:
        """Whether the zones fit beside each other; gives each cluster its point in the order."""
        forward = [c for c in self._clusters.values() if c.ends < c.starts]
        backward = [c for c in self._clusters.values() if c.ends >= c.starts]
        forward.sort(key=attrgetter("ends"))
        for earlier, later in pairwise(forward):
            if later.ends < earlier.starts:
                return False
        for cluster in forward:
            cluster.point = (cluster.ends, 0)
        backward.sort(key=attrgetter("starts"))
        index = 0
        for cluster in backward:
            while index < len(forward) and forward[index].starts < cluster.starts:
                index += 1
            point = (cluster.starts, 1)
            if index < len(forward) and forward[index].ends < cluster.starts:
                if cluster.ends < forward[index].starts:
                    return False
                point = (forward[index].starts, 1)
            cluster.point = point
        return True

    def order(self) -> list[int]:
        """The tasks in an order that explains all answers (if ``linearizable``)."""
        placed = []
        for cluster in sorted(self._clusters.values(), key=attrgetter("point")):
            if cluster.write is not None:
                placed.append(cluster.write)
            placed += sorted(cluster.reads, key=self._start.__getitem__)
        return placed
