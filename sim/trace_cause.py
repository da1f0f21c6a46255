"""Which input made two runs part: the nearest difference that explains their first other event.

Inputs are what the events before do not decide: how long a message takes, whether it is lost,
what a timer draws, which faults are in the plan, what the code does with an event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec

from sim.trace_check import ENVIRONMENT, STEPS, WIRE, Event
from sim.trace_read import Trace
from sim.trace_text import format_value
from sim.units import format_duration

__all__ = ["reason_of"]

_encode = msgspec.json.Encoder(order="sorted").encode


def reason_of(a: Trace, b: Trace, at: int, fields: Sequence[str]) -> str:
    """Why ``a`` and ``b`` part at event ``at``, where ``fields`` differ, in one sentence.

    All events before ``at`` must be the same; at least one trace has an event ``at``. The traces
    are called a and b.
    """
    one, other = (next(islice(t.events, at, None), None) for t in (a, b))
    if one is None or other is None:
        return _ended(one, other)
    if _identity(one) == _identity(other):
        return _same_occasion(a, b, one, other, fields)
    return _other_occasion(a, b, one, other, at)


def _ended(one: Event | None, other: Event | None) -> str:
    name, goes_on, event = ("a", "b", other) if one is None else ("b", "a", one)
    assert event is not None
    return f"{name} ends here, {goes_on} goes on with {_what(event)} at {_time(event)}"


def _identity(event: Event) -> tuple[Any, ...]:
    """What brought the event about; the same in both traces as long as the cause is."""
    kind, node, cause = event["kind"], event["node"], event["cause"]
    if kind in ENVIRONMENT:
        return kind, event["text"]  # an extra fault in the plan shifts the numbers of the others
    if kind == "message" or kind in WIRE:
        return kind, node, event["src"], cause, event["index"]
    if kind == "timer":
        return kind, node, cause, _encode(event["value"])
    if kind == "operation":
        return kind, node, event["operation"]
    return kind, node, cause


def _what(event: Event) -> str:
    """The event as the subject of a sentence."""
    kind, node = event["kind"], event["node"]
    if kind in ENVIRONMENT:
        return f"the {'begin' if kind == 'fault' else 'end'} of fault {event['fault']}"
    if kind == "message":
        return f"the arrival of {_message(event)}"
    if kind in WIRE:
        return f"the {kind} of {_message(event)}"
    if kind == "timer":
        return f"the timer {format_value(event['value'])} of {node}"
    if kind == "operation":
        return f"operation {event['operation']} at {node}"
    return f"the {kind} of {node}"


def _message(event: Event) -> str:
    return f"{format_value(event['value'])} from {event['src']} to {event['node']}"


def _time(event: Event) -> str:
    return format_duration(event["t"])


# -- the same occasion went otherwise ---------------------------------------------------------


def _same_occasion(a: Trace, b: Trace, one: Event, other: Event, fields: Sequence[str]) -> str:
    what = _what(one)
    if one["t"] != other["t"]:
        return _other_time(a, one, other, ("a", "b"))
    if one["kind"] not in STEPS:
        return f"{what} is not the same in {', '.join(fields)}"
    if any(name.partition(".")[0] == "value" for name in fields):
        return f"{what} brings another value: it was corrupted or made otherwise"
    if all(name.endswith(".after") for name in fields):
        return f"at {what} another duration was drawn for a timer"
    if a.header.get("code") != b.header.get("code"):
        return f"the code differs, and at {what} it does something else"
    return f"at {what} the process did something else: another choice, local time or parameter"


def _other_time(trace: Trace, one: Event, other: Event, names: tuple[str, str]) -> str:
    """Both events are the same occasion at different times; ``trace`` holds their cause."""
    what, cause, (here, there) = _what(one), one["cause"], names
    if cause is None:
        return f"{what} is at {_time(one)} in {here} and at {_time(other)} in {there}"
    began = trace.events[cause]["t"]
    took = [format_duration(event["t"] - began) for event in (one, other)]
    return f"{what} came {took[0]} after its cause #{cause} in {here} and {took[1]} in {there}"


# -- another occasion came first --------------------------------------------------------------


def _other_occasion(a: Trace, b: Trace, one: Event, other: Event, at: int) -> str:
    """Explain the event that surprises: an extra fault, or else the one that came earlier."""
    later_one, later_other = _later(b, one, at), _later(a, other, at)
    ranks = _rank(one, later_one), _rank(other, later_other)
    if ranks[0][2] and ranks[1][2]:
        return f"{_what(one)} and {_what(other)}, both at {_time(one)}, come in another order"
    if ranks[0] <= ranks[1]:
        return _fate(one, later_one, ("a", "b"), a, _on_the_wire(b, one, at))
    return _fate(other, later_other, ("b", "a"), b, _on_the_wire(a, other, at))


def _rank(event: Event, later: Event | None) -> tuple[bool, int, bool]:
    """What to explain first: an extra fault, the earlier, what doesn't come at the same time."""
    same_time = later is not None and later["t"] == event["t"]
    return event["kind"] not in ENVIRONMENT or later is not None, event["t"], same_time


def _later(trace: Trace, event: Event, at: int) -> Event | None:
    """The same occasion later in the other trace."""
    wanted = _identity(event)
    return next((e for e in islice(trace.events, at, None) if _identity(e) == wanted), None)


def _on_the_wire(trace: Trace, event: Event, at: int) -> Event | None:
    """What became in the other trace of the message that arrives or is dropped in this one."""
    if event["kind"] != "message" and event["kind"] not in WIRE:
        return None
    wanted = _identity(event)[1:]
    rest: Iterable[Event] = islice(trace.events, at, None)
    on_wire = (e for e in rest if e["kind"] == "message" or e["kind"] in WIRE)
    return next((e for e in on_wire if _identity(e)[1:] == wanted), None)


def _fate(
    event: Event, later: Event | None, names: tuple[str, str], trace: Trace, wire: Event | None
) -> str:
    """What happened in ``trace``, and what became of it in the other."""
    here, there = names
    if later is not None:
        return _other_time(trace, event, later, names)
    happened = f"{_what(event)} is at {_time(event)} in {here}"
    if wire is not None:
        reason = f" ({wire['reason']})" if "reason" in wire else ""
        became = "arrives" if wire["kind"] == "message" else f"meets a {wire['kind']}{reason}"
        return f"{happened}; in {there} the message {became} at {_time(wire)}"
    if event["kind"] in ENVIRONMENT:
        return f"{happened} and does not come in {there}: an extra fault ({event['text']})"
    return f"{happened} and does not come in {there}"
