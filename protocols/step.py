"""One step of one process: the function that every runtime agrees on.

``step(process, event)`` runs the handler to completion and gives the ordered effects. It also
holds a process to the contract: declared fields only, immutable values, hashable messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from protocols import canonical
from protocols.api import Context, Delay, Inner, ProtocolError, message
from protocols.client import Outcome
from protocols.spec import Spec, spec_of
from protocols.values import NodeId

T = TypeVar("T")
Snapshot = tuple[object, ...]
"""The state of a process: its fields' values in order, then a snapshot per inner process."""


@dataclass(frozen=True, slots=True)
class Start:
    """The process boots or has recovered: ``on_start`` runs."""


@message
class Receive:
    """``message`` arrives from ``src``."""

    src: NodeId
    message: Any


@message
class Fire:
    """``timer`` comes due."""

    timer: Any


@message
class Invoke:
    """A client operation with this id reaches the node."""

    id: int
    operation: Any


Event = Start | Receive | Fire | Invoke


@message
class Send:
    """Send ``message`` to ``dst``."""

    dst: NodeId
    message: Any


@message
class SetTimer:
    """Fire ``timer`` after ``after`` µs, or after a draw from the range ``after``."""

    timer: Any
    after: Any


@message
class CancelTimer:
    """Forget ``timer``."""

    timer: Any


@message
class Observe:
    """Tell ``observation`` to checkers and charts."""

    observation: Any


@message
class Reply:
    """Complete operation ``id``."""

    id: int
    outcome: Outcome


Effect = Send | SetTimer | CancelTimer | Observe | Reply


def check_delay(after: Delay) -> None:
    """Raise ProtocolError unless ``after`` is whole µs ≥ 0, or a range of such, low ≤ high."""
    if type(after) is int:
        if after >= 0:
            return
    elif type(after) is tuple and len(after) == 2:
        low, high = after
        if type(low) is int and type(high) is int and 0 <= low <= high:
            return
    raise ProtocolError(
        f"timer delay {after!r}: give whole microseconds ≥ 0 (150 * MS), or a range (low, high)"
    )


_SENDABLE: dict[type, bool] = {}


def checked(value: T) -> T:
    """The message itself; ProtocolError unless it is a hashable instance of a value class."""
    try:
        hash(value)
    except TypeError as error:
        raise ProtocolError(f"{value!r} cannot be sent: {error} inside it; use tuples") from None
    cls = type(value)
    if cls not in _SENDABLE:
        if not canonical.is_value_class(cls):
            raise ProtocolError(f"{value!r} cannot be sent: declare its class with @message")
        _SENDABLE[cls] = True
    return value


class Recording(Context):
    """A context that lists effects: for unit tests, traces, the explorer and real networks."""

    __slots__ = ("_choose", "_clock", "_nodes", "_now_us", "effects")

    def __init__(
        self,
        *,
        now_us: int = 0,
        clock: bool = True,
        choose: Callable[[Sequence[Any]], Any] | None = None,
        nodes: Collection[NodeId] | None = None,
    ) -> None:
        self.effects: list[Effect] = []
        self._now_us = now_us
        self._clock = clock
        self._choose = choose
        self._nodes = nodes

    def send(self, dst: NodeId, message: object, /) -> None:
        checked(message)
        if self._nodes is not None and dst not in self._nodes:
            known = ", ".join(sorted(self._nodes)[:8])
            raise ProtocolError(f"message to unknown node {dst!r}; the nodes are {known}")
        self.effects.append(Send(dst, message))

    def reply(self, operation: int, outcome: Outcome, /) -> None:
        self.effects.append(Reply(operation, outcome))

    def set_timer(self, timer: object, /, after: Delay) -> None:
        check_delay(after)
        self.effects.append(SetTimer(timer, after))

    def cancel_timer(self, timer: object, /) -> None:
        self.effects.append(CancelTimer(timer))

    def choose(self, options: Sequence[T], /) -> T:
        if not options:
            raise ProtocolError("choose() was given no options")
        return options[0] if self._choose is None else cast(T, self._choose(options))

    def observe(self, observation: object, /) -> None:
        self.effects.append(Observe(observation))

    def now(self) -> int:
        if not self._clock:
            raise ProtocolError("ctx.now() is for a process declared with @process(clock=True)")
        return self._now_us


class InnerContext(Context):
    """The context that an inner process sees: its messages and timers travel inside ``Inner``.

    What it observes goes to the outer process's ``@on_observation`` handler if there is one,
    else on to whoever watches the outer process.
    """

    __slots__ = ("_ctx", "_outer", "_part")

    def __init__(self, outer: Any, part: str, ctx: Context) -> None:
        self._outer, self._part, self._ctx = outer, part, ctx

    def send(self, dst: NodeId, message: object, /) -> None:
        self._ctx.send(dst, Inner(self._part, message))

    def reply(self, operation: int, outcome: Outcome, /) -> None:
        self._ctx.reply(operation, outcome)

    def set_timer(self, timer: object, /, after: Delay) -> None:
        self._ctx.set_timer(Inner(self._part, timer), after)

    def cancel_timer(self, timer: object, /) -> None:
        self._ctx.cancel_timer(Inner(self._part, timer))

    def choose(self, options: Sequence[T], /) -> T:
        return self._ctx.choose(options)

    def observe(self, observation: object, /) -> None:
        handler = spec_of(type(self._outer)).observations.get(type(observation))
        if handler is None:
            self._ctx.observe(observation)
        else:
            handler(self._outer, self._ctx, observation)

    def now(self) -> int:
        return self._ctx.now()


def inner_context(outer: Any, part: str, ctx: Context) -> Context:
    """The context to hand to a method of the inner process in field ``part``."""
    return InnerContext(outer, part, ctx)


def dispatch(process: Any, event: Event, ctx: Context) -> None:
    """Run the handler of ``event``. Raises ProtocolError if there is none."""
    spec = spec_of(type(process))
    kind = type(event)
    if kind is Receive:
        value = event.message  # type: ignore[union-attr]
        if type(value) is Inner:
            event = Receive(event.src, value.value)  # type: ignore[union-attr]
            return _dispatch_inner(process, value.part, event, ctx)
        _find(spec, spec.handlers, value, "message", "on")(process, ctx, event.src, value)  # type: ignore[union-attr]
    elif kind is Fire:
        value = event.timer  # type: ignore[union-attr]
        if type(value) is Inner:
            return _dispatch_inner(process, value.part, Fire(value.value), ctx)
        _find(spec, spec.timers, value, "timer", "on_timer")(process, ctx, value)
    elif kind is Start:
        start = getattr(process, "on_start", None)
        if start is not None:
            start(ctx)
        for part in spec.inner:
            _dispatch_inner(process, part, event, ctx)
    else:
        value = event.operation  # type: ignore[union-attr]
        handler = _find(spec, spec.operations, value, "operation", "on_operation")
        handler(process, ctx, event.id, value)  # type: ignore[union-attr]


def _dispatch_inner(outer: Any, part: str, event: Event, ctx: Context) -> None:
    if part not in spec_of(type(outer)).inner:
        raise ProtocolError(f"{type(outer).__name__} has no inner process {part!r}")
    dispatch(getattr(outer, part), event, InnerContext(outer, part, ctx))


def _find(
    spec: Spec, table: Mapping[type, Callable[..., None]], value: object, what: str, mark: str
) -> Callable[..., None]:
    handler = table.get(type(value))
    if handler is None:
        handled = ", ".join(sorted(t.__name__ for t in table)) or "none"
        raise ProtocolError(
            f"{spec.cls.__name__} has no handler for the {what} {value!r}; it handles: {handled}. "
            f"Mark a method with @{mark}({type(value).__name__})"
        )
    return handler


def snapshot(process: Any) -> Snapshot:
    """The state as a tuple of references to immutable values: cheap, hashable, comparable."""
    spec = spec_of(type(process))
    values = spec.read_fields(process)
    if spec.inner:
        return values + tuple(snapshot(getattr(process, part)) for part in spec.inner)
    return values


def restore(process: Any, state: Snapshot) -> None:
    """Put ``process`` back into ``state``, taken from a process of the same class."""
    spec = spec_of(type(process))
    n = len(spec.fields)
    spec.write_fields(process, state[:n])
    for part, values in zip(spec.inner, state[n:], strict=True):
        restore(getattr(process, part), cast(Snapshot, values))


def durable_state(process: Any) -> dict[str, Any]:
    """The durable fields (``part.field`` for those of an inner process) and their values."""
    spec = spec_of(type(process))
    stored = {name: getattr(process, name) for name in spec.durable}
    for part in spec.inner:
        owned = durable_state(getattr(process, part))
        stored.update({f"{part}.{name}": value for name, value in owned.items()})
    return stored


def recovered(process: Any, stored: Mapping[str, Any]) -> Any:
    """A new process: same parameters, ``stored`` durable fields, volatile ones at default."""
    spec = spec_of(type(process))
    new = spec.cls(**{name: getattr(process, name) for name in spec.params})
    _store_back(new, stored)
    return new


def _store_back(process: Any, stored: Mapping[str, Any]) -> None:
    spec = spec_of(type(process))
    for name, value in stored.items():
        part, dot, rest = name.partition(".")
        if dot:
            _store_back(getattr(process, part), {rest: value})
        elif name in spec.durable:
            setattr(process, name, value)


def state_digest(process: Any) -> str:
    """128-bit digest of the state, the same in every interpreter and under any hash seed."""
    return canonical.digest(snapshot(process))


def field_names(process: Any) -> tuple[str, ...]:
    """Names of the values that :func:`snapshot` gives, flattened as ``part.field``."""
    spec = spec_of(type(process))
    names = list(spec.fields)
    for part in spec.inner:
        names += [f"{part}.{name}" for name in field_names(getattr(process, part))]
    return tuple(names)


def flat(process: Any, state: Snapshot) -> tuple[object, ...]:
    """The values of a snapshot in the order of :func:`field_names`."""
    spec = spec_of(type(process))
    if not spec.inner:
        return state
    n = len(spec.fields)
    values = list(state[:n])
    for part, owned in zip(spec.inner, state[n:], strict=True):
        values += flat(getattr(process, part), cast(Snapshot, owned))
    return tuple(values)


def check_declared(process: Any) -> None:
    """Raise ProtocolError if a handler gave the process an attribute that isn't declared."""
    spec = spec_of(type(process))
    if len(process.__dict__) != spec.size:
        declared = {*spec.params, *spec.defaults}
        extra = [name for name in process.__dict__ if name not in declared]
        if not extra:
            lost = sorted(declared - set(process.__dict__))
            raise ProtocolError(f"{spec.cls.__name__} deleted its field {', '.join(lost)}")
        raise ProtocolError(
            f"{spec.cls.__name__}.{extra[0]} is not declared; add "
            f"`{extra[0]}: … = volatile(…)` or durable(…) to the class"
        )
    for part in spec.inner:
        check_declared(getattr(process, part))


def check_change(process: Any, before: Snapshot, after: Snapshot) -> None:
    """Raise ProtocolError if a value that changed between the snapshots is mutable."""
    if before == after and all(map(_same_type, before, after)):
        return
    old, new = flat(process, before), flat(process, after)
    for name, was, value in zip(field_names(process), old, new, strict=True):
        if value is not was:
            problem = canonical.why_mutable(value)
            if problem:
                raise ProtocolError(f"{type(process).__name__}.{name} = {value!r}: {problem}")


def _same_type(a: object, b: object) -> bool:
    return type(a) is type(b)


def step(
    process: Any,
    event: Event,
    *,
    now_us: int = 0,
    choose: Callable[[Sequence[Any]], Any] | None = None,
    nodes: Collection[NodeId] | None = None,
) -> tuple[Effect, ...]:
    """Run one step: change the process's fields and return its effects, in order.

    ``now_us`` is the node's local clock; ``choose`` decides ``ctx.choose`` (the first option if
    None); ``nodes``, if given, are the destinations that exist. Raises ProtocolError, naming
    process, field and event, for a breach of the contract; the process is then of no more use.
    """
    spec: Spec = getattr(process, "__splitbrain__", None) or spec_of(type(process))
    ctx = Recording(now_us=now_us, clock=spec.clock, choose=choose, nodes=nodes)
    try:
        if spec.inner:
            before = snapshot(process)
            dispatch(process, event, ctx)
            check_declared(process)
            check_change(process, before, snapshot(process))
        else:
            _step_alone(spec, process, event, ctx)
    except ProtocolError as error:
        raise ProtocolError(f"{error} (in {type(process).__name__}, at {event!r})") from error
    return tuple(ctx.effects)


def _step_alone(spec: Spec, process: Any, event: Event, ctx: Context) -> None:
    """The same for a process without inner ones, which is nearly every one, without detours."""
    before = spec.read_fields(process)
    handler = None
    if type(event) is Receive:
        handler = spec.handlers.get(type(event.message))
    if handler is None:
        dispatch(process, event, ctx)
    else:
        handler(process, ctx, event.src, event.message)  # type: ignore[union-attr]
    if len(process.__dict__) != spec.size:
        check_declared(process)
    after = spec.read_fields(process)
    for was, now in zip(before, after):  # noqa: B905 (both have one value per field)
        if was is not now and type(now) not in canonical.LEAVES:
            check_change(process, before, after)
            break
