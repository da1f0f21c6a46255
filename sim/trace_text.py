"""Events in words: one line each, for people and for text search.

``#7 150ms n2 message Ping(number=1) from n1 | term=2 | send Pong(number=1) to n1``: id, time,
node, kind and what it was about, changed fields, effects. Every line is one line, whatever
control characters a value holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sim.trace_check import ENVIRONMENT, STEPS, WIRE, Event
from sim.units import format_duration

__all__ = ["format_chain", "format_event", "format_value", "format_what"]

_DEPTH = 100  # of nested values; the reader of traces allows no more


def format_event(event: Event, width: int | None = None) -> str:
    """One line for people; longer than ``width`` characters, it ends in "…"."""
    node = f" {event['node']}" if event["node"] is not None else ""
    head = _on_one_line(f"#{event['id']} {format_duration(event['t'])}{node}")
    line = f"{head} {format_what(event)}"
    return line if width is None or len(line) <= width else line[: max(width - 1, 0)] + "…"


def format_what(event: Event) -> str:
    """One line that says what happened, without id, time and node."""
    parts = [" ".join([event["kind"], *_about(event)])]
    if event.get("delta"):
        parts.append(", ".join(f"{k}={format_value(v)}" for k, v in event["delta"].items()))
    if event.get("effects"):
        parts.append("; ".join(map(_effect, event["effects"])))
    return _on_one_line(" | ".join(parts))


def format_chain(events: Iterable[Event], width: int | None = None) -> str:
    """A chain of causes as :func:`sim.trace_query.why` gives it, the event first, in lines."""
    lines = [format_event(event, width) for event in events]
    return "\n".join([*lines[:1], *(f"  because {line}" for line in lines[1:])])


def _about(event: Event) -> list[str]:
    """What the event was about, without fields and effects."""
    kind = event["kind"]
    if kind in ENVIRONMENT:
        return [f"{event['fault']}: {event['text']}"]
    if kind == "message" or kind in WIRE:
        return [format_value(event["value"]), f"from {event['src']}", *_on_the_way(event)]
    if kind in STEPS:
        number = [f"{event['operation']}:"] if "operation" in event else []
        return number + ([format_value(event["value"])] if "value" in event else [])
    return _to_the_node(event)


def _on_the_way(event: Event) -> list[str]:
    words = [f"by {format_duration(event['by'])}"] if "by" in event else []
    if event["kind"] == "duplicate" and words:
        words = [f"{format_duration(event['by'])} later"]
    return words + ([f"({event['reason']})"] if "reason" in event else _why(event))


def _to_the_node(event: Event) -> list[str]:
    extra = [f"{name}={format_value(event[name])}" for name in event if name not in _PLAIN_KEYS]
    return extra + _why(event)


_PLAIN_KEYS = ("id", "t", "node", "kind", "cause", "why")


def _why(event: Event) -> list[str]:
    return [f"({format_value(event['why'])})"] if event.get("why") else []


def _effect(effect: dict[str, Any]) -> str:
    if "send" in effect:
        return f"send {format_value(effect['value'])} to {effect['send']}"
    if "set" in effect:
        return f"set {format_value(effect['set'])} after {format_duration(effect['after'])}"
    if "cancel" in effect:
        return f"cancel {format_value(effect['cancel'])}"
    if "observe" in effect:
        return f"observe {format_value(effect['observe'])}"
    return f"reply {effect['outcome']} {format_value(effect['value'])} to {effect['reply']}"


# -- values -----------------------------------------------------------------------------------


def format_value(value: Any, depth: int = _DEPTH) -> str:
    """Plain data the way the protocol would write it: ``Ping(number=1)``, ``{k: v}``, ``[1, 2]``.

    Changes of maps, logs and value classes (:mod:`sim.delta`) show what is new.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, list)):
        if not depth:
            return "…"
        inner = depth - 1
        return _object(value, inner) if isinstance(value, dict) else f"[{_list(value, inner)}]"
    return repr(value)


def _list(values: Sequence[Any], depth: int) -> str:
    return ", ".join(format_value(value, depth) for value in values)


def _pairs(pairs: Iterable[tuple[str, Any]], joint: str, depth: int) -> str:
    return ", ".join(f"{name}{joint}{format_value(value, depth)}" for name, value in pairs)


def _object(value: dict[str, Any], depth: int) -> str:
    name = value.get("$")
    if isinstance(name, str):
        fields = ((k, v) for k, v in value.items() if k != "$")
        return f"{name}({_pairs(fields, '=', depth)})"
    if isinstance(value.get("~fields"), dict):
        return f"({_pairs(value['~fields'].items(), '=', depth)})"
    if isinstance(value.get("~set"), dict):
        return _map_change(value, depth)
    if isinstance(value.get("~entries"), list):
        return f"[from {value.get('~from')}: {_list(value['~entries'], depth)}]"
    return f"{{{_pairs(value.items(), ': ', depth)}}}"


def _map_change(value: dict[str, Any], depth: int) -> str:
    gone = value.get("~del")
    parts = [_pairs(((k, _new(v)) for k, v in value["~set"].items()), ": ", depth)]
    if isinstance(gone, list):
        parts.extend(f"-{format_value(key, depth)}" for key in gone)
    return f"{{{', '.join(filter(None, parts))}}}"


def _new(part: Any) -> Any:
    if isinstance(part, dict) and len(part) == 1:
        return part.get("=", part.get("~", part))
    return part


def _on_one_line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
