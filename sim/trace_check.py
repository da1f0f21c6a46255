"""What a trace must look like, line by line: the header, each kind of event, the end.

The rules of ``docs/trace.md`` as tables. :mod:`sim.trace_read` calls :func:`check_header`,
:class:`EventChecker` and :func:`check_end`; each raises :class:`TraceError` without a line
number, which the reader adds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sim.fields import did_you_mean

FORMAT = 1
"""The only version of the format so far, in the header under ``splitbrain_trace``."""

STEPS = ("start", "message", "timer", "operation")
"""Kinds of events that are steps of a process."""
WIRE = ("drop", "duplicate", "delay", "hold", "corrupt")
"""Kinds of events on the wire; their ``node`` is the destination of the message."""
NODE = ("crash", "recover", "pause", "resume", "clock", "disk", "join", "leave")
"""Kinds of events that happen to a node."""
ENVIRONMENT = ("fault", "heal")
"""Kinds of events without a node: a fault of the plan begins or ends."""
KINDS = STEPS + WIRE + NODE + ENVIRONMENT
"""All kinds of events."""

Event = dict[str, Any]
_NOTHING = object()


class TraceError(ValueError):
    """A trace that cannot be read: where, what was ``given``, what is ``allowed``, a ``hint``.

    ``line`` counts from 1 and is 0 where no line is to blame; ``field`` is a dotted name or "".
    """

    def __init__(
        self,
        problem: str,
        field: str = "",
        given: str = "",
        allowed: str = "",
        hint: str = "",
        *,
        line: int = 0,
        path: str = "",
    ) -> None:
        self.problem, self.field, self.given = problem, field, given
        self.allowed, self.hint = allowed, hint
        self.line, self.path = line, path
        super().__init__(self._message())

    def at(self, line: int, path: str) -> TraceError:
        """The same mistake, on that line of that file."""
        return _rebuild(self.problem, self.field, self.given, self.allowed, self.hint, line, path)

    def _message(self) -> str:
        place = ", ".join(filter(None, [self.path, f"line {self.line}" if self.line else ""]))
        parts = [": ".join(filter(None, [place, self.problem]))]
        if self.field:
            parts.append(f"field {self.field!r}")
        if self.given:
            parts.append(f"given {self.given}")
        if self.allowed:
            parts.append(f"allowed: {self.allowed}")
        return ", ".join(parts) + (f"; {self.hint}" if self.hint else "")

    def __reduce__(self) -> tuple[object, ...]:
        what = (self.problem, self.field, self.given, self.allowed, self.hint)
        return _rebuild, (*what, self.line, self.path)


def _rebuild(*parts: Any) -> TraceError:
    return TraceError(*parts[:5], line=parts[5], path=parts[6])


def shown(value: object) -> str:
    """A value as an error shows it: short, on one line, and printable whatever it holds."""
    if value is _NOTHING:
        return "nothing"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = ascii(value[:80] if isinstance(value, str) else value)
    return text if len(text) <= 80 else f"{text[:77]}..."


# -- fields -------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """What a field may hold: a type (None: any) and a test, in words; an optional one may lack."""

    type: type | None
    allowed: str
    holds: Callable[[Any], bool] | None = None
    optional: bool = False


def _all_objects(value: list[Any]) -> bool:
    return all(type(part) is dict for part in value)


def _are_names(value: list[Any]) -> bool:
    return all(type(name) is str for name in value) and len(dict.fromkeys(value)) == len(value)


COUNT = Rule(int, "a whole number, at least 0", lambda v: v >= 0)
INTEGER = Rule(int, "a whole number")
TEXT = Rule(str, "a text")
OBJECT = Rule(dict, "an object")
OBJECT_OR_NULL = Rule(None, "an object or null", lambda v: v is None or type(v) is dict)
OBJECTS = Rule(list, "a list of objects", _all_objects)
NAMES = Rule(list, "a list of different names", _are_names)
ANYTHING = Rule(None, "any value")
OUTCOME = Rule(str, "ok, fail or info", lambda v: v in ("ok", "fail", "info"))

_HEADER = {
    "version": TEXT,
    "scenario": OBJECT_OR_NULL,
    "name": TEXT,
    "seed": INTEGER,
    "nodes": NAMES,
    "parameters": OBJECT,
    "plan": OBJECTS,
    "code": TEXT,
}
_STEP = {"delta": OBJECT._replace(optional=True), "effects": OBJECTS._replace(optional=True)}
_SENT = {"src": TEXT, "index": COUNT, "value": ANYTHING}
_BY = COUNT._replace(optional=True)
_FAULT = {"fault": COUNT, "text": TEXT}
_FIELDS: dict[str, dict[str, Rule]] = {
    "start": _STEP,
    "message": {**_SENT, **_STEP},
    "timer": {"value": ANYTHING, **_STEP},
    "operation": {"operation": COUNT, "value": ANYTHING, **_STEP},
    "drop": {**_SENT, "reason": TEXT},
    "duplicate": {**_SENT, "by": _BY},
    "delay": {**_SENT, "by": COUNT},
    "hold": {**_SENT, "by": _BY},
    "corrupt": _SENT,
    **{kind: {} for kind in NODE},
    "fault": _FAULT,
    "heal": _FAULT,
}
_EFFECTS: dict[str, dict[str, Rule]] = {
    "send": {"send": TEXT, "value": ANYTHING},
    "set": {"after": COUNT},
    "cancel": {},
    "observe": {},
    "reply": {"reply": COUNT, "outcome": OUTCOME, "value": ANYTHING},
}
_END = {"t": COUNT, "events": COUNT, "digest": TEXT}


def _check(value: Mapping[str, Any], rules: Mapping[str, Rule], what: str, at: str = "") -> None:
    for name, (kind, allowed, holds, optional) in rules.items():
        found = value.get(name, _NOTHING)
        if found is _NOTHING and optional:
            continue
        right = type(found) is kind if kind is not None else found is not _NOTHING
        if not right or (holds is not None and not holds(found)):
            raise TraceError(what, at + name, shown(found), allowed)


# -- header and end -----------------------------------------------------------------------------


def check_header(value: object) -> dict[str, Any]:
    """The header itself, if it is one of this version; TraceError otherwise."""
    if not isinstance(value, dict) or "splitbrain_trace" not in value:
        hint = "a trace begins with its header; is this file a trace?"
        raise TraceError(
            "not a header", "", shown(value), 'an object with "splitbrain_trace"', hint
        )
    version = value["splitbrain_trace"]
    if type(version) is not int or version != FORMAT:
        newer = type(version) is int and version > FORMAT
        hint = "read it with a newer splitbrain" if newer else "record the run again"
        what = "unknown version of the trace format"
        raise TraceError(what, "splitbrain_trace", shown(version), str(FORMAT), hint)
    _check(value, _HEADER, "bad header")
    return value


def check_end(end: object, *, events: int, t: int, digest: str) -> int:
    """The end of the run in µs, if the end line fits what was read; TraceError otherwise."""
    if not isinstance(end, dict):
        raise TraceError("bad end line", "end", shown(end), OBJECT.allowed)
    _check(end, _END, "bad end line", "end.")
    wrong = "the end line does not fit"
    if end["events"] != events:
        allowed, hint = f"{events}, the events in the file", "lines were lost or added"
        raise TraceError(wrong, "end.events", shown(end["events"]), allowed, hint)
    if end["t"] < t:
        allowed = f"at least {t}, the time of the last event"
        raise TraceError(wrong, "end.t", shown(end["t"]), allowed)
    if end["digest"] != digest:
        hint = "the file was changed after it was recorded (an editor? other line endings?)"
        allowed = f"{digest}, the digest of the lines"
        raise TraceError(wrong, "end.digest", shown(end["digest"]), allowed, hint)
    return int(end["t"])


# -- events -------------------------------------------------------------------------------------


class EventChecker:
    """Checks events one after the other; remembers which of them were steps of which node."""

    def __init__(self) -> None:
        self.count = 0
        self.t = 0
        self._stepped: list[str | None] = []  # by id: the node, if the event is a step

    def check(self, event: object) -> Event:
        """The event itself, if it is the right one to come next; TraceError otherwise."""
        if not isinstance(event, dict):
            raise TraceError("not an event", "", shown(event), "an object")
        self._check_order(event)
        kind = _check_kind(event)
        what = f"bad {kind} event"
        node = event.get("node", _NOTHING)
        if (node is not None) if kind in ENVIRONMENT else (type(node) is not str or not node):
            allowed = "null" if kind in ENVIRONMENT else "the name of a node"
            raise TraceError(what, "node", shown(node), allowed)
        _check(event, _FIELDS[kind], what)
        for number, effect in enumerate(event.get("effects", ())):
            _check_effect(effect, number)
        self._check_cause(event, kind, what)
        self._stepped.append(event["node"] if kind in STEPS else None)
        self.count += 1
        self.t = event["t"]
        return event

    def _check_order(self, event: Event) -> None:
        number, t = event.get("id", _NOTHING), event.get("t", _NOTHING)
        if type(number) is not int or number != self.count:
            hint = "ids count the events from 0 without gaps"
            raise TraceError("bad event", "id", shown(number), str(self.count), hint)
        if type(t) is not int or t < self.t:
            allowed = f"a whole number of µs, at least {self.t}, the time of the event before"
            raise TraceError("bad event", "t", shown(t), allowed)

    def _check_cause(self, event: Event, kind: str, what: str) -> None:
        cause = event.get("cause", _NOTHING)
        if cause is None:
            return
        if type(cause) is not int or not 0 <= cause < self.count:
            before = f"the id of an earlier event (0 to {self.count - 1}) or null"
            allowed = before if self.count else "null, as there is no earlier event"
            raise TraceError(what, "cause", shown(cause), allowed)
        if kind == "timer":
            self._check_step(event, what, event["node"], "set the timer")
        elif kind == "message" or kind in WIRE:
            self._check_step(event, what, event["src"], "sent the message")

    def _check_step(self, event: Event, what: str, node: str, did: str) -> None:
        found = self._stepped[event["cause"]]
        if found != node:
            given = "no step" if found is None else f"a step of {shown(found)}"
            allowed = f"the step of {shown(node)} that {did}, or null"
            raise TraceError(what, "cause", f"{event['cause']}, {given}", allowed)


def _check_kind(event: Event) -> str:
    kind = event.get("kind", _NOTHING)
    if isinstance(kind, str) and kind in _FIELDS:
        return kind
    hint = did_you_mean(kind, KINDS) if isinstance(kind, str) and len(kind) < 40 else ""
    raise TraceError("unknown kind of event", "kind", shown(kind), ", ".join(KINDS), hint)


def _check_effect(effect: Event, number: int) -> None:
    field = f"effects[{number}]"
    names = [name for name in effect if name in _EFFECTS]
    if len(names) != 1:
        given = " and ".join(names) or "none of them"
        allowed = "exactly one of " + ", ".join(_EFFECTS)
        raise TraceError("bad effect", field, given, allowed)
    _check(effect, _EFFECTS[names[0]], "bad effect", field + ".")
