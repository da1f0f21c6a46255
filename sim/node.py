"""A node: one process, its timers, its inbox, its clock and its disk.

``receive`` and the timers bring events to the node. A node that is up, not paused and free runs
the step at once; otherwise the event waits in the inbox (busy, paused) or is lost (down). The
plain case (nobody records, perfect disk, no service time) goes straight to the handler in
``deliver``; all else through ``_run_carefully`` in :mod:`sim.stepping`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from protocols.api import ProtocolError
from protocols.canonical import LEAVES, shallow_immutable, why_mutable
from protocols.spec import spec_of
from protocols.step import (
    Event,
    Fire,
    Invoke,
    Receive,
    Start,
    check_declared,
    dispatch,
    durable_state,
    recovered,
)
from protocols.values import NodeId
from sim.clocks import NodeClock
from sim.context import Direct
from sim.disk import Disk
from sim.rules import Envelope
from sim.shown import quoted
from sim.tracing import Traced

if TYPE_CHECKING:
    from sim.cluster import Cluster
    from sim.network import Wire
    from sim.stepping import Careful
    from sim.trace import Recorder

DEFAULT_SERVICE_US = 1_000


class Timer:
    """One set timer. ``due`` < 0: cancelled. One entry in the engine's queue serves many resets:
    when it comes up before ``due``, it is pushed again with the key of the latest reset.
    ``entry_at`` and ``entry_key`` are those of the entry that counts; others are stale.
    """

    __slots__ = ("cause", "due", "entry_at", "entry_key", "key", "queued", "value")

    def __init__(self, value: object, due: int, key: int, cause: int) -> None:
        self.value, self.due, self.key, self.cause = value, due, key, cause
        self.entry_at, self.entry_key = due, key
        self.queued = False


class Node:
    """One node of a cluster. Made by :meth:`sim.cluster.Cluster.add`."""

    __slots__ = (
        "_busy",
        "_rng",
        "clock",
        "cluster",
        "ctx",
        "delivered",
        "disk",
        "fast",
        "free",
        "handlers",
        "id",
        "inbox",
        "paused",
        "process",
        "quoted",
        "service",
        "size",
        "slowdown",
        "spec",
        "step_cause",
        "stepping",
        "timers",
        "traced",
        "up",
        "watch",
        "wires",
    )

    def __init__(self, cluster: Cluster, node: NodeId, process: Any) -> None:
        self.cluster = cluster
        self.id = node
        self.quoted = quoted(node)
        self.process = process
        self.spec = spec_of(type(process))
        self.handlers = self.spec.handlers
        self.size = -1 if self.spec.inner else self.spec.size  # -1: always look closely
        self.timers: dict[object, Timer] = {}
        self.wires: dict[NodeId, Wire] = {}
        self.inbox: deque[tuple[Event, int, int, Timer | None]] | None = None
        self.up = False
        self.paused = 0
        self.slowdown = 1
        self.service: Callable[[], int] | None = None
        self.clock: NodeClock | None = None
        self.disk: Disk | None = None
        self.stepping: Careful | None = None
        self.traced: Traced | None = None
        self.watch: Callable[[Node], None] | None = None  # called after every step
        self.step_cause = -1
        self.delivered = 0
        self.fast = False
        self.free = False
        self._busy = False
        self._rng: Random | None = None
        self.ctx = Direct(self)

    # -- time and chance ------------------------------------------------------------------

    @property
    def rng(self) -> Random:
        """The node's own random stream, made on first use."""
        if self._rng is None:
            self._rng = self.cluster.streams.node(self.id)
        return self._rng

    def local_time(self) -> int:
        """What the node's clock shows, µs."""
        now = self.cluster.engine.now
        return now if self.clock is None else self.clock.local(now)

    def own_clock(self) -> NodeClock:
        """The node's clock, made different from true time for the first time."""
        if self.clock is None:
            self.clock = NodeClock()
        return self.clock

    # -- state of the node ----------------------------------------------------------------

    def refresh(self) -> None:
        """Work out again whether events may go straight to the handler."""
        waits = self.paused or self._busy or self.inbox or self.service or self.slowdown > 1
        self.free = self.up and not waits
        self.fast = self.free and self.stepping is None and self.traced is None

    def trace(self, recorder: Recorder) -> None:
        """Record every step from now on."""
        self.traced = Traced(self, recorder)
        self.refresh()

    def start(self, cause: int = -1) -> None:
        """Boot: run ``on_start``."""
        self.up = True
        self.refresh()
        self.arrive(Start(), cause)

    def crash(self) -> int:
        """Go down: timers, inbox and volatile fields are lost; the number of writes lost."""
        lost = 0
        self.up = False
        for timer in self.timers.values():
            timer.due = -1
        self.timers.clear()
        self._lose_inbox()
        self.paused = 0  # the new process was never stopped
        self._busy = False
        if self.disk is not None:
            lost = self.disk.lose_power()
            stored = dict(self.disk.stored)
        else:
            stored = durable_state(self.process)
        if self.stepping is not None:
            self.stepping.forget()
        if self.traced is not None:
            self.traced.forget()
        self.process = recovered(self.process, stored)
        self.refresh()
        return lost

    def _lose_inbox(self) -> None:
        waiting, self.inbox = self.inbox or (), None
        for event, cause, index, _ in waiting:
            if type(event) is Receive:
                lost = Envelope(event.src, self.id, event.message, cause, index)
                self.cluster.network.drop(lost, "crashed before handling it")

    def pause(self) -> None:
        """Stand still: events wait."""
        self.paused += 1
        self.refresh()

    def resume(self) -> None:
        """Go on: what waited is handled now, in order."""
        self.paused = max(0, self.paused - 1)
        self.refresh()
        if self.stepping is not None and not self.paused:
            self.stepping.go_on()
        self._drain()

    def slow_down(self, factor: int) -> None:
        """Every step takes ``factor`` times as long."""
        self.slowdown *= factor
        self.refresh()

    def speed_up(self, factor: int) -> None:
        """Undo :meth:`slow_down`."""
        self.slowdown //= factor
        self.refresh()

    def own_disk(self) -> Disk:
        """The node's disk, made explicit for the first time."""
        if self.disk is None:
            self.disk = Disk()
            self.disk.stored.update(durable_state(self.process))
            self.cluster.careful(self.id)
        return self.disk

    # -- events ---------------------------------------------------------------------------

    def deliver(self, sent: tuple[NodeId, object]) -> None:
        """A message comes off a plain wire."""
        src, message = sent
        cluster = self.cluster
        if not self.fast or cluster.network.rules:
            cluster.network.due(Envelope(src, self.id, message))
            return
        self.delivered += 1
        process = self.process
        try:
            handler = self.handlers.get(type(message))
            if handler is None:
                dispatch(process, Receive(src, message), self.ctx)
            else:
                handler(process, self.ctx, src, message)
            if len(process.__dict__) != self.size:
                check_declared(process)
            if not self.delivered & 15:
                self.check_values()
        except Exception as error:
            raise self.blame(error, Receive(src, message)) from error
        if self.watch is not None:
            self.watch(self)

    def receive(self, envelope: Envelope) -> None:
        """A message comes off any wire."""
        if not self.up:
            self.cluster.network.drop(envelope, "destination down")
            return
        self.arrive(Receive(envelope.src, envelope.message), envelope.cause, envelope.index)

    def arrive(
        self, event: Event, cause: int = -1, index: int = 0, timer: Timer | None = None
    ) -> None:
        """An event reaches the node: handle it, or let it wait."""
        if self.paused or self._busy or self.inbox:
            if self.inbox is None:
                self.inbox = deque()
            if timer is not None:
                timer.queued = True
            self.inbox.append((event, cause, index, timer))
            self.refresh()
        else:
            self._begin(event, cause, index, timer)

    def _begin(self, event: Event, cause: int, index: int, timer: Timer | None) -> None:
        takes = self._service_time()
        if takes:
            self._busy = True
            self.refresh()
            self.cluster.engine.call_later(
                takes, self._served, (self.process, event, cause, index, timer)
            )
        else:
            self._handle(event, cause, index, timer)

    def _service_time(self) -> int:
        if self.service is None:
            return 0 if self.slowdown == 1 else DEFAULT_SERVICE_US * self.slowdown
        return self.service() * self.slowdown

    def _served(self, work: tuple[Any, Event, int, int, Timer | None]) -> None:
        process, event, cause, index, timer = work
        if process is not self.process:  # it crashed meanwhile
            return
        self._busy = False
        if self.paused:  # it stands still in the middle of the step: begin it again at resume
            if self.inbox is None:
                self.inbox = deque()
            self.inbox.appendleft((event, cause, index, timer))
            return
        self._handle(event, cause, index, timer)
        self._drain()

    def _drain(self) -> None:
        while self.inbox and not self.paused and not self._busy:
            self._begin(*self.inbox.popleft())
        if not self.inbox:
            self.inbox = None
        self.refresh()

    def _handle(self, event: Event, cause: int, index: int, timer: Timer | None) -> None:
        if timer is not None:
            if timer.due < 0:  # cancelled or replaced while it waited
                return
            timer.due = -1
            if self.timers.get(timer.value) is timer:
                del self.timers[timer.value]
        if type(event) is Receive:
            self.delivered += 1
        try:
            if self.stepping is not None:
                self.stepping.run(event, cause, index)
            elif self.traced is not None:
                self.traced.run(event, cause, index)
            else:
                dispatch(self.process, event, self.ctx)
                check_declared(self.process)
                self.check_values()
        except Exception as error:
            raise self.blame(error, event) from error
        if self.watch is not None and self.stepping is None:  # else it has been told already
            self.watch(self)

    def check_values(self) -> None:
        """Refuse a mutable value in a field: at every timer, start, operation and 16th message.

        A recorded or careful step is checked in full, every time; the direct path is for speed.
        """
        for name, value in zip(self.spec.fields, self.spec.read_fields(self.process), strict=True):
            if type(value) not in LEAVES and not shallow_immutable(type(value)):
                where = f"{type(self.process).__name__}.{name}"
                raise ProtocolError(f"{where} = {value!r}: {why_mutable(value)}")

    def blame(self, error: Exception, event: Event) -> Exception:
        """The same error, naming node, time, event and seed."""
        if isinstance(error, RunError):
            return error
        c = self.cluster
        where = f"node {self.id}, t = {c.engine.now} µs, seed {c.streams.seed}, at {event!r}"
        return RunError(f"{type(error).__name__}: {error} ({where}; {type(self.process).__name__})")

    # -- timers ---------------------------------------------------------------------------

    def set_timer(self, value: object, after_us: int) -> None:
        """Fire ``value`` after ``after_us`` of local time, instead of an equal timer."""
        engine = self.cluster.engine
        if self.clock is not None:
            after_us = self.clock.true_delay(after_us)
        due = engine.now + after_us
        timer = self.timers.get(value)
        if timer is None or timer.queued:
            if timer is not None:
                timer.due = -1
            timer = self.timers[value] = Timer(value, due, engine.next_key(), self.step_cause)
            engine.call_at_key(due, timer.key, self._timer_due, (timer, timer.key))
            return
        timer.due, timer.key, timer.cause = due, engine.next_key(), self.step_cause
        if due < timer.entry_at:
            self._push(timer)

    def _push(self, timer: Timer) -> None:
        timer.entry_at, timer.entry_key = timer.due, timer.key
        engine = self.cluster.engine
        engine.call_at_key(timer.due, timer.key, self._timer_due, (timer, timer.key))

    def cancel_timer(self, value: object) -> None:
        """Forget the timer equal to ``value``."""
        timer = self.timers.pop(value, None)
        if timer is not None:
            timer.due = -1

    def _timer_due(self, entry: tuple[Timer, int]) -> None:
        timer, key = entry
        if timer.due < 0 or timer.entry_key != key or timer.queued:
            return
        if timer.key != key:  # it was set again meanwhile
            self._push(timer)
            return
        if not self.fast:
            self.arrive(Fire(timer.value), timer.cause, timer=timer)
            return
        timer.due = -1
        del self.timers[timer.value]
        process, value = self.process, timer.value
        try:
            handler = self.spec.timers.get(type(value))
            if handler is None:
                dispatch(process, Fire(value), self.ctx)
            else:
                handler(process, self.ctx, value)
            if len(process.__dict__) != self.size:
                check_declared(process)
            self.check_values()
        except Exception as error:
            raise self.blame(error, Fire(value)) from error
        if self.watch is not None:
            self.watch(self)

    def invoke(self, operation: int, call: object, cause: int = -1) -> None:
        """A client operation reaches the node."""
        if self.up:
            self.arrive(Invoke(operation, call), cause)
        else:
            self.cluster.refuse(operation, f"{self.id} is down")


class RunError(Exception):
    """A protocol raised or broke the contract: names node, time, event and seed."""
