"""How each fault is written: its word, whom it hits, its options. One table, used three times.

`FORMS` says for every fault word which keys may stand beside it and how each is read, written and
described as a JSON Schema. Reading and writing (:mod:`sim.plan`) and the schema
(:mod:`sim.plan_schema`) go through this table, so that they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, get_args

from sim.faults import FAULTS, Disk, DiskKind, Fault, Link
from sim.fields import FieldError, Fields, parse_whole, unknown_name
from sim.plan_targets import (
    Parts,
    Setting,
    parse_ends,
    parse_partition,
    parse_targets,
    write_ends,
    write_partition,
    write_targets,
)
from sim.units import format_duration, parse_duration, parse_probability

__all__ = ["FORMS", "Form", "Option", "Subject", "default_of"]

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """A key beside the fault word: which field it sets, how it is read and written.

    ``shown`` says for which faults the key is written although the field has its default.
    """

    key: str
    field: str
    parse: Callable[[object], Any]
    write: Callable[[Any], object]
    schema: Schema
    allowed: str
    needed: bool = False
    shown: Callable[[Any], bool] = lambda fault: False


@dataclass(frozen=True, slots=True)
class Subject:
    """The value of the fault word itself: whom or what the fault hits."""

    parse: Callable[[object, Setting], Parts]
    write: Callable[[Any], object]
    schema: Schema


@dataclass(frozen=True, slots=True)
class Form:
    """How one fault is written. ``lasting``: it may have an end; ``check`` adds what options
    demand of each other to the mistakes found, ``rules`` says the same in JSON Schema.
    """

    fault: type[Fault]
    subject: Subject
    options: tuple[Option, ...] = ()
    lasting: bool = True
    check: Callable[[Fields], None] = lambda fields: None
    rules: Schema | None = None


def default_of(fault: type[Fault], field: str) -> object:
    """The default of a field, or MISSING, which no value equals."""
    return next(one.default for one in fields(fault) if one.name == field)


# -- kinds of option ------------------------------------------------------------------------------


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _parse_positive(value: object) -> int:
    us = parse_duration(value)
    if us == 0:
        raise FieldError(value, 'a duration above 0 such as "1s"')
    return us


_parse_signed = partial(parse_duration, allow_negative=True)


def _duration(key: str, field: str, *, least: int = 0, **more: Any) -> Option:
    parse = _parse_positive if least else parse_duration
    name = "positive_duration" if least else "duration"
    return Option(key, field, parse, format_duration, _ref(name), 'a duration, "1s"', **more)


def _signed(key: str, field: str) -> Option:
    allowed = 'a duration such as "100ms" or "-100ms"'
    schema = _ref("signed_duration")
    return Option(key, field, _parse_signed, format_duration, schema, allowed, needed=True)


def _whole(key: str, least: int, allowed: str, *, needed: bool = False) -> Option:
    schema = {"type": "integer", "minimum": least}
    return Option(key, key, partial(parse_whole, least=least), int, schema, allowed, needed)


def _probability(key: str, **more: Any) -> Option:
    allowed = 'a probability such as "10%"'
    return Option(
        key, key, parse_probability, write_probability, _ref("probability"), allowed, **more
    )


def write_probability(share: float) -> object:
    """A text such as "10%" where that is exactly ``share``, the number itself otherwise."""
    text = f"{share * 100:.10f}".rstrip("0").rstrip(".") + "%"
    try:
        return text if parse_probability(text) == share else share
    except FieldError:
        return share


def _flag(key: str) -> Option:
    def parse(value: object) -> bool:
        if not isinstance(value, bool):
            raise FieldError(value, "true or false")
        return value

    return Option(key, key, parse, bool, {"type": "boolean"}, "true or false")


def _choice(key: str, field: str, names: tuple[str, ...], *, needed: bool = False) -> Option:
    def parse(value: object) -> object:
        if value not in names:
            raise unknown_name(value, names, f"{key}")
        return value

    allowed = f"one of {', '.join(names)}"
    return Option(key, field, parse, str, {"enum": list(names)}, allowed, needed)


# -- what options demand of each other ------------------------------------------------------------

EFFECTS = ("loss", "delay", "jitter", "duplicate", "corrupt", "reorder")
# A second copy of a message is late by up to reorder_by as well.
_BESIDE = {"corrupt_mode": ("corrupt",), "reorder_by": ("reorder", "duplicate")}


def _check_link(fields: Fields) -> None:
    given = fields.value
    if not any(effect in given for effect in EFFECTS):
        allowed = f"at least one of {', '.join(EFFECTS)} beside link"
        fields.errors.append(FieldError(None, allowed, hint="add loss: 10%"))
    for key, others in _BESIDE.items():
        if key in given and not any(other in given for other in others):
            allowed = f"{key} only beside {' or '.join(others)}"
            error = FieldError(given[key], allowed, path=(key,))
            fields.errors.append(error)


def _check_disk(fields: Fields) -> None:
    given, kind = fields.value, fields.value.get("fault")
    if kind == "slow" and "delay" not in given:
        allowed = 'a duration such as "20ms", added to each sync'
        fields.errors.append(FieldError(None, allowed, path=("delay",), hint="add this key"))
    for key, only in (("delay", "slow"), ("detected", "corrupt")):
        if key in given and kind != only:
            error = FieldError(given[key], f"{key} only beside fault: {only}", path=(key,))
            fields.errors.append(error)
    stays = "wipe happens at one moment" if kind == "wipe" else "damage nobody detects stays"
    for key in ("until", "for"):
        if key in given and (kind == "wipe" or given.get("detected") is False):
            fields.errors.append(FieldError(given[key], f"no end: {stays}", path=(key,)))


def _no_effect(fault: Link) -> bool:
    return not any((fault.loss, fault.delay_us, fault.jitter_us, fault.duplicate)) and not any(
        (_corrupts(fault), _reorders(fault))
    )


def _corrupts(fault: Link) -> bool:
    return bool(fault.corrupt) or fault.corrupt_mode != "drop"


def _reorders(fault: Link) -> bool:
    if fault.reorder or fault.duplicate:
        return bool(fault.reorder)
    return fault.reorder_us != default_of(Link, "reorder_us")


def _slow_disk(fault: Disk) -> bool:
    return fault.kind == "slow"


def _only(key: str, value: str) -> Schema:
    """JSON Schema: ``key`` may stand only where ``fault`` is ``value``."""
    return {"if": {"required": [key]}, "then": {"properties": {"fault": {"const": value}}}}


_LINK_RULES: Schema = {
    "anyOf": [{"required": [effect]} for effect in EFFECTS],
    "dependentSchemas": {
        key: {"anyOf": [{"required": [other]} for other in others]}
        for key, others in _BESIDE.items()
    },
}
_ENDLESS: Schema = {"properties": {"until": False, "for": False}}
_DISK_RULES: Schema = {
    "allOf": [
        {"if": {"properties": {"fault": {"const": "slow"}}}, "then": {"required": ["delay"]}},
        _only("delay", "slow"),
        _only("detected", "corrupt"),
        {"if": {"properties": {"fault": {"const": "wipe"}}}, "then": _ENDLESS},
        {
            "if": {"properties": {"detected": {"const": False}}, "required": ["detected"]},
            "then": _ENDLESS,
        },
    ]
}

# -- the table ------------------------------------------------------------------------------------


def _parse_all(value: object, setting: Setting) -> Parts:
    if value != "all":
        raise FieldError(value, "all", hint="a single hold ends at its until")
    return {}


TARGETS = Subject(
    lambda value, setting: {"targets": parse_targets(value, setting)},
    lambda fault: write_targets(fault.targets),
    _ref("targets"),
)
PARTITION = Subject(parse_partition, write_partition, _ref("partition"))
ENDS = Subject(parse_ends, write_ends, _ref("ends"))
EVERYTHING = Subject(_parse_all, lambda fault: "all", {"const": "all"})

_LINK_OPTIONS = (
    _probability("loss", shown=_no_effect),
    _duration("delay", "delay_us"),
    _duration("jitter", "jitter_us"),
    _probability("duplicate"),
    _probability("corrupt", shown=_corrupts),
    _choice("corrupt_mode", "corrupt_mode", ("drop", "deliver")),
    _probability("reorder", shown=_reorders),
    _duration("reorder_by", "reorder_us"),
    _flag("both"),
)
_DISK_OPTIONS = (
    _choice("fault", "kind", get_args(DiskKind), needed=True),
    _duration("delay", "delay_us", shown=_slow_disk),
    _flag("detected"),
)
_UP_DOWN = (
    _duration("up", "up_us", least=1, needed=True),
    _duration("down", "down_us", least=1, needed=True),
)
_FACTOR = _whole("factor", 1, "a whole number, at least 1", needed=True)
_ESCAPE = _whole("escape", 0, "a whole number of messages, at least 0")
# A clock that loses a million µs per second stands still, and its timers never end.
_PPM = _whole("ppm", -999_999, "µs gained per second, a whole number such as 200", needed=True)


def _form(word: str, *options: Option, subject: Subject = TARGETS, **more: Any) -> Form:
    return Form(FAULTS[word], subject, options, **more)


FORMS: Mapping[str, Form] = {
    "crash": _form("crash", _ESCAPE),
    "recover": _form("recover", lasting=False),
    "crash_loop": _form("crash_loop", *_UP_DOWN),
    "pause": _form("pause"),
    "resume": _form("resume", lasting=False),
    "slow": _form("slow", _FACTOR),
    "clock_offset": _form("clock_offset", _signed("by", "by_us")),
    "clock_drift": _form("clock_drift", _PPM),
    "clock_step": _form("clock_step", _signed("by", "by_us"), lasting=False),
    "partition": _form("partition", _flag("keep_in_flight"), subject=PARTITION),
    "link": _form("link", *_LINK_OPTIONS, subject=ENDS, check=_check_link, rules=_LINK_RULES),
    "hold": _form("hold", _flag("both"), subject=ENDS),
    "release": _form("release", subject=EVERYTHING, lasting=False),
    "disk": _form("disk", *_DISK_OPTIONS, check=_check_disk, rules=_DISK_RULES),
}
"""For every word of :data:`sim.faults.FAULTS`: how the fault is written."""
