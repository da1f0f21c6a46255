"""The recorded step on a perfect disk: effects happen as they are called, and are written down.

What it records is the same, byte for byte, as what the careful step records (a test holds both
together); it is only quicker, because nothing has to wait between storing and sending.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocols.api import Delay, ProtocolError
from protocols.canonical import LEAVES, why_mutable
from protocols.client import Outcome
from protocols.step import (
    CancelTimer,
    Effect,
    Event,
    Fire,
    Invoke,
    Observe,
    Receive,
    Reply,
    Send,
    SetTimer,
    check_declared,
    check_message,
    dispatch,
    field_names,
    flat,
    snapshot,
)
from protocols.values import NodeId
from sim.context import SimContext
from sim.delta import changed, delta
from sim.rules import Envelope
from sim.shown import quoted, shown, to_text
from sim.trace import BLOCK

if TYPE_CHECKING:
    from sim.node import Node
    from sim.trace import Recorder

SIMPLE = LEAVES - {bytes}
Change = tuple[str, object, object]


class Traced(SimContext):
    """Runs and records the steps of one node."""

    __slots__ = ("_effects", "_names", "_number", "_quoted", "_values", "recorder")

    def __init__(self, node: Node, recorder: Recorder) -> None:
        super().__init__(node)
        self.recorder = recorder
        self._names = field_names(node.process)
        self._quoted = node.quoted
        self._effects: list[str] = []
        self._number = -1
        self._values: tuple[object, ...] | None = None  # the fields after the last step

    def forget(self) -> None:
        """A crash: the next step begins with a new process."""
        self._values = None

    def read(self) -> tuple[object, ...]:
        """The values of all fields, those of inner processes too."""
        node = self.node
        if node.spec.inner:
            return flat(node.process, snapshot(node.process))
        return node.spec.read_fields(node.process)

    def run(self, event: Event, cause: int, index: int, text: str | None = None) -> None:
        """One step. ``text`` is the message as JSON, if somebody has made it already."""
        node = self.node
        process = node.process
        before = self._values
        if before is None:
            before = self.read()
        recorder = self.recorder
        self._number = node.step_cause = number = recorder.reserve()
        slot = len(recorder.pending) - 1
        self._effects = effects = []
        handler = None
        if type(event) is Receive:
            message = event.message
            handler = node.handlers.get(type(message))
            what = f'"message","cause":{cause},"src":{quoted(event.src)},"index":{index},"value":{text or shown(message)}'
        else:
            what = described(event, cause)
        if handler is None:
            dispatch(process, event, self)
        else:
            handler(process, self, event.src, message)  # type: ignore[union-attr]
        if len(process.__dict__) != node.size or node.spec.inner:
            check_declared(process)
        self._values = after = self.read()
        change = differences(process, self._names, before, after)
        head = f'{{"id":{number},"t":{node.cluster.engine.now},"node":{self._quoted},"kind":{what}'
        recorder.pending[slot] = f"{head}{deltas(change)}{listed(effects)}}}\n"
        if slot >= BLOCK:
            recorder.flush()

    def send(self, dst: NodeId, message: object, /) -> None:
        node = self.node
        try:
            hash(message)
            target = node.cluster.nodes[dst]
        except (TypeError, KeyError):
            check_message(message)
            node.refuse_destination(dst)
        effects = self._effects
        text = shown(message)
        envelope = Envelope(node.id, dst, message, self._number, len(effects), text)
        effects.append(f'{{"send":{target.quoted},"value":{text}}}')
        network = node.cluster.network
        wire = node.wires.get(dst) or network.wire(node, dst)
        if wire is None or network.rules or not wire.plain:
            network.transmit(node, envelope)
            return
        network.sent += 1
        if wire.loss and network.rng.random() < wire.loss:
            network.drop(envelope, "loss")
            return
        node.cluster.engine.call_later(wire.sample(), target.due, envelope)

    def reply(self, operation: int, outcome: Outcome, /) -> None:
        self._effects.append(effect_text(Reply(operation, outcome)))
        self.node.cluster.complete(operation, outcome)

    def set_timer(self, timer: object, /, after: Delay) -> None:
        delay = self.drawn(after)
        self._effects.append(f'{{"set":{shown(timer)},"after":{delay}}}')
        self.node.set_timer(timer, delay)

    def cancel_timer(self, timer: object, /) -> None:
        self._effects.append(f'{{"cancel":{shown(timer)}}}')
        self.node.cancel_timer(timer)

    def observe(self, observation: object, /) -> None:
        self._effects.append(f'{{"observe":{shown(observation)}}}')
        self.node.cluster.observed(self.node.id, observation)


def described(event: Event, cause: int) -> str:
    """Kind, cause and content of a step that isn't a message, for its trace line."""
    because = cause if cause >= 0 else "null"
    if type(event) is Fire:
        return f'"timer","cause":{because},"value":{shown(event.timer)}'
    if type(event) is Invoke:
        content = shown(event.operation)
        return f'"operation","cause":{because},"operation":{event.id},"value":{content}'
    return f'"start","cause":{because}'


def message_described(event: Receive, cause: int, index: int) -> str:
    """The same for a message."""
    because = cause if cause >= 0 else "null"
    head = f'"message","cause":{because},"src":{quoted(event.src)}'
    return f'{head},"index":{index},"value":{shown(event.message)}'


def effect_text(effect: Effect) -> str:
    """An effect as the trace shows it."""
    if type(effect) is Send:
        return f'{{"send":{quoted(effect.dst)},"value":{shown(effect.message)}}}'
    if type(effect) is SetTimer:
        return f'{{"set":{shown(effect.timer)},"after":{effect.after}}}'
    if type(effect) is CancelTimer:
        return f'{{"cancel":{shown(effect.timer)}}}'
    if type(effect) is Observe:
        return f'{{"observe":{shown(effect.observation)}}}'
    assert isinstance(effect, Reply)
    outcome = effect.outcome
    value = shown(outcome.value)
    return f'{{"reply":{effect.id},"outcome":"{outcome.kind}","value":{value}}}'


def listed(effects: list[str]) -> str:
    """The effects of a step, as the end of its trace line."""
    return f',"effects":[{",".join(effects)}]' if effects else ""


def differences(
    process: Any, names: tuple[str, ...], before: tuple[object, ...], after: tuple[object, ...]
) -> list[Change]:
    """Fields that differ now, with old and new value; ProtocolError if a new one is mutable."""
    found: list[Change] = []
    for name, was, now in zip(names, before, after, strict=True):
        if was is not now:
            if type(now) not in LEAVES and (problem := why_mutable(now)):
                raise ProtocolError(f"{type(process).__name__}.{name} = {now!r}: {problem}")
            if changed(was, now):
                found.append((name, was, now))
    return found


def deltas(changes: list[Change]) -> str:
    """The changed fields of a step, for its trace line."""
    if not changes:
        return ""
    parts = [
        f'"{name}":{shown(now) if type(now) in SIMPLE else to_text(delta(was, now))}'
        for name, was, now in changes
    ]
    return f',"delta":{{{",".join(parts)}}}'
