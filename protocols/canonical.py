"""Canonical forms of values: bytes for digests, plain data for traces, and the immutability check.

``encode`` is injective over the values that fields and messages may hold: two values have the
same bytes exactly if they are equal and of the same types. It depends on no hash order.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from enum import Enum
from typing import Any

from protocols.values import Log, Map

LEAVES: frozenset[type] = frozenset({int, str, bool, type(None), float, bytes})
_INSTEAD: dict[type, str] = {
    list: "a tuple or a Log",
    dict: "a Map",
    set: "a frozenset",
    bytearray: "bytes",
}


def is_value_class(cls: type) -> bool:
    """True for a frozen dataclass, whose instances are immutable if their fields are."""
    params = getattr(cls, "__dataclass_params__", None)
    return params is not None and bool(params.frozen)


def why_mutable(value: object) -> str | None:
    """Say why ``value`` may not be held by a field or a message; None if it may.

    Allowed: None, bool, int, float, str, bytes, Enum, and tuples, frozensets, frozen
    dataclasses, :class:`Log` and :class:`Map` of such values.
    """
    cls = type(value)
    if cls in LEAVES or isinstance(value, Enum | range):
        return None
    if isinstance(value, tuple | frozenset):
        return _first_problem(value)
    if isinstance(value, Log):
        return _first_problem(value[value.last_index :])  # older entries were checked when appended
    if isinstance(value, Map):
        return None  # keys are hashable; values were checked when they were fields or messages
    if is_value_class(cls):
        return _first_problem(getattr(value, f.name) for f in dataclasses.fields(value))  # type: ignore[arg-type]
    return f"a {cls.__name__} is mutable; use {_INSTEAD.get(cls, 'a frozen dataclass')}"


def _first_problem(values: Any) -> str | None:
    for value in values:
        problem = why_mutable(value)
        if problem:
            return problem
    return None


def shallow_immutable(cls: type) -> bool:
    """Whether values of ``cls`` can be immutable at all (the cheap check, once per type)."""
    if cls in LEAVES or issubclass(cls, Enum | tuple | frozenset | Log | Map | range):
        return True
    return is_value_class(cls)


def encode(value: object) -> bytes:
    """Canonical bytes of ``value``. Raises TypeError for a value that isn't allowed."""
    out: list[bytes] = []
    _encode(value, out.append)
    return b"".join(out)


def digest(value: object) -> str:
    """128-bit BLAKE2b of the canonical bytes, in hex."""
    return hashlib.blake2b(encode(value), digest_size=16).hexdigest()


def _encode(value: object, put: Callable[[bytes], object]) -> None:
    encoder = _ENCODERS.get(type(value))
    if encoder is None:
        encoder = _ENCODERS[type(value)] = _encoder_for(value)
    encoder(value, put)


def _text(tag: bytes, data: bytes) -> bytes:
    return b"%b%d:%b" % (tag, len(data), data)


def _encode_all(tag: bytes, values: Any, put: Callable[[bytes], object]) -> None:
    put(tag)
    for value in values:
        _encode(value, put)
    put(b")")


def _encode_set(value: Any, put: Callable[[bytes], object]) -> None:
    put(b"S(")
    for part in sorted(encode(member) for member in value):
        put(part)
    put(b")")


def _encode_map(value: Any, put: Callable[[bytes], object]) -> None:
    put(b"M(")
    for key, item in sorted((encode(k), encode(v)) for k, v in value._map.items()):
        put(key)
        put(item)
    put(b")")


_ENCODERS: dict[type, Callable[[Any, Callable[[bytes], object]], object]] = {
    type(None): lambda v, put: put(b"n"),
    bool: lambda v, put: put(b"t" if v else b"f"),
    int: lambda v, put: put(b"i%d;" % v),
    float: lambda v, put: put(b"d%b;" % v.hex().encode()),
    str: lambda v, put: put(_text(b"s", v.encode("utf-8", "surrogatepass"))),
    bytes: lambda v, put: put(_text(b"b", v)),
    tuple: lambda v, put: _encode_all(b"T(", v, put),
    range: lambda v, put: _encode_all(b"R(", (v.start, v.stop, v.step), put),
    frozenset: _encode_set,
    Map: _encode_map,
    Log: lambda v, put: _encode_all(b"L%d(" % v.first, v, put),
}


def _encoder_for(value: object) -> Callable[[Any, Callable[[bytes], object]], object]:
    cls = type(value)
    if isinstance(value, Enum):
        name = cls.__qualname__
        return lambda v, put: put(_text(b"e", f"{name}.{v.name}".encode()))
    if is_value_class(cls):
        head = _text(b"c", cls.__qualname__.encode()) + b"("
        names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
        return lambda v, put: _encode_all(head, [getattr(v, n) for n in names], put)
    raise TypeError(f"cannot encode {value!r}: {why_mutable(value) or 'unknown kind of value'}")


def plain(value: object) -> Any:
    """The value as JSON-like data for traces: a frozen dataclass becomes ``{"$": name, …}``."""
    cls = type(value)
    converter = _PLAIN.get(cls)
    if converter is None:
        if cls in LEAVES:
            return value.hex() if isinstance(value, bytes) else value
        converter = _PLAIN[cls] = _plain_for(cls)
    return converter(value)


_PLAIN: dict[type, Callable[[Any], Any]] = {
    tuple: lambda v: [plain(x) for x in v],
    Log: lambda v: {"first": v.first, "entries": [plain(x) for x in v]},
    Map: lambda v: {str(k): plain(x) for k, x in v.items()},
    frozenset: lambda v: [plain(x) for x in sorted(v, key=encode)],
    range: lambda v: [v.start, v.stop, v.step],
}


def _plain_for(cls: type) -> Callable[[Any], Any]:
    if issubclass(cls, Enum):
        return lambda v: v.name.lower()
    if not is_value_class(cls):
        raise TypeError(f"{cls.__name__} cannot be shown in a trace: it is not a value class")
    names = [f.name for f in dataclasses.fields(cls)]  # type: ignore[arg-type]
    parts = ", ".join(f"{n!r}: v.{n} if type(v.{n}) in leaves else plain(v.{n})" for n in names)
    leaves = LEAVES - {bytes}
    scope: dict[str, Any] = {"leaves": leaves, "plain": plain}
    # One generated expression per message class: a trace line costs what its fields cost.
    body = f"lambda v: {{'$': {cls.__name__!r}{', ' + parts if parts else ''}}}"
    made: Callable[[Any], Any] = eval(body, scope)
    return made
