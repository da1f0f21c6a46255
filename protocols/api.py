"""The contract between a protocol and the world: what a protocol author imports.

A process is a class of declared, immutable-valued fields and of handlers. Handlers act only
through the :class:`Context`; the runtime decides what becomes of it: a simulation, a search,
a unit test's list of effects, or a real network.

    @process
    class Pinger:
        me: NodeId                                  # a parameter: fixed for the run
        peers: tuple[NodeId, ...]
        heard: frozenset[NodeId] = volatile(frozenset())   # state: lost in a crash
        boots: int = durable(0)                            # state: survives a crash

        def on_start(self, ctx: Context) -> None: ...      # at boot and after every recovery
        @on(Pong)
        def receive_pong(self, ctx: Context, src: NodeId, m: Pong) -> None: ...
        @on_timer(PingDue)
        def ping(self, ctx: Context, t: PingDue) -> None: ...
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, cast, dataclass_transform, overload

from protocols.client import Outcome
from protocols.values import MINUTE, MS, SECOND, US, Log, Map, NodeId, in_order

__all__ = [
    "MINUTE",
    "MS",
    "SECOND",
    "US",
    "Context",
    "Delay",
    "Inner",
    "Log",
    "Map",
    "NodeId",
    "ProtocolError",
    "durable",
    "in_order",
    "inner",
    "message",
    "observation",
    "on",
    "on_observation",
    "on_operation",
    "on_timer",
    "operation",
    "process",
    "timer",
    "volatile",
]

T = TypeVar("T")
C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., None])

Delay = int | tuple[int, int]
"""A delay in µs, or a range ``(low, high)`` from which the runtime draws (both ends included)."""


class ProtocolError(Exception):
    """A bug in a protocol: names the node, the event and what was wrong. Never a verdict."""


class Context(ABC):
    """All that a handler may do. Calls take effect, in order, when the handler has returned."""

    __slots__ = ()

    @abstractmethod
    def send(self, dst: NodeId, message: object, /) -> None:
        """Send ``message`` to node ``dst``. It may be lost, delayed, duplicated or reordered."""

    @abstractmethod
    def reply(self, operation: int, outcome: Outcome, /) -> None:
        """Complete the client operation with this id."""

    @abstractmethod
    def set_timer(self, timer: object, /, after: Delay) -> None:
        """Fire ``timer`` after ``after`` µs of the node's clock. Replaces an equal timer."""

    @abstractmethod
    def cancel_timer(self, timer: object, /) -> None:
        """Forget ``timer``; no effect if it isn't set."""

    @abstractmethod
    def choose(self, options: Sequence[T], /) -> T:
        """Any one of ``options``: drawn in a simulation, every one tried by the explorer."""

    @abstractmethod
    def observe(self, observation: object, /) -> None:
        """Tell what happened (a suspicion, a decision) to checkers, charts and an outer process."""

    @abstractmethod
    def now(self) -> int:
        """The node's local clock, µs. Only for a process declared with ``clock=True``."""


@dataclass_transform(frozen_default=True)
def message(cls: C) -> C:
    """Declare a message: a frozen dataclass with slots, hashable, created in well under 1 µs."""
    return _value_class(cls)


@dataclass_transform(frozen_default=True)
def timer(cls: C) -> C:
    """Declare a timer: a value; setting an equal one replaces it."""
    return _value_class(cls)


@dataclass_transform(frozen_default=True)
def operation(cls: C) -> C:
    """Declare a client operation, handled by ``@on_operation``."""
    return _value_class(cls)


@dataclass_transform(frozen_default=True)
def observation(cls: C) -> C:
    """Declare an observation: what a process tells to checkers, charts and an outer process."""
    return _value_class(cls)


def _value_class(cls: C) -> C:
    made: Any = dataclasses.dataclass(frozen=True, slots=True)(cls)
    fields = dataclasses.fields(made)
    if not hasattr(made, "__post_init__") and all(_is_plain(f) for f in fields):
        made.__init__ = _fast_init(made, fields)
    return cast(C, made)


def _is_plain(field: dataclasses.Field[Any]) -> bool:
    return field.init and not field.kw_only and field.default_factory is dataclasses.MISSING


def _fast_init(cls: type, fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """``__init__`` that fills the slots directly: half the time of the frozen dataclass's own."""
    scope: dict[str, Any] = {}
    params, lines = [], ["    pass"]
    for field in fields:
        owner = next(c for c in cls.__mro__ if field.name in c.__dict__)
        scope[f"_set_{field.name}"] = owner.__dict__[field.name].__set__
        lines.append(f"    _set_{field.name}(self, {field.name})")
        if field.default is dataclasses.MISSING:
            params.append(field.name)
        else:
            scope[f"_default_{field.name}"] = field.default
            params.append(f"{field.name}=_default_{field.name}")
    exec(f"def __init__(self, {', '.join(params)}):\n" + "\n".join(lines), scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


@dataclasses.dataclass(frozen=True, slots=True)
class Declared:
    """What :func:`durable`, :func:`volatile` and :func:`inner` leave in the class body."""

    kind: Literal["durable", "volatile", "inner"]
    default: Any


def durable(default: T, *, init: Literal[False] = False) -> T:
    """A state field on stable storage: stored before any message of the same step leaves."""
    return Declared("durable", default)  # type: ignore[return-value]


def volatile(default: T, *, init: Literal[False] = False) -> T:
    """A state field in memory: back at ``default`` after a crash."""
    return Declared("volatile", default)  # type: ignore[return-value]


def inner(make: Callable[[Any], T], *, init: Literal[False] = False) -> T:
    """An inner process that this one owns, made by ``make(outer)`` (see :func:`inner_context`)."""
    return Declared("inner", make)  # type: ignore[return-value]


@dataclasses.dataclass(frozen=True, slots=True)
class Inner:
    """A message or timer of the inner process held in field ``part``."""

    part: str
    value: Any


Cls = TypeVar("Cls")


@overload
def process(cls: type[Cls], /) -> type[Cls]: ...
@overload
def process(*, clock: bool = False) -> Callable[[type[Cls]], type[Cls]]: ...
@dataclass_transform(kw_only_default=True, field_specifiers=(durable, volatile, inner))
def process(cls: Any = None, /, *, clock: bool = False) -> Any:
    """Declare a process: its parameters, durable and volatile fields, and its handlers.

    Parameters are given by keyword: ``RaftServer(me="n1", peers=("n2", "n3"))``.
    ``clock=True`` lets handlers read ``ctx.now()``. A subclass of a process is a process;
    decorate it too if it declares fields, so that type checkers see them.
    """
    from protocols.spec import install

    if cls is None:
        return lambda decorated: install(decorated, clock=clock)
    return install(cls, clock=clock)


def _marking(kind: str, types: tuple[type, ...]) -> Callable[[F], F]:
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError(f"@{kind} takes one or more classes, not {types!r}")

    def mark(handler: F) -> F:
        marks = getattr(handler, "__handles__", ())
        handler.__handles__ = (*marks, *((kind, t) for t in types))  # type: ignore[attr-defined]
        return handler

    return mark


def on(*messages: type) -> Callable[[F], F]:
    """Mark a handler ``(self, ctx, src, message)`` of these message classes."""
    return _marking("on", messages)


def on_timer(*timers: type) -> Callable[[F], F]:
    """Mark a handler ``(self, ctx, timer)`` of these timer classes."""
    return _marking("on_timer", timers)


def on_operation(*operations: type) -> Callable[[F], F]:
    """Mark a handler ``(self, ctx, id, operation)`` of these client operations."""
    return _marking("on_operation", operations)


def on_observation(*observations: type) -> Callable[[F], F]:
    """Mark a handler ``(self, ctx, observation)`` of what an inner process observes."""
    return _marking("on_observation", observations)
