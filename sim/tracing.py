"""The recorded step on a perfect disk: effects happen as they are called, and are written down.

What it records is the same, byte for byte, as what the careful step records (a test holds both
together); it is only quicker, because nothing has to wait between storing and sending.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from protocols.api import Delay, ProtocolError
from protocols.canonical import LEAVES, why_mutable
from protocols.client import Outcome
from protocols.spec import spec_of
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

Change = tuple[str, object, object]
Watched = tuple[tuple[object, ...], Sequence[Change]]
Watcher = Callable[[Any, tuple[object, ...] | None], Watched]


class Traced(SimContext):
    """Runs and records the steps of one node."""

    __slots__ = ("_effects", "_names", "_number", "_quoted", "_values", "_watch", "recorder")

    def __init__(self, node: Node, recorder: Recorder) -> None:
        super().__init__(node)
        self.recorder = recorder
        self._names = recorder.names
        self._watch = watcher(node.process)
        self._quoted = node.quoted
        self._effects: list[str] = []
        self._number = -1
        self._values: tuple[object, ...] | None = None  # the fields after the last step

    def forget(self) -> None:
        """A crash: the next step begins with a new process."""
        self._values = None

    def receive(
        self, src: NodeId, message: object, cause: int, index: int, text: str | None
    ) -> None:
        """The step of a message. ``text`` is the message as JSON, if somebody has made it."""
        node = self.node
        handler = node.handlers.get(type(message))
        if handler is None:
            self.run(Receive(src, message), cause, index)
            return
        recorder = self.recorder
        pending = recorder.pending
        slot = len(pending)
        self._number = node.step_cause = number = recorder.reserve()
        process = node.process
        if self._values is None:
            self._values = self._watch(process, None)[0]
        self._effects.clear()
        handler(process, self, src, message)
        if len(process.__dict__) != node.size:
            check_declared(process)
        after, change = self._watch(process, self._values)
        self._values = after
        pending[slot] = (
            f'{{"id":{number},"t":{node.cluster.engine.now},"node":{self._quoted},"kind":"message",'
            f'"cause":{cause},"src":{self._names[src]},"index":{index},"value":'
            f"{text or shown(message)}"
            f"{deltas(process, change) if change else ''}"
            f"{listed(self._effects) if self._effects else ''}}}\n"
        )
        if slot >= BLOCK:
            recorder.flush()

    def run(self, event: Event, cause: int, index: int) -> None:
        """Any other step."""
        node = self.node
        process = node.process
        if self._values is None:
            self._values = self._watch(process, None)[0]
        recorder = self.recorder
        slot = len(recorder.pending)
        self._number = node.step_cause = number = recorder.reserve()
        self._effects.clear()
        dispatch(process, event, self)
        check_declared(process)
        self._values, change = self._watch(process, self._values)
        what = described(event, cause, index)
        text = deltas(process, change)
        recorder.pending[slot] = line(node, number, what, text, self._effects)
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
        index = len(effects)
        effects.append(f'{{"send":{target.quoted},"value":{text}}}')
        network = node.cluster.network
        wire = node.wires.get(dst) or network.wire(node, dst)
        if wire is None or network.rules or not wire.plain:
            network.transmit(node, Envelope(node.id, dst, message, self._number, index, text))
            return
        network.sent += 1
        if wire.loss and network.rng.random() < wire.loss:
            network.drop(Envelope(node.id, dst, message, self._number, index, text), "loss")
            return
        sent = (node.id, message, self._number, index, text)
        node.cluster.engine.call_later(wire.sample(), target.due, sent)

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


def line(node: Node, number: int, what: str, changes: str, effects: list[str]) -> str:
    """The trace line of a step."""
    head = f'{{"id":{number},"t":{node.cluster.engine.now},"node":{node.quoted},"kind":{what}'
    return f"{head}{changes}{listed(effects) if effects else ''}}}\n"


def described(event: Event, cause: int, index: int) -> str:
    """Kind, cause and content of a step, for its trace line."""
    because = cause if cause >= 0 else "null"
    if type(event) is Receive:
        content, source = shown(event.message), quoted(event.src)
        return f'"message","cause":{because},"src":{source},"index":{index},"value":{content}'
    if type(event) is Fire:
        return f'"timer","cause":{because},"value":{shown(event.timer)}'
    if type(event) is Invoke:
        content = shown(event.operation)
        return f'"operation","cause":{because},"operation":{event.id},"value":{content}'
    return f'"start","cause":{because}'


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
    return f',"effects":[{",".join(effects)}]'


def deltas(process: Any, changes: Sequence[Change]) -> str:
    """The changed fields of a step, for its line; ProtocolError if a new value is mutable."""
    parts = ""
    for name, was, now in changes:
        if type(now) is int:
            if was == now and type(was) is int:
                continue
            parts += f',"{name}":{now}'
        elif type(now) not in LEAVES and (problem := why_mutable(now)):
            raise ProtocolError(f"{type(process).__name__}.{name} = {now!r}: {problem}")
        elif changed(was, now):
            parts += f',"{name}":{to_text(delta(was, now))}'
    return f',"delta":{{{parts[1:]}}}' if parts else ""


def watcher(process: Any) -> Watcher:
    """A function of the process and its fields' earlier values: the values now, and what changed.

    ``watch(p, None)`` only reads. Generated once per node, because it runs at every step.
    """
    spec = spec_of(type(process))
    if spec.inner:
        return _watch_all
    made = _WATCHERS.get(spec.cls)
    if made is None:
        made = _WATCHERS[spec.cls] = _generated(spec.fields)
    return made


_WATCHERS: dict[type, Watcher] = {}


def _generated(names: tuple[str, ...]) -> Watcher:
    if not names:
        return lambda p, before: ((), ())
    now = [f"n{i}" for i in range(len(names))]
    was = [f"o{i}" for i in range(len(names))]
    reads = "; ".join(f"{n} = p.{name}" for n, name in zip(now, names, strict=True))
    same = " and ".join(f"{n} is {o}" for n, o in zip(now, was, strict=True))
    tests = "".join(
        f"    if {n} is not {o}: out.append(({name!r}, {o}, {n}))\n"
        for name, n, o in zip(names, now, was, strict=True)
    )
    code = (
        f"def watch(p, before):\n    {reads}\n"
        f"    if before is None: return ({', '.join(now)},), ()\n"
        f"    {', '.join(was)}, = before\n    if {same}: return before, ()\n"
        f"    out = []\n{tests}    return ({', '.join(now)},), out\n"
    )
    scope: dict[str, Any] = {}
    exec(code, scope)
    made: Watcher = scope["watch"]
    return made


def _watch_all(process: Any, before: tuple[object, ...] | None) -> Watched:
    after = flat(process, snapshot(process))
    if before is None:
        return after, ()
    rows = zip(field_names(process), before, after, strict=True)
    return after, [(name, was, now) for name, was, now in rows if was is not now]
