"""What a process class declares, worked out once per class: fields, parameters, handler tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

from protocols.api import Declared, Inner, ProtocolError

_MISSING = object()
_RESERVED = "__splitbrain__"
_BAD_DEFAULTS = (list, dict, set, bytearray)


class Spec:
    """The declaration of one process class. ``fields`` are the state fields, in order."""

    __slots__ = (
        "clock",
        "cls",
        "defaults",
        "durable",
        "fields",
        "handlers",
        "inner",
        "observations",
        "operations",
        "params",
        "read_fields",
        "size",
        "timers",
        "volatile",
        "write_fields",
    )

    def __init__(self, cls: type, *, clock: bool) -> None:
        self.cls = cls
        self.clock = clock
        declared = _declarations(cls)
        self.params: dict[str, Any] = {
            n: d for n, d in declared.items() if not isinstance(d, Declared)
        }
        kinds = {n: d.kind for n, d in declared.items() if isinstance(d, Declared)}
        self.fields = tuple(n for n, kind in kinds.items() if kind != "inner")
        self.durable = tuple(n for n in self.fields if kinds[n] == "durable")
        self.volatile = tuple(n for n in self.fields if kinds[n] == "volatile")
        self.inner = tuple(n for n, kind in kinds.items() if kind == "inner")
        self.defaults = {n: declared[n].default for n in kinds}
        self.size = len(declared)
        self.read_fields = _reader(self.fields)
        self.write_fields = _writer(self.fields)
        tables = _handler_tables(cls)
        self.handlers: dict[type, Callable[..., None]] = tables["on"]
        self.timers: dict[type, Callable[..., None]] = tables["on_timer"]
        self.operations: dict[type, Callable[..., None]] = tables["on_operation"]
        self.observations: dict[type, Callable[..., None]] = tables["on_observation"]

    def handled(self, kind: str) -> str:
        """The names of the classes handled, for error messages."""
        table: dict[type, Any] = getattr(self, kind)
        return ", ".join(sorted(t.__name__ for t in table)) or "none"


def install(cls: Any, *, clock: bool) -> Any:
    """Make ``cls`` a process class: called by the ``@process`` decorator."""
    if _RESERVED in cls.__dict__:  # a subclass of a process, installed when it was defined
        cls.__dict__[_RESERVED].clock |= clock
        return cls
    spec = Spec(cls, clock=clock or any(_own_spec_clock(c) for c in cls.__mro__[1:]))
    for name in (*spec.fields, *spec.inner):
        if name in cls.__dict__:
            delattr(cls, name)
    setattr(cls, _RESERVED, spec)
    cls.__init__ = _init
    cls.__repr__ = _repr
    cls.__init_subclass__ = classmethod(_init_subclass)
    return cls


def _own_spec_clock(cls: type) -> bool:
    spec = cls.__dict__.get(_RESERVED)
    return spec is not None and spec.clock


def _init_subclass(cls: type, /, **kwargs: Any) -> None:
    install(cls, clock=False)


def spec_of(cls: type) -> Spec:
    """The declaration of a process class; TypeError for a class that isn't one."""
    spec = cls.__dict__.get(_RESERVED)
    if spec is None:
        raise TypeError(f"{cls.__name__} is not a process: decorate it with @process")
    return cast(Spec, spec)


def _declarations(cls: type) -> dict[str, Any]:
    """Name → Declared, a parameter's default, or ``_MISSING``, bases first, as dataclasses do."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        inherited = base.__dict__.get(_RESERVED)
        if inherited is not None and base is not cls:
            found.update(_redeclared(inherited))
            continue
        for name, annotation in inspect.get_annotations(base).items():
            if "ClassVar" not in str(annotation):
                found[name] = base.__dict__.get(name, _MISSING)
    for name, value in vars(cls).items():
        if name in found:
            found[name] = value
        elif isinstance(value, Declared):
            raise TypeError(
                f"{cls.__name__}.{name} needs a type annotation: {name}: … = {value.kind}(…)"
            )
    for name, value in found.items():
        default = value.default if isinstance(value, Declared) else value
        if isinstance(default, _BAD_DEFAULTS):
            raise TypeError(
                f"{cls.__name__}.{name}: default {default!r} is mutable; "
                "fields hold immutable values (tuple, frozenset, Map, Log, frozen dataclass)"
            )
    return found


def _redeclared(spec: Spec) -> dict[str, Any]:
    again: dict[str, Any] = dict(spec.params)
    for kind in ("durable", "volatile", "inner"):
        again.update({n: Declared(kind, spec.defaults[n]) for n in getattr(spec, kind)})
    order = [*spec.params, *spec.defaults]
    return {n: again[n] for n in order}


def _handler_tables(cls: type) -> dict[str, dict[type, Callable[..., None]]]:
    names: dict[tuple[str, type], str] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            for mark in getattr(member, "__handles__", ()):
                names[mark] = name
    tables: dict[str, dict[type, Callable[..., None]]] = {
        "on": {},
        "on_timer": {},
        "on_operation": {},
        "on_observation": {},
    }
    for (kind, handled), name in names.items():
        tables[kind][handled] = getattr(cls, name)  # an override needs no mark of its own
    return tables


def _reader(fields: tuple[str, ...]) -> Callable[[Any], tuple[object, ...]]:
    parts = "".join(f"p.{name}, " for name in fields)
    made: Callable[[Any], tuple[object, ...]] = eval(f"lambda p: ({parts})")
    return made


def _writer(fields: tuple[str, ...]) -> Callable[[Any, tuple[object, ...]], None]:
    targets = "".join(f"p.{name}, " for name in fields)
    scope: dict[str, Any] = {}
    exec(f"def write(p, values):\n    {f'({targets}) = values' if fields else 'pass'}", scope)
    made: Callable[[Any, tuple[object, ...]], None] = scope["write"]
    return made


def _init(self: Any, **given: Any) -> None:
    spec = spec_of(type(self))
    unknown = [n for n in given if n not in spec.params]
    if unknown:
        state = [n for n in unknown if n in spec.defaults]
        hint = f"; {', '.join(state)} is state, not a parameter" if state else ""
        allowed = ", ".join(spec.params) or "none"
        raise TypeError(
            f"{spec.cls.__name__} has no parameter {', '.join(unknown)} (it takes: {allowed}){hint}"
        )
    for name, default in spec.params.items():
        value = given.get(name, default)
        if value is _MISSING:
            raise TypeError(f"{spec.cls.__name__} needs the parameter {name!r}")
        self.__dict__[name] = value
    for name in spec.fields:
        self.__dict__[name] = spec.defaults[name]
    for name in spec.inner:
        self.__dict__[name] = spec.defaults[name](self)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
    return f"{type(self).__name__}({shown})"


__all__ = ["Inner", "ProtocolError", "Spec", "install", "spec_of"]
