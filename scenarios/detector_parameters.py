"""The detectors of a heartbeat process, as a scenario file writes them.

    detectors:
      fixed: {use: fixed, timeout: 3s}
      phi: {use: akka, threshold: 8}

``use`` names a kind of :data:`protocols.detectors.catalogue.KINDS` and may be left out where the
detector's own name is one. Parameters are those of the kind; ``x_us`` is written ``x: 1s``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocols.detectors.catalogue import _REQUIRED, KINDS, estimator
from protocols.detectors.estimator import Estimator
from scenarios.annotations import field_name, written_name
from sim.fields import FieldError, FieldErrors, unknown_name
from sim.units import parse_duration

__all__ = ["detectors_schema", "parse_detectors"]

_EXAMPLE = "a mapping such as {fixed: {timeout: 3s}, phi: {use: akka, threshold: 8}}"
_OPTIONS = "a mapping such as {use: akka, threshold: 8}"


def parse_detectors(value: object) -> tuple[tuple[str, Estimator], ...]:
    """(name, fresh estimator) pairs, in the order of the file; FieldErrors with all mistakes."""
    if not isinstance(value, Mapping) or not value:
        raise FieldError(value, _EXAMPLE)
    found: list[tuple[str, Estimator]] = []
    errors: list[FieldError] = []
    for name, options in value.items():
        try:
            found.append((str(name), _parse_one(str(name), options)))
        except FieldError as error:
            errors.append(error.under(str(name)))
    if errors:
        raise FieldErrors(errors)
    return tuple(found)


def _parse_one(name: str, options: object) -> Estimator:
    if not isinstance(options, Mapping):
        raise FieldError(options, _OPTIONS)
    kind = options.get("use", name)
    if not isinstance(kind, str) or kind not in KINDS:
        path = ("use",) if "use" in options else ()
        raise unknown_name(kind, KINDS, "use: a kind of detector", path)
    takes = KINDS[kind][1]
    given: dict[str, object] = {}
    errors: list[FieldError] = []
    for key, value in options.items():
        try:
            if key != "use":
                given.update([_parameter(kind, key, value, takes)])
        except FieldError as error:
            errors.append(error)
    needed = [name for name, default in takes.items() if default is _REQUIRED]
    for key in map(written_name, needed):
        if key not in options:
            allowed = f"a value, {kind} has no default"
            errors.append(FieldError(None, allowed, path=(key,), hint="add this parameter"))
    if errors:
        raise FieldErrors(errors)
    return _made(kind, given, options)


def _parameter(
    kind: str, key: str, value: object, takes: Mapping[str, object]
) -> tuple[str, object]:
    name = field_name(key, takes)
    if name is None:
        known = ("use", *map(written_name, takes))
        raise unknown_name(key, known, f"the parameters of {kind}", (key,))
    if not name.endswith("_us") or value is None:
        return name, value
    try:
        return name, parse_duration(value)
    except FieldError as error:
        raise error.under(key) from None


def _made(kind: str, given: dict[str, Any], options: Mapping[str, object]) -> Estimator:
    try:
        return estimator(kind, **given)
    except FieldError:
        raise
    except (TypeError, ValueError) as error:
        told = str(error)
        guilty = [name for name in given if name in told]
        path = (written_name(guilty[0]),) if guilty else ()
        wrong = options[path[0]] if path else dict(options)
        raise FieldError(wrong, f"what {kind} takes ({told})", path=path) from None


def detectors_schema() -> dict[str, Any]:
    """The JSON Schema of `parse_detectors`: which parameters there are, not which go together."""
    durations = {"anyOf": [{"$ref": "#/$defs/duration"}, {"type": "null"}]}
    names = {name for _, takes in KINDS.values() for name in takes}
    properties = {
        written_name(name): durations if name.endswith("_us") else {} for name in sorted(names)
    }
    options = {
        "type": "object",
        "properties": {"use": {"enum": list(KINDS)}, **properties},
        "additionalProperties": False,
    }
    return {"type": "object", "minProperties": 1, "additionalProperties": options}
