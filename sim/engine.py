"""The engine: a ``simpy.Environment`` with an integer clock and a direct path for plain calls.

Ordinary SimPy processes, stores, resources and interrupts run on it unchanged; message
deliveries and timers use :meth:`Engine.call_later`, which costs one heap entry and one call.

Entries are ``(time, key, fn, arg)``. ``key`` is a running number, shifted down by 2**40 for each
step of SimPy's priority, so that one integer keeps SimPy's order: time, priority, order of
scheduling. Times are whole µs as long as all delays are; SimPy programs may use floats.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar

from simpy.core import EmptySchedule, Environment, Infinity, StopSimulation
from simpy.events import NORMAL, URGENT, Event

A = TypeVar("A")
Entry = tuple[Any, int, Callable[[Any], object], Any]

_BAND = 1 << 40  # distance between two priorities; a run has fewer events than that
_TIED_BAND = 1 << 80  # the same with random ties: 40 random bits above the running number


class Engine(Environment):
    """A deterministic event loop.

    ``tie_break``: a random stream; events of the same instant and priority then fire in an order
    drawn from it, so that what only works in the order of scheduling comes to light.
    """

    now: int = 0  # a plain attribute: SimPy's property would cost a call at every event
    _queue: list[Entry]  # type: ignore[assignment]

    def __init__(self, initial_time: int = 0, *, tie_break: Random | None = None) -> None:
        super().__init__(initial_time)
        self._key = 0
        self._ties = tie_break
        self._band = _BAND if tie_break is None else _TIED_BAND
        if tie_break is not None:
            self.call_later = self._call_later_tied  # type: ignore[method-assign]
            self.next_key = self._next_key_tied  # type: ignore[method-assign]

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
        if type(delay_us) is not int or delay_us < 0:
            raise _bad_time("delay", delay_us, 0)
        self._key = key = self._key + 1
        heappush(self._queue, (self.now + delay_us, key, fn, arg))

    def call_at(self, time_us: int, fn: Callable[[A], object], arg: A) -> None:
        """Call ``fn(arg)`` at ``time_us``, which must not be past."""
        if type(time_us) is not int or time_us < self.now:
            raise _bad_time("time", time_us, self.now)
        heappush(self._queue, (time_us, self.next_key(), fn, arg))

    def next_key(self) -> int:
        """Take the next place in the order of its instant, for :meth:`call_at_key`."""
        self._key += 1
        return self._key

    def call_at_key(self, time_us: int, key: int, fn: Callable[[A], object], arg: A) -> None:
        """Call ``fn(arg)`` at ``time_us``, in the place that :meth:`next_key` gave earlier."""
        heappush(self._queue, (time_us, key, fn, arg))

    def _next_key_tied(self) -> int:
        assert self._ties is not None
        self._key += 1
        return (self._ties.getrandbits(39) << 40) + self._key

    def _call_later_tied(self, delay_us: int, fn: Callable[[A], object], arg: A) -> None:
        self.call_at(self.now + delay_us, fn, arg)

    # -- SimPy's interface ----------------------------------------------------------------

    def schedule(self, event: Event, priority: int = NORMAL, delay: float = 0) -> None:
        """Schedule a SimPy event."""
        key = self.next_key() + (priority - NORMAL) * self._band
        heappush(self._queue, (self.now + delay, key, self._fire, event))

    def _fire(self, event: Event) -> None:
        """Process a SimPy event, exactly as SimPy does."""
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        try:
            for callback in callbacks:
                callback(event)
        except StopSimulation:
            # What is left of this event is processed when the simulation goes on.
            event.callbacks = callbacks[callbacks.index(callback) + 1 :]
            self.schedule(event, URGENT - 1)
            raise
        if not event._ok and not hasattr(event, "_defused"):
            failure = event._value
            copy = type(failure)(*failure.args)
            copy.__cause__ = failure
            raise copy

    def peek(self) -> Any:
        """Time of the next entry, or infinity."""
        return self._queue[0][0] if self._queue else Infinity

    def step(self) -> None:
        """Process the next entry; EmptySchedule if there is none."""
        if not self._queue:
            raise EmptySchedule
        self.now, _, fn, arg = heappop(self._queue)
        fn(arg)

    def run(self, until: Any = None) -> Any:
        """As SimPy's ``run``: until no event is left, until a time, or until an event."""
        if until is not None:
            if not isinstance(until, Event):
                until = self._stop_at(until)
            elif getattr(until, "callbacks", None) is None:  # it has been processed already
                return until.value
            until.callbacks.append(StopSimulation.callback)
        try:
            self._loop()
        except StopSimulation as stop:
            return stop.args[0]
        if until is not None:
            assert not until.triggered
            raise RuntimeError(
                f'No scheduled events left but "until" event was not triggered: {until}'
            )
        return None

    def _stop_at(self, until: Any) -> Event:
        at = until if isinstance(until, int) else float(until)
        if at <= self.now:
            raise ValueError(f"until ({at}) must be greater than the current simulation time")
        stop = Event(self)
        stop._ok = True
        stop._value = None
        self.schedule(stop, URGENT, at - self.now)
        return stop

    def _loop(self) -> None:
        if "step" in self.__dict__ or type(self).step is not Engine.step:
            while self._queue:  # somebody watches the steps
                self.step()
            return
        queue, pop = self._queue, heappop
        while queue:
            self.now, _, fn, arg = pop(queue)
            fn(arg)

    # -- bounded runs ---------------------------------------------------------------------

    def run_until_us(self, end_us: int, *, max_events: int | None = None) -> int:
        """Process all entries up to and including ``end_us``; the clock then shows it.

        Returns how many were processed. With ``max_events``, stops after so many, and leaves the
        clock where it is then.
        """
        if end_us < self.now:
            raise _bad_time("end", end_us, self.now)
        before = self.processed
        if max_events is None:
            queue, pop = self._queue, heappop
            while queue and queue[0][0] <= end_us:
                self.now, _, fn, arg = pop(queue)
                fn(arg)
        else:
            while self._queue and self._queue[0][0] <= end_us:
                if self.processed - before >= max_events:
                    return self.processed - before
                self.step()
        self.now = end_us
        return self.processed - before

    @property
    def processed(self) -> int:
        """Entries processed so far: keys handed out, less what is still waiting.

        Timers that were moved keep one entry under several keys, so that this is an upper bound
        where lazy timers are used.
        """
        return self._key - len(self._queue)

    def pending(self) -> int:
        """Entries waiting."""
        return len(self._queue)


def _bad_time(what: str, given: object, least: int) -> Exception:
    if type(given) is not int:
        return TypeError(f"{what} {given!r}: give whole microseconds (an int), as in 150 * MS")
    return ValueError(f"{what} {given} µs is not allowed: it must be at least {least}")
