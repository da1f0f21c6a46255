"""Questions to a trace: which events, why did this happen, what came of it, what was before what.

>>> Filter.parse("node=n1,n2 kind=drop t=1s..2s").text
'node=n1,n2 kind=drop t=1s..2s'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.fields import FieldError, unknown_name
from sim.trace_check import KINDS, Event
from sim.trace_order import following, happens_before, light_cone, vector_clocks
from sim.trace_read import Trace
from sim.trace_text import format_chain, format_event
from sim.units import parse_duration

__all__ = [
    "Filter",
    "FilterError",
    "consequences",
    "format_chain",
    "format_event",
    "happens_before",
    "light_cone",
    "vector_clocks",
    "why",
]

Test = Callable[[Event], bool]


class FilterError(FieldError):
    """A filter that cannot be read: which term, what was given, what is allowed."""


# -- causes -----------------------------------------------------------------------------------


def why(trace: Trace, number: int) -> list[Event]:
    """The event, its cause, the cause of that, and so on to an event without a cause."""
    chain = [trace.event(number)]
    while (cause := chain[-1]["cause"]) is not None:
        chain.append(trace.events[cause])
    return chain


def consequences(trace: Trace, number: int) -> list[Event]:
    """All events that have event ``number`` in their chain of causes, in order. Linear."""
    trace.event(number)
    causes = [event["cause"] for event in trace.events]
    before: list[tuple[int, ...]] = [() if cause is None else (cause,) for cause in causes]
    return [trace.events[later] for later in following(before, number)]


# -- filters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Filter:
    """Selects events that fit all terms of a text; the empty text selects everything.

    ========================  ================================================================
    ``node=n1,n2``            happened at one of these nodes (for a drop: was bound for it)
    ``src=n1``                a message of that sender
    ``kind=drop,message``     one of these kinds
    ``type=Ping``             the message, timer or operation is of that class
    ``field=term``            the step changed that field
    ``t=1s..2s``              from 1 s to 2 s, both included; one end may be missing; ``t=1s``
    ``id=10..20``             the same for ids
    ``text="no quorum"``      the line of :func:`format_event` has this text, in any case
    ========================  ================================================================

    ``!=`` instead of ``=`` selects what does not fit the term. Quote what holds spaces.
    """

    text: str
    _tests: tuple[Test, ...] = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Filter:
        """The filter that ``text`` asks for; FilterError names the term that is wrong."""
        return cls(text, tuple(map(_test, _terms(text))))

    def matches(self, event: Event) -> bool:
        """Whether the event fits all terms."""
        return all(test(event) for test in self._tests)

    def select(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events that fit, in order."""
        return filter(self.matches, events)


class _Term(NamedTuple):
    key: str
    negative: bool
    value: str


_TERM = re.compile(r'(?P<key>[^\s=!"]+)(?P<not>!?)=(?P<value>"[^"]*"|[^\s"]+)(?=\s|$)')
_FORM = 'terms such as node=n1,n2 or text="no quorum", with spaces in between'


def _terms(text: str) -> Iterator[_Term]:
    rest = text.strip()
    while rest:
        match = _TERM.match(rest)
        if match is None:
            raise FilterError(rest, _FORM, hint=_form_hint(rest))
        yield _Term(match["key"], bool(match["not"]), match["value"].strip('"'))
        rest = rest[match.end() :].lstrip()


def _form_hint(rest: str) -> str:
    word = rest.split()[0]
    if rest.count('"') % 2:
        return 'a " is missing'
    if "=" not in word:
        return f"to look for {word!r} write text={word}"
    return f"{word} needs a value" if word.endswith("=") else ""


def _test(term: _Term) -> Test:
    make = _TESTS.get(term.key)
    if make is None:
        error: FieldError = unknown_name(term.key, _TESTS, "the keys of a filter")
        raise FilterError(error.given, error.allowed, hint=error.hint)
    try:
        test = make(term.value)
    except FieldError as error:
        raise FilterError(error.given, error.allowed, path=(term.key,), hint=error.hint) from None
    return (lambda event: not test(event)) if term.negative else test


def _names(value: str) -> frozenset[str]:
    names = value.split(",")
    if not all(names):
        raise FieldError(value, "names with commas in between")
    return frozenset(names)


def _node(value: str) -> Test:
    names = _names(value)
    return lambda event: event["node"] in names


def _src(value: str) -> Test:
    names = _names(value)
    return lambda event: event.get("src") in names


def _kind(value: str) -> Test:
    names = _names(value)
    for name in value.split(","):
        if name not in KINDS:
            raise unknown_name(name, KINDS, "kinds of events")
    return lambda event: event["kind"] in names


def _type(value: str) -> Test:
    names = _names(value)
    return lambda event: type_of(event.get("value")) in names


def type_of(value: object) -> str | None:
    """The class of a value in a trace; None if it is not of a value class."""
    name = value.get("$") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None


def _field(value: str) -> Test:
    names = _names(value)
    return lambda event: any(name in names for name in event.get("delta", ()))


def _text(value: str) -> Test:
    wanted = value.casefold()
    return lambda event: wanted in format_event(event).casefold()


def _time(value: str) -> Test:
    allowed = "a time or a range of times with units, such as 150ms, 1s..2s, 1s.. or ..2s"
    least, most = _range(value, parse_duration, allowed)
    return lambda event: least <= event["t"] <= most


def _id(value: str) -> Test:
    least, most = _range(value, _whole, "an id or a range of ids, such as 7, 10..20, 10.. or ..20")
    return lambda event: least <= event["id"] <= most


def _whole(text: object) -> int:
    if isinstance(text, str) and re.fullmatch("[0-9]{1,18}", text):
        return int(text)
    raise FieldError(text, "a whole number")


def _range(value: str, read: Callable[[object], int], allowed: str) -> tuple[float, float]:
    first, dots, last = value.partition("..")
    try:
        if not dots:
            return read(value), read(value)
        least = read(first) if first else float("-inf")
        most = read(last) if last else float("inf")
    except FieldError as error:
        raise FieldError(value, allowed, hint=error.hint) from None
    if least > most or not (first or last):
        hint = "the range is empty" if first else "give at least one end"
        raise FieldError(value, allowed, hint=hint)
    return least, most


_TESTS: dict[str, Callable[[str], Test]] = {
    "node": _node,
    "src": _src,
    "kind": _kind,
    "type": _type,
    "field": _field,
    "t": _time,
    "id": _id,
    "text": _text,
}
