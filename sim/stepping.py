"""The careful step: record it, store what is durable, then let its messages leave (§3a).

Used whenever somebody records, the disk isn't perfect, or a crash is to fall inside a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from protocols.step import (
    CancelTimer,
    Effect,
    Event,
    Observe,
    Reply,
    Send,
    SetTimer,
    check_declared,
    dispatch,
    durable_state,
)
from sim.context import Listing
from sim.delta import changed
from sim.rules import Envelope
from sim.trace import BLOCK
from sim.tracing import Change, Watch, deltas, described, effect_text, line

if TYPE_CHECKING:
    from sim.disk import Disk
    from sim.node import Node

Waiting = tuple[int, Sequence[Effect], int]


class Careful:
    """Runs the steps of one node with a list of effects in between."""

    __slots__ = (
        "ctx",
        "durable",
        "escapes",
        "node",
        "outbox",
        "synced",
        "syncing",
        "watch",
        "written",
    )

    def __init__(self, node: Node) -> None:
        self.node = node
        self.ctx = Listing(node)
        self.watch = Watch.of(node.process).changes
        self.durable = frozenset(durable_state(node.process))
        self.escapes: list[tuple[int, Any]] = []  # how many messages get out; whose fault
        self.written = 0  # writes begun so far
        self.synced = 0  # writes synced so far
        self.syncing = 0  # the sync under way covers writes up to this number; 0: none
        self.outbox: deque[Waiting] = deque()  # (number of writes to wait for, effects, step id)

    def forget(self) -> None:
        """A crash: what waited for the disk never leaves."""
        self.outbox.clear()
        self.written = self.synced = self.syncing = 0

    def run(self, event: Event, cause: int, index: int) -> None:
        """One step, exactly."""
        node, ctx = self.node, self.ctx
        process = node.process
        before = self.watch(process, None)[0]
        effects: list[Effect] = []
        ctx.effects = effects
        dispatch(process, event, ctx)
        check_declared(process)
        changes = self.watch(process, before)[1]
        text = deltas(process, changes)  # also refuses mutable values
        recorder = node.cluster.recorder
        number = -1
        if recorder is not None:
            number = recorder.take_id()
            what = described(event, cause, index)
            shown = [effect_text(effect) for effect in effects]
            recorder.pending.append(line(node, number, what, text, shown))
            if len(recorder.pending) > BLOCK:
                recorder.flush()
        node.step_cause = number
        if node.watch is not None:  # before a crash inside this step can replace the process
            node.watch(node)
        if node.disk is None and not self.escapes:
            for place, effect in enumerate(effects):
                self._carry_out(effect, place, number)
        else:
            self._leave_later(changes, effects, number)

    def _leave_later(
        self, changes: Sequence[Change], effects: Sequence[Effect], number: int
    ) -> None:
        """With a disk that takes time or fails, or a crash that falls inside this step."""
        self._act_now(effects)
        written = {n: now for n, was, now in changes if n in self.durable and changed(was, now)}
        if self.escapes:
            self._crash_inside(written, effects, number)
        else:
            self._store(written, effects, number)

    def _act_now(self, effects: Sequence[Effect]) -> None:
        """Timers count from now, and what was observed is known now, whatever the disk does."""
        for effect in effects:
            if not isinstance(effect, Send | Reply):
                self._carry_out(effect, 0, self.node.step_cause)

    def _store(self, written: dict[str, Any], effects: Sequence[Effect], number: int) -> None:
        disk = self.node.own_disk()
        if written:
            if disk.full:
                disk.bite("full")
                self.node.cluster.crash(self.node.id, why="disk full", cause=number)
                return
            disk.write(written)
            self.written += 1
        self.outbox.append((self.written, effects, number))
        if not self.syncing:
            self._sync(disk)

    def _sync(self, disk: Disk) -> None:
        """Begin a sync of all writes so far, and let go what needs none."""
        if not disk.unsynced:
            self._release(self.written)
            return
        takes = disk.latency_us()
        writes = len(disk.unsynced)
        if not takes:
            disk.sync(writes)
            self._release(self.written)
            return
        self.syncing = self.written
        job = (self.node.process, disk, writes, self.written)
        self.node.cluster.engine.call_later(takes, self._synced, job)

    def _synced(self, job: tuple[Any, Disk, int, int]) -> None:
        process, disk, writes, upto = job
        if process is not self.node.process:
            return
        disk.sync(writes)
        self.syncing = 0
        self.synced = upto
        if self.node.paused:  # it stands still: what may leave leaves when it goes on
            return
        self.go_on()

    def go_on(self) -> None:
        """Let go what is synced, and sync the rest."""
        disk = self.node.disk
        if disk is None:
            return
        self._release(self.synced)
        if self.outbox and not self.syncing:
            self._sync(disk)

    def _release(self, upto: int) -> None:
        while self.outbox and self.outbox[0][0] <= upto:
            _, effects, number = self.outbox.popleft()
            self._leave(effects, number)

    def _leave(self, effects: Sequence[Effect], number: int, limit: int | None = None) -> None:
        """Messages and replies leave, in order; at most ``limit`` of them."""
        left = 0
        for index, effect in enumerate(effects):
            if isinstance(effect, Send | Reply):
                if left == limit:
                    return
                left += 1
                self._carry_out(effect, index, number)

    def _crash_inside(
        self, written: dict[str, Any], effects: Sequence[Effect], number: int
    ) -> None:
        """The crash falls between storing and sending: a prefix of the messages escapes.

        What earlier steps wait to send leaves first, and whole: their writes are synced too.
        """
        node = self.node
        escape, usage = self.escapes.pop(0)
        usage.touched += 1
        disk = node.disk
        if disk is not None and written:
            if disk.full:
                disk.bite("full")
                node.cluster.crash(node.id, why="disk full", cause=number)
                return
            disk.write(written)
        if disk is None or not (disk.torn and written):
            if disk is not None:
                disk.sync(len(disk.unsynced))
            for _, earlier, step in self.outbox:
                self._leave(earlier, step)
            self._leave(effects, number, escape)
        else:
            escape = 0  # half a write: nothing can have left
        node.cluster.crash(node.id, why=f"inside a step, {escape} messages out", cause=number)

    def _carry_out(self, effect: Effect, index: int, number: int) -> None:
        node = self.node
        kind = type(effect)
        if kind is Send:
            envelope = Envelope(node.id, effect.dst, effect.message, number, index)  # type: ignore[union-attr]
            node.cluster.network.transmit(node, envelope)
        elif kind is SetTimer:
            node.set_timer(effect.timer, effect.after)  # type: ignore[union-attr]
        elif kind is Observe:
            node.cluster.observed(node.id, effect.observation)  # type: ignore[union-attr]
        elif kind is CancelTimer:
            node.cancel_timer(effect.timer)  # type: ignore[union-attr]
        else:
            node.cluster.complete(effect.id, effect.outcome)  # type: ignore[union-attr]
