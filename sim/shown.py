"""Values as JSON text, quickly: what a trace line holds of a message, a timer or a field.

``shown(v)`` is the JSON of ``plain(v)``. For value classes whose fields are ints, texts and truth
values, the bulk of any trace, the text is put together directly, by one generated function a
class; everything else goes through ``plain`` and the JSON encoder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from json.encoder import encode_basestring as quoted
from typing import Any

import msgspec

from protocols.canonical import is_value_class, plain

__all__ = ["quoted", "shown", "to_text"]

_encode = msgspec.json.Encoder().encode
_SHOWN: dict[type, Callable[[Any], str]] = {
    int: str,
    str: quoted,
    bool: lambda v: "true" if v else "false",
    type(None): lambda v: "null",
}


def to_text(data: Any) -> str:
    """JSON text of plain data."""
    return _encode(data).decode()


def shown(value: object) -> str:
    """JSON text of ``value`` as a trace shows it."""
    function = _SHOWN.get(type(value))
    if function is None:
        function = _SHOWN[type(value)] = _function_for(type(value))
    return function(value)


def _function_for(cls: type) -> Callable[[Any], str]:
    if not is_value_class(cls):
        return lambda v: to_text(plain(v))
    names = [f.name for f in dataclasses.fields(cls)]
    parts = "".join(
        f',"{name}":{{v.{name} if type(v.{name}) is int else shown(v.{name})}}' for name in names
    )
    text = f"lambda v: f'{{{{\"$\":{quoted(cls.__name__)}{parts}}}}}'"
    made: Callable[[Any], str] = eval(text, {"shown": shown})
    return made
