"""Where two runs part: the first event that differs, and which input it was that differed.

A run is decided by its header and its random streams. Up to the first difference all events are
the same, so whatever brought about the first different event (a send, a timer set) is an event of
both traces, and its fate can be looked up in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from sim.trace_cause import reason_of
from sim.trace_check import Event
from sim.trace_query import format_chain, format_event, why
from sim.trace_read import Trace
from sim.trace_text import format_value

__all__ = ["MISSING", "Difference", "Divergence", "diff", "differences", "format_divergence"]

CONTEXT = 5
_SHOWN = 12
_WIDTH = 160
_encode = msgspec.json.Encoder().encode


class _Missing:
    """What a trace holds where it holds nothing."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()
"""Stands in a :class:`Difference` for a field that one side does not have."""


@dataclass(frozen=True)
class Difference:
    """One value that differs: its ``path`` (``plan[0].at``, ``delta.term``), and both values."""

    path: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Divergence:
    """How two traces differ. ``at`` is None if all events are the same.

    ``header``: differences of the headers and of the ends. ``at``: id of the first events that
    differ, ``a`` and ``b`` (None: that trace has ended), in ``fields``. ``before``: the last
    common events. ``chain_a``, ``chain_b``: each event with its causes. ``reason``: in words.
    """

    header: tuple[Difference, ...]
    at: int | None
    a: Event | None
    b: Event | None
    fields: tuple[Difference, ...]
    before: tuple[Event, ...]
    chain_a: tuple[Event, ...]
    chain_b: tuple[Event, ...]
    reason: str


def diff(a: Trace, b: Trace, *, context: int = CONTEXT) -> Divergence | None:
    """The first divergence of two traces; None if they are the same in every value and byte.

    Values are the same if JSON writes them the same: ``1``, ``1.0`` and ``true`` differ, and so
    do objects whose keys stand in another order. ``context``: how many common events to give.
    """
    header = (*differences(a.header, b.header), *_ends(a, b))
    at = _first_difference(a.events, b.events)
    if at is None:
        same = not header and a.digest == b.digest
        return (
            None if same else Divergence(header, None, None, None, (), (), (), (), _alike(header))
        )
    one, other = _get(a, at), _get(b, at)
    fields = differences(one, other) if one is not None and other is not None else ()
    before = tuple(a.events[max(0, at - context) : at])
    reason = reason_of(a, b, at, [difference.path for difference in fields])
    chains = (_chain(a, at), _chain(b, at))
    return Divergence(header, at, one, other, tuple(fields), before, *chains, reason)


def _ends(a: Trace, b: Trace) -> Iterator[Difference]:
    if a.end_us != b.end_us:
        yield Difference("end.t", *(MISSING if t.end_us is None else t.end_us for t in (a, b)))


def _alike(header: Sequence[Difference]) -> str:
    if header:
        return "all events are the same"
    return "the same content in different bytes (spaces, escapes)"


def _first_difference(a: Sequence[Event], b: Sequence[Event]) -> int | None:
    for number, (one, other) in enumerate(zip(a, b, strict=False)):
        if one is not other and _encode(one) != _encode(other):
            return number
    return None if len(a) == len(b) else min(len(a), len(b))


def _get(trace: Trace, number: int) -> Event | None:
    return trace.events[number] if number < len(trace.events) else None


def _chain(trace: Trace, number: int) -> tuple[Event, ...]:
    return tuple(why(trace, number)) if number < len(trace.events) else ()


# -- values -----------------------------------------------------------------------------------


def differences(a: Any, b: Any, path: str = "") -> tuple[Difference, ...]:
    """The innermost values in which two pieces of plain data differ, in order of ``a``."""
    return tuple(_differences(a, b, path))


def _differences(a: Any, b: Any, path: str) -> Iterator[Difference]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        yield from _of_objects(a, b, path)
    elif isinstance(a, list) and isinstance(b, list):
        for index in range(max(len(a), len(b))):
            one, other = (x[index] if index < len(x) else MISSING for x in (a, b))
            yield from _differences(one, other, f"{path}[{index}]")
    elif type(a) is not type(b) or repr(a) != repr(b):
        yield Difference(path, a, b)


def _of_objects(a: Mapping[str, Any], b: Mapping[str, Any], path: str) -> Iterator[Difference]:
    parts = list(_of_keys(a, b, f"{path}." if path else ""))
    if not parts and list(a) != list(b):
        name = f"{path} (order of keys)" if path else "(order of keys)"
        parts.append(Difference(name, list(a), list(b)))
    yield from parts


def _of_keys(a: Mapping[str, Any], b: Mapping[str, Any], prefix: str) -> Iterator[Difference]:
    for key in dict.fromkeys((*a, *b)):
        yield from _differences(a.get(key, MISSING), b.get(key, MISSING), f"{prefix}{key}")


# -- in words ---------------------------------------------------------------------------------


def format_divergence(
    divergence: Divergence | None, names: tuple[str, str] | None = None, width: int = _WIDTH
) -> str:
    """The divergence for people, in lines of events of at most ``width``.

    The traces are called a and b; ``names`` says which files or runs these are.
    """
    if divergence is None:
        return "the traces are the same"
    d = divergence
    lines = [f"a is {names[0]}, b is {names[1]}"] if names else []
    lines.extend(_listed("the headers differ:", d.header))
    if d.at is None:
        return "\n".join([*lines, d.reason])
    lines.append(f"the first different event is #{d.at}: {d.reason}")
    if d.a and d.b and all(d.a[name] == d.b[name] for name in ("kind", "node", "cause")):
        lines.extend(_listed("its fields:", d.fields))
    if d.before:
        lines.extend(["both before:", *(f"  {format_event(event, width)}" for event in d.before)])
    for name, chain in (("a", d.chain_a), ("b", d.chain_b)):
        told = format_chain(chain, width) if chain else "has ended"
        lines.extend([f"in {name}:", *(f"  {line}" for line in told.splitlines())])
    return "\n".join(lines)


def _listed(title: str, items: Sequence[Difference]) -> Iterator[str]:
    if not items:
        return
    yield title
    for item in items[:_SHOWN]:
        yield f"  {item.path}: {_short(item.a)} in a, {_short(item.b)} in b"
    if len(items) > _SHOWN:
        yield f"  and {len(items) - _SHOWN} more"


def _short(value: Any) -> str:
    text = ascii(value) if isinstance(value, str) else format_value(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
