"""Parameters by their annotation: how a value from a scenario file becomes ``int`` or ``Mode``.

`parse_as` reads a value for an annotation, `schema_as` says the same as a JSON Schema. A parameter
``x_us`` is a time: it is written ``x``, as a duration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from protocols.values import Map
from sim.fields import FieldError, FieldErrors, unknown_name
from sim.units import parse_duration, parse_probability

__all__ = ["field_name", "parse_as", "schema_as", "written_name"]

_US = "_us"
_A_DURATION = 'a duration such as "150ms"'
_A_RANGE = 'a range of durations such as "100ms..200ms"'


def written_name(name: str) -> str:
    """How a parameter is called in a scenario file: ``interval_us`` is ``interval``."""
    return name.removesuffix(_US)


def field_name(written: str, known: Mapping[str, Any]) -> str | None:
    """The parameter that a key of a scenario file means; None if there is none."""
    if written + _US in known:
        return written + _US
    return written if written in known and not written.endswith(_US) else None


def parse_as(annotation: Any, value: object, *, duration: bool = False) -> Any:
    """``value`` as the annotation wants it; FieldError says what it wants."""
    return _reader(annotation, duration)(value)


def _reader(annotation: Any, duration: bool) -> Callable[[object], Any]:
    if annotation is Any or annotation is object:
        return frozen
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return partial(_one_of, args, duration)
    if origin is Literal:
        return partial(_literal, args)
    if origin is tuple or annotation is tuple:
        return partial(_tuple, args or (Any, ...), duration)
    if origin is frozenset:
        return partial(_frozenset, args[0], duration)
    if origin in (Map, Mapping):
        return partial(_map, args[1], duration)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return partial(_enum, annotation)
    if annotation is int and duration:
        return parse_duration
    return _PLAIN.get(annotation) or _unwritable(annotation)


def _unwritable(annotation: Any) -> Callable[[object], Any]:
    def refuse(value: object) -> Any:
        allowed = f"what a scenario file cannot say ({_name(annotation)})"
        raise FieldError(value, allowed, hint="let the protocol define scenario_parameters")

    return refuse


def _name(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)


def frozen(value: object) -> Any:
    """Any plain value as an immutable one: lists become tuples, mappings Maps."""
    if isinstance(value, (list, tuple)):
        return tuple(map(frozen, value))
    if isinstance(value, Mapping):
        return Map({str(key): frozen(one) for key, one in value.items()})
    return value


# -- readers --------------------------------------------------------------------------------------


def _none(value: object) -> None:
    if value is not None:
        raise FieldError(value, "null")


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise FieldError(value, "a whole number")


def _number(value: object) -> float:
    if isinstance(value, str):
        try:
            return parse_probability(value)
        except FieldError:
            raise FieldError(value, 'a number such as 0.5 or a share such as "50%"') from None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise FieldError(value, "a number such as 0.5")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise FieldError(value, "true or false")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    hint = f'put it in quotes: "{value}"' if isinstance(value, (int, float)) else ""
    raise FieldError(value, "a text", hint=hint)


def _literal(options: tuple[Any, ...], value: object) -> Any:
    for option in options:
        if value == option and type(value) is type(option):
            return option
    raise unknown_name(value, map(str, options), "one of")


def _enum(cls: type[Enum], value: object) -> Enum:
    word = value.lower().replace("-", "_") if isinstance(value, str) else None
    for member in cls:
        if member.name.lower() == word or (value == member.value and value is not None):
            return member
    raise unknown_name(value, (member.name.lower() for member in cls), f"a {cls.__name__}")


def _items(value: object) -> list[object] | tuple[object, ...]:
    if isinstance(value, (list, tuple)):
        return value
    raise FieldError(value, "a list")


def _each(readers: list[Callable[[object], Any]], values: Any) -> tuple[Any, ...]:
    found: list[Any] = []
    errors: list[FieldError] = []
    for index, (read, one) in enumerate(zip(readers, values, strict=True)):
        try:
            found.append(read(one))
        except FieldError as error:
            errors.append(error.under(index))
    if errors:
        raise FieldErrors(errors)
    return tuple(found)


def _tuple(args: tuple[Any, ...], duration: bool, value: object) -> tuple[Any, ...]:
    if duration and args == (int, int):
        return _range(value)
    values = _items(value)
    if len(args) == 2 and args[1] is ...:
        return _each([_reader(args[0], duration)] * len(values), values)
    if len(values) != len(args):
        raise FieldError(value, f"a list of {len(args)} values")
    return _each([_reader(one, duration) for one in args], values)


def _range(value: object) -> tuple[int, int]:
    """Two durations: ``[100ms, 200ms]`` or ``100ms..200ms``."""
    ends = value.split("..") if isinstance(value, str) else value
    if not isinstance(ends, (list, tuple)) or len(ends) != 2:
        raise FieldError(value, _A_RANGE)
    low, high = _each([parse_duration] * 2, ends)
    if low > high:
        raise FieldError(value, _A_RANGE, hint="the smaller one first")
    return low, high


def _frozenset(item: Any, duration: bool, value: object) -> frozenset[Any]:
    values = _items(value)
    return frozenset(_each([_reader(item, duration)] * len(values), values))


def _map(item: Any, duration: bool, value: object) -> Map[str, Any]:
    if not isinstance(value, Mapping):
        raise FieldError(value, "a mapping")
    read = _reader(item, duration)
    found: dict[str, Any] = {}
    errors: list[FieldError] = []
    for key, one in value.items():
        try:
            found[str(key)] = read(one)
        except FieldError as error:
            errors.append(error.under(str(key)))
    if errors:
        raise FieldErrors(errors)
    return Map(found)


def _one_of(options: tuple[Any, ...], duration: bool, value: object) -> Any:
    if value is None and NoneType in options:
        return None
    others = [one for one in options if one is not NoneType]
    errors: list[FieldError] = []
    for option in others:
        try:
            return parse_as(option, value, duration=duration)
        except FieldError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    raise FieldError(value, " or ".join(dict.fromkeys(error.allowed for error in errors)))


_PLAIN: Mapping[Any, Callable[[object], Any]] = {
    NoneType: _none,
    None: _none,
    int: _whole,
    float: _number,
    bool: _flag,
    str: _text,
}

# -- the same as a JSON Schema --------------------------------------------------------------------

Schema = dict[str, Any]
_DURATION: Schema = {"$ref": "#/$defs/duration"}
_SCHEMAS: Mapping[Any, Schema] = {
    NoneType: {"type": "null"},
    None: {"type": "null"},
    int: {"type": "integer"},
    float: {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/probability"}]},
    bool: {"type": "boolean"},
    str: {"type": "string"},
}


def schema_as(annotation: Any, *, duration: bool = False) -> Schema:
    """The JSON Schema of what `parse_as` reads (it may allow more, never less)."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return {"anyOf": [schema_as(one, duration=duration) for one in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return _tuple_schema(args, duration)
    if origin is frozenset:
        return {"type": "array", "items": schema_as(args[0], duration=duration)}
    if origin in (Map, Mapping):
        return {
            "type": "object",
            "additionalProperties": schema_as(args[1], duration=duration),
        }
    if annotation is int and duration:
        return _DURATION
    return _SCHEMAS.get(annotation, {})


def _tuple_schema(args: tuple[Any, ...], duration: bool) -> Schema:
    if len(args) == 2 and args[1] is ...:
        return {"type": "array", "items": schema_as(args[0], duration=duration)}
    items = [schema_as(one, duration=duration) for one in args]
    size = len(items)
    made: Schema = {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}
    if duration and args == (int, int):
        return {"anyOf": [made, {"type": "string", "pattern": r"\.\."}]}
    return made
