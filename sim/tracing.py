"""The recorded step on a perfect disk: effects happen as they are called, and are written down.

What it records is the same, byte for byte, as what the careful step records (a test holds both
together); it is only quicker, because nothing has to wait between storing and sending.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

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
    checked,
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
# Pieces of a line; an f-string cannot hold its own quotes before Python 3.12.
LISTED, COMMA, END, END_BARE = ',"effects":[', ",".join, "]}\n", "}\n"
Sent = tuple[NodeId, object, int, int, str]
"""A recorded message on a plain wire: src, message, cause, index among effects, JSON."""
_T = TypeVar("_T")
Watcher = Callable[[Any, tuple[object, ...] | None], tuple[tuple[object, ...], _T]]


class Traced(SimContext):
    """Runs and records the steps of one node."""

    __slots__ = (
        "_effects",
        "_head",
        "_last",
        "_number",
        "_text",
        "_values",
        "_watch",
        "recorder",
    )

    def __init__(self, node: Node, recorder: Recorder) -> None:
        super().__init__(node)
        self.recorder = recorder
        self._watch = Watch.of(node.process).text
        self._head = f',"node":{node.quoted},"kind":"message","cause":'
        self._last: object = None  # the message sent last, and its JSON: broadcasts repeat it
        self._text = ""
        self._effects: list[str] = []
        self._number = -1
        self._values: tuple[object, ...] | None = None  # the fields after the last step

    def forget(self) -> None:
        """A crash: the next step begins with a new process."""
        self._values = None

    def due(self, sent: Sent) -> None:
        """A message comes off a plain wire: check, handle and record it, in one go."""
        node = self.node
        src, message, cause, index, text = sent
        handler = node.handlers.get(type(message))
        cluster = node.cluster
        if handler is None or not node.free or node.stepping or cluster.network.rules:
            cluster.network.due(Envelope(src, node.id, message, cause, index, text))
            return
        node.delivered += 1
        recorder = self.recorder
        lines = recorder.pending
        slot = len(lines)
        recorder.next_id = 1 + (number := recorder.next_id)
        self._number = node.step_cause = number
        process = node.process
        before = self._values or self._watch(process, None)[0]
        effects = self._effects
        if effects:
            effects.clear()
        try:
            handler(process, self, src, message)
            if len(process.__dict__) != node.size:
                check_declared(process)
            self._values, change = self._watch(process, before)
            # What happened during the step (a message lost on the way) is recorded already.
            lines.insert(
                slot,
                f'{{"id":{number},"t":{cluster.engine.now}{self._head}{cause}{recorder.names[src]}'
                f'{index},"value":{text}{change}'
                f"{LISTED + COMMA(effects) + END if effects else END_BARE}",
            )
        except Exception as error:
            raise node.blame(error, Receive(src, message)) from error
        if node.watch is not None:
            node.watch(node)
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
        self._number = node.step_cause = number = recorder.take_id()
        self._effects.clear()
        dispatch(process, event, self)
        check_declared(process)
        self._values, change = self._watch(process, self._values)
        what = described(event, cause, index)
        text = line(node, number, what, change, self._effects)
        recorder.pending.insert(slot, text)
        if slot >= BLOCK:
            recorder.flush()

    def send(self, dst: NodeId, message: object, /) -> None:
        node = self.node
        target = node.cluster.nodes.get(dst)
        if message is not self._last:
            self._text = shown(checked(message))
            self._last = message
        text = self._text
        effects = self._effects
        index = len(effects)
        network = node.cluster.network
        if target is None:
            network.send_to_departed(node, dst, message, self._number, index)
            effects.append(f'{{"send":{quoted(dst)},"value":{text}}}')
            return
        effects.append(f'{{"send":{target.quoted},"value":{text}}}')
        wire = node.wires.get(dst) or network.wire(node, dst)
        if wire is None or network.rules or not wire.plain:
            network.transmit(node, Envelope(node.id, dst, message, self._number, index, text))
            return
        network.sent += 1
        if wire.loss and network.rng.random() < wire.loss:
            network.drop(Envelope(node.id, dst, message, self._number, index, text), "loss")
            return
        sent = (node.id, message, self._number, index, text)
        node.cluster.engine.call_later(wire.sample(), target.traced.due, sent)  # type: ignore[union-attr]

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
    parts = "".join(delta_text(process, *change) for change in changes)
    return f',"delta":{{{parts[1:]}}}' if parts else ""


def delta_text(process: Any, name: str, was: object, now: object) -> str:
    """One changed field as ``,"name":delta``; nothing if the two values are the same after all."""
    if type(now) not in LEAVES and (problem := why_mutable(now)):
        raise ProtocolError(f"{type(process).__name__}.{name} = {now!r}: {problem}")
    return f',"{name}":{to_text(delta(was, now))}' if changed(was, now) else ""


class Watch:
    """Two functions of a process and its fields' earlier values (None: just read them).

    ``changes`` gives the values now and the list of fields that are other objects; ``text``
    gives the values now and the end of a trace line. Generated once per class, because one of
    them runs at every recorded step.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.changes: Watcher[Sequence[Change]] = _generated(names, _AS_LIST, "[]")
        self.text: Watcher[str] = _generated(names, _AS_TEXT, '""', _AS_TEXT_END)

    @classmethod
    def of(cls, process: Any) -> Watch | WatchAll:
        """The functions for a process."""
        spec = spec_of(type(process))
        if spec.inner:
            return WatchAll()
        made = _WATCHES.get(spec.cls)
        if made is None:
            made = _WATCHES[spec.cls] = Watch(spec.fields)
        return made


_WATCHES: dict[type, Watch] = {}
_AS_LIST = "out.append(({name!r}, {was}, {now}))"
_AS_TEXT = (
    "out += f',\"{name}\":{{{now}}}' if type({now}) is int is type({was}) and {now} != {was} "
    "else delta_text(p, {name!r}, {was}, {now})"
)
_AS_TEXT_END = "    if out: out = ',\"delta\":{' + out[1:] + '}'\n"


def _generated(names: tuple[str, ...], found: str, empty: str, end: str = "") -> Watcher[Any]:
    if not names:
        return lambda p, before: ((), eval(empty))
    rows = [(name, f"n{i}", f"o{i}") for i, name in enumerate(names)]
    reads = "; ".join(f"{now} = p.{name}" for name, now, _ in rows)
    values = ", ".join(now for _, now, _ in rows)
    same = " and ".join(f"{now} is {was}" for _, now, was in rows)
    tests = "".join(
        f"    if {now} is not {was}: {found.format(name=name, now=now, was=was)}\n"
        for name, now, was in rows
    )
    code = (
        f"def watch(p, before):\n    {reads}\n    out = {empty}\n"
        f"    if before is None: return ({values},), out\n"
        f"    {', '.join(was for _, _, was in rows)}, = before\n"
        f"    if {same}: return before, out\n"
        f"{tests}{end}    return ({values},), out\n"
    )
    scope: dict[str, Any] = {"delta_text": delta_text}
    exec(code, scope)
    made: Watcher[Any] = scope["watch"]
    return made


class WatchAll:
    """The same for a process with inner ones: fields of all of them, as ``part.field``."""

    def changes(
        self, process: Any, before: tuple[object, ...] | None
    ) -> tuple[tuple[object, ...], Sequence[Change]]:
        """The values now, and what is another object."""
        after = flat(process, snapshot(process))
        if before is None:
            return after, ()
        rows = zip(field_names(process), before, after, strict=True)
        return after, [(name, was, now) for name, was, now in rows if was is not now]

    def text(
        self, process: Any, before: tuple[object, ...] | None
    ) -> tuple[tuple[object, ...], str]:
        """The values now, and the end of a trace line."""
        after, changes = self.changes(process, before)
        return after, deltas(process, changes)
