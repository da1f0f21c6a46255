"""What one monitor said about one target, and when the two were up.

A :class:`PairRecord` is the only input of the detector checkers: plain numbers, so that the
simulator, a log file or a real cluster may fill it. The output of the monitor is a step function
of time; an *S-transition* turns it to "suspected", a *T-transition* back to "trusted" (Chen,
Toueg, Aguilera 2002, section 2).

Conventions
  * A node is down in the half-open time ``[from, to)``. A down that lasts to ``end_us`` or
    beyond is never recovered from: the node is *crashed for good*. A node that is up at the end
    is *correct* (crash-recovery model: good means eventually always up).
  * A transition at time t counts from t on; of several at one time the last stands.
  * What a monitor says while it is down is nobody's output: such times are left out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]

_FOREVER = 1 << 62


class Change(NamedTuple):
    """One real change of a monitor's output; ``event_id`` is -1 if the record names none."""

    time_us: int
    suspected: bool
    event_id: int = -1


class Stretch(NamedTuple):
    """A time ``[start_us, end_us)`` in which monitor and target are both up.

    ``after`` tells what it follows: ``"start"`` (of the window), ``"target"`` (the target
    recovered) or ``"monitor"`` (the monitor did).
    """

    start_us: int
    end_us: int
    after: str


@dataclass(frozen=True, slots=True)
class PairRecord:
    """The output of ``monitor`` about ``target`` in the window ``[start_us, end_us]`` (µs).

    ``transitions`` are ``(time_us, suspected)`` in time order; those before ``start_us`` only
    set the state, those after ``end_us`` are ignored. ``initially_suspected`` is the output
    before the first of them. ``crash_us`` is the crash the target never recovers from, ``downs``
    and ``monitor_downs`` are ``(from_us, to_us)``, sorted and apart. A monitor that forgets its
    suspicions when it restarts must say so with a transition at that time.
    ``event_ids`` (as many as transitions, or none) go into counterexamples; ``run`` tells runs
    apart when records of several are pooled. A record that contradicts itself is a ValueError.
    """

    monitor: str
    target: str
    start_us: int
    end_us: int
    transitions: tuple[tuple[int, bool], ...] = ()
    initially_suspected: bool = False
    crash_us: int | None = None
    downs: tuple[Span, ...] = ()
    monitor_downs: tuple[Span, ...] = ()
    event_ids: tuple[int, ...] = ()
    run: str = ""

    def __post_init__(self) -> None:
        """Refuse a record that contradicts itself."""
        if self.start_us > self.end_us:
            self._refuse(f"start_us {self.start_us} is after end_us {self.end_us}")
        for earlier, later in zip(self.transitions, self.transitions[1:], strict=False):
            if earlier[0] > later[0]:
                self._refuse(f"transitions go back in time, from {earlier[0]} to {later[0]}")
        if self.event_ids and len(self.event_ids) != len(self.transitions):
            self._refuse(f"{len(self.event_ids)} event_ids, {len(self.transitions)} transitions")
        self._check_downs("downs", self.downs)
        self._check_downs("monitor_downs", self.monitor_downs)
        last = self.downs[-1] if self.downs else None
        if last and self.crash_us is not None and last[1] > self.crash_us != last[0]:
            self._refuse(f"down {last} reaches beyond the last crash at {self.crash_us}")

    def _check_downs(self, name: str, downs: Sequence[Span]) -> None:
        until = -_FOREVER
        for start, end in downs:
            if start >= end or start < until:
                self._refuse(f"{name} {downs} must be (from, to), from < to, sorted and apart")
            until = end

    def _refuse(self, what: str) -> None:
        raise ValueError(f"record of {self.monitor} about {self.target}: {what}")

    def changes(self) -> list[Change]:
        """Return the real changes up to ``end_us``, repeats of the same state left out."""
        state, changes = self.initially_suspected, []
        for index, (time_us, suspected) in enumerate(self.transitions):
            if time_us > self.end_us:
                break
            if suspected != state:
                state = suspected
                event = self.event_ids[index] if self.event_ids else -1
                changes.append(Change(time_us, suspected, event))
        return changes

    def target_downs(self) -> list[Span]:
        """Return the target's downs that begin in the run, the last crash included."""
        downs = list(self.downs)
        if self.crash_us is not None:
            if downs and downs[-1][0] == self.crash_us:
                downs.pop()
            downs.append((self.crash_us, _FOREVER))
        return [down for down in downs if down[0] <= self.end_us]

    def all_downs(self) -> list[Span]:
        """Return the downs of target and monitor, those of the target first."""
        return [*self.target_downs(), *self.monitor_downs]

    def crashed_for_good_us(self) -> int | None:
        """Return when the target crashed for good, or None if it is up at the end (correct)."""
        return _last_crash(self.target_downs(), self.end_us)

    def monitor_is_correct(self) -> bool:
        """Say whether the monitor is up at the end."""
        return _last_crash(self.monitor_downs, self.end_us) is None

    def last_recovery_us(self) -> int | None:
        """Return the latest recovery of either node before the end, or None."""
        return max((to for _, to in self.all_downs() if to < self.end_us), default=None)

    def stretches(self) -> list[Stretch]:
        """Return the parts of the window in which both are up, in order."""
        edges = [(*down, "target") for down in self.target_downs()]
        edges += [(*down, "monitor") for down in self.monitor_downs]
        found, at, after = [], self.start_us, "start"
        for start, end, who in sorted(edges):
            if at < min(start, self.end_us):
                found.append(Stretch(at, min(start, self.end_us), after))
            if end > at:
                at, after = end, who
        if at < self.end_us:
            found.append(Stretch(at, self.end_us, after))
        return found

    def first_time(self, suspected: bool, from_us: int, to_us: int) -> Change | None:
        """Return the first moment in ``[from_us, to_us]`` at which the output is ``suspected``.

        Its event is that of the transition that set this output, before ``from_us`` or at it.
        """
        changes = self.changes()
        at = bisect_right(changes, from_us, key=_time)
        if at and changes[at - 1].suspected == suspected:
            return Change(from_us, suspected, changes[at - 1].event_id)
        if not at and self.initially_suspected == suspected:
            return Change(from_us, suspected)
        if at < len(changes) and changes[at].time_us <= to_us:
            return changes[at]
        return None


def _time(change: Change) -> int:
    return change.time_us


def before(changes: Sequence[Change], time_us: int) -> int:
    """Return how many of the ``changes`` are earlier than ``time_us``."""
    return bisect_left(changes, time_us, key=_time)


def _last_crash(downs: Sequence[Span], end_us: int) -> int | None:
    begun = [down for down in downs if down[0] <= end_us]
    return begun[-1][0] if begun and begun[-1][1] >= end_us else None
