"""The engine: a ``simpy.Environment`` with an integer clock and a direct path for plain calls.

Ordinary SimPy processes, stores, resources and interrupts run on it unchanged; message
deliveries and timers use :meth:`Engine.call_later`, which costs one heap entry and one call.

    engine = Engine()
    engine.call_later(150, print, "after 150 µs")
    engine.process(an_ordinary_simpy_process(engine))
    engine.run_until_us(1_000_000)

Entries are ``(time, key, fn, arg)``. ``key`` is a running number, shifted down by 2**40 for
SimPy's URGENT priority (and up for lower ones), so that one integer keeps SimPy's order: time,
priority, order of scheduling. Times are whole µs as long as all delays are: the direct path
insists on it, while SimPy programs may use floats, as on SimPy, and then get a float clock.

What differs from stock SimPy 4.1: an entry of the private ``_queue`` holds ``key, fn`` where SimPy
has ``priority, eid``; tracebacks show this file's loop instead of SimPy's; ``step`` is to be
patched before ``run`` begins, not during it; ``now`` is an attribute, not a property.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import repeat
from random import Random
from typing import Any, TypeVar

from simpy.core import EmptySchedule, Environment, Infinity, SimTime, StopSimulation
from simpy.events import NORMAL, URGENT, Event, EventPriority

A = TypeVar("A")
Entry = tuple[Any, int, Callable[[Any], object], Any]

_BAND = 1 << 40  # distance between two priorities; a run has fewer events than that
_TIE_BITS = 39
_TIED_BAND = 1 << 80  # the same where random bits stand above the running number


class Engine(Environment):
    """A deterministic event loop; ``initial_time`` in µs (an int, else TypeError).

    ``tie_break``: a random stream. Calls and NORMAL events of one instant then happen in an order
    drawn from it, so that what only works in the order of scheduling comes to light. URGENT events
    (the start of a process, an interrupt) keep their order: SimPy's processes count on it.
    """

    now: int = 0  # true time, µs; SimPy's property would cost a call at every event
    _queue: list[Entry]  # type: ignore[assignment]

    def __init__(self, initial_time: int = 0, *, tie_break: Random | None = None) -> None:
        if type(initial_time) is not int:
            raise _not_whole("initial_time", initial_time)
        super().__init__(initial_time)
        self._key = -1  # of the latest entry
        self._lent = 0  # keys handed out by next_key and not used yet
        self._ties = tie_break
        self._band = _BAND if tie_break is None else _TIED_BAND
        self._fire_event = self._fire  # bound once: it goes into every entry of SimPy's
        self._eid = iter(self.next_key, None)  # type: ignore[assignment]  # SimPy's event ids
        for name in ("process", "timeout", "event", "all_of", "any_of"):
            setattr(self, name, getattr(self, name))  # as SimPy does, only for its own class
        if tie_break is not None:
            self.call_later = self._call_later_tied  # type: ignore[method-assign]

    # SimPy keeps its clock in ``_now``; both names are the same clock.
    @property
    def _now(self) -> int:
        return self.now

    @_now.setter
    def _now(self, time: int) -> None:
        self.now = time

    # -- the direct path ------------------------------------------------------------------

    def call_later(self, delay_us: int, fn: Callable[[A], object], arg: A) -> None:
        """Call ``fn(arg)`` in ``delay_us`` µs: an int (else TypeError) ≥ 0 (else ValueError)."""
        if type(delay_us) is int and delay_us >= 0:
            self._key = key = self._key + 1
            heappush(self._queue, (self.now + delay_us, key, fn, arg))
        else:
            raise _bad_time("delay", delay_us, 0)

    def call_at(self, time_us: int, fn: Callable[[A], object], arg: A) -> None:
        """Call ``fn(arg)`` at ``time_us``: an int (else TypeError), not past (else ValueError)."""
        self.call_at_key(time_us, self.next_key(), fn, arg)

    def next_key(self) -> int:
        """Take the next place in the order of its instant, for :meth:`call_at_key`."""
        self._key = key = self._key + 1
        self._lent += 1
        return key if self._ties is None else key + self._tie()

    def call_at_key(self, time_us: int, key: int, fn: Callable[[A], object], arg: A) -> None:
        """Call ``fn(arg)`` at ``time_us``, in the place that :meth:`next_key` gave earlier.

        For timers that are moved without a new entry, and keep the order in which they were set.
        Use a key once: two entries of one time and key have no order (TypeError, when compared).
        """
        if type(time_us) is not int or time_us < self.now:
            raise _bad_time("time", time_us, self.now)
        self._lent -= 1
        heappush(self._queue, (time_us, key, fn, arg))

    def _call_later_tied(self, delay_us: int, fn: Callable[[A], object], arg: A) -> None:
        if type(delay_us) is not int or delay_us < 0:
            raise _bad_time("delay", delay_us, 0)
        self._key = key = self._key + 1
        heappush(self._queue, (self.now + delay_us, key + self._tie(), fn, arg))

    def _tie(self) -> int:
        """Random bits that stand above the running number."""
        assert self._ties is not None
        return self._ties.getrandbits(_TIE_BITS) << 40

    # -- SimPy's interface ----------------------------------------------------------------

    def schedule(self, event: Event, priority: EventPriority = NORMAL, delay: SimTime = 0) -> None:
        """Schedule a SimPy event in ``delay`` µs (SimPy allows floats: prefer whole numbers)."""
        self._key = key = self._key + 1
        if priority != NORMAL:
            key += (priority - NORMAL) * self._band
        elif self._ties is not None:
            key += self._tie()
        heappush(self._queue, (self.now + delay, key, self._fire_event, event))

    def _fire(self, event: Event) -> None:
        """Process a SimPy event, exactly as SimPy does."""
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        try:
            for callback in callbacks:
                callback(event)
        except StopSimulation:
            # What is left of this event is processed when the simulation goes on.
            event.callbacks = callbacks[callbacks.index(callback) + 1 :]
            self.schedule(event, EventPriority(URGENT - 1))
            raise
        if not event._ok and not hasattr(event, "_defused"):
            failure = event._value
            copy = type(failure)(*failure.args)
            copy.__cause__ = failure
            raise copy

    def peek(self) -> SimTime:
        """Time of the next entry, or infinity."""
        return self._queue[0][0] if self._queue else Infinity

    def step(self) -> None:
        """Process the next entry; EmptySchedule if there is none."""
        if not self._queue:
            raise EmptySchedule
        self.now, _, fn, arg = heappop(self._queue)
        fn(arg)

    def run(self, until: SimTime | Event | None = None) -> Any:
        """As SimPy's ``run``: until no entry is left, until a time, or until an event.

        ``until=t`` stops *before* what is due at ``t`` (but for URGENT events scheduled earlier);
        :meth:`run_until_us` includes it. A call that raises leaves the clock at its instant and
        the rest in the queue: run again to go on.
        """
        if until is not None:
            if not isinstance(until, Event):
                until = self._stop_at(until)
            elif until.processed:
                return until.value
            until.callbacks.append(StopSimulation.callback)
        try:
            self._drain()
        except StopSimulation as stop:
            return stop.args[0]
        except EmptySchedule:
            pass
        if until is not None:
            assert not until.triggered
            raise RuntimeError(
                f'No scheduled events left but "until" event was not triggered: {until}'
            )
        return None

    def _stop_at(self, until: SimTime) -> Event:
        at = until if isinstance(until, int) else float(until)
        if at <= self.now:
            raise ValueError(f"until ({at}) must be greater than the current simulation time")
        stop = Event(self)
        stop._ok = True
        stop._value = None
        self.schedule(stop, URGENT, at - self.now)
        return stop

    def _drain(self) -> None:
        """Process entries until none is left."""
        while self._is_watched():
            self.step()
        queue, pop = self._queue, heappop
        while True:
            try:
                self.now, _, fn, arg = pop(queue)
            except IndexError:  # the queue is empty; a handler's own IndexError is not caught
                return
            fn(arg)

    def _is_watched(self) -> bool:
        """Whether ``step`` was patched or overridden, so that each entry must go through it.

        (Asking ``self.__dict__`` would make every access to an attribute slower ever after.)
        """
        return getattr(self.step, "__func__", None) is not Engine.step

    # -- bounded runs ---------------------------------------------------------------------

    def run_until_us(self, end_us: int, *, max_events: int | None = None) -> int:
        """Process all entries up to and including ``end_us``; the clock then shows it.

        Returns how many were processed. After ``max_events`` it stops and leaves the clock where
        it is: more is to be done if ``peek() <= end_us``. StopSimulation raised by a call stops it
        likewise. TypeError or ValueError if ``end_us`` is no int or past, or the bound negative.
        """
        if type(end_us) is not int or end_us < self.now:
            raise _bad_time("end", end_us, self.now)
        if max_events is not None and (type(max_events) is not int or max_events < 0):
            raise ValueError(f"max_events {max_events!r}: give an int ≥ 0, or None for no bound")
        before = self.events_processed
        advance = self._advance_by_steps if self._is_watched() else self._advance
        try:
            advance(end_us, repeat(None) if max_events is None else repeat(None, max_events))
            if self.now < end_us < self.peek():  # a run inside a call may have gone further
                self.now = end_us
        except StopSimulation:
            pass
        return self.events_processed - before

    def _advance(self, end_us: int, turns: repeat[None]) -> None:
        queue, pop = self._queue, heappop
        for _ in turns:
            try:
                time, key, fn, arg = pop(queue)
            except IndexError:
                return
            if time > end_us:
                heappush(queue, (time, key, fn, arg))  # cheaper than a look before every pop
                return
            self.now = time
            fn(arg)

    def _advance_by_steps(self, end_us: int, turns: repeat[None]) -> None:
        for _ in turns:
            if self.peek() > end_us:
                return
            self.step()

    @property
    def events_processed(self) -> int:
        """Entries processed so far: keys handed out, less those not used yet or still waiting."""
        return self._key + 1 - self._lent - len(self._queue)

    def pending(self) -> int:
        """Entries waiting."""
        return len(self._queue)


def _bad_time(what: str, given: object, least: int) -> Exception:
    if type(given) is not int:
        return _not_whole(what, given)
    return ValueError(f"{what} {given} µs is not allowed: it must be at least {least}")


def _not_whole(what: str, given: object) -> TypeError:
    return TypeError(f"{what} {given!r}: give whole microseconds (an int), as in 150 * MS")
