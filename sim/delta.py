"""What changed between two values, as plain data: the ``delta`` of a trace event.

A changed Map tells its changed keys, a Log its new entries, a value class its changed fields;
anything else is given whole. ``apply_delta(plain(old), delta(old, new)) == plain(new)``.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from protocols.canonical import is_value_class, plain
from protocols.values import Log, Map


def changed(old: object, new: object) -> bool:
    """Whether the two values differ, in value or in type (identity alone means nothing)."""
    return old is not new and (type(old) is not type(new) or old != new)


def delta(old: object, new: object) -> Any:
    """Plain data that says how to get from ``old`` to ``new``."""
    cls = type(new)
    if cls is type(old):
        if isinstance(old, Map) and isinstance(new, Map):
            return _map_delta(old, new)
        if isinstance(old, Log) and isinstance(new, Log):
            return _log_delta(old, new)
        if is_value_class(cls):
            return _fields_delta(old, new)
    return plain(new)


def _map_delta(old: Map[Any, Any], new: Map[Any, Any]) -> dict[str, Any]:
    altered = [k for k, v in new.raw_items() if k not in old or changed(old[k], v)]
    parts: dict[str, Any] = {
        "~set": {
            str(k): {"~": delta(old[k], new[k])} if k in old else {"=": plain(new[k])}
            for k in sorted(altered)
        }
    }
    gone = [k for k, _ in old.raw_items() if k not in new]
    if gone:
        parts["~del"] = [str(k) for k in sorted(gone)]
    return parts


def _log_delta(old: Log[Any], new: Log[Any]) -> dict[str, Any]:
    if new.first < old.first:  # entries that were discarded are back: nothing to build on
        return {"~first": new.first, "~from": new.first, "~entries": [plain(e) for e in new]}
    keep = new.shared_prefix(old)
    return {"~first": new.first, "~from": keep + 1, "~entries": [plain(e) for e in new[keep + 1 :]]}


def _fields_delta(old: object, new: object) -> dict[str, Any]:
    parts = {}
    for field in dataclasses.fields(new):  # type: ignore[arg-type]
        was, now = getattr(old, field.name), getattr(new, field.name)
        if changed(was, now):
            parts[field.name] = delta(was, now)
    return {"~fields": parts}


def apply_delta(old: Any, change: Any) -> Any:
    """The new plain value, from the old plain value and a delta."""
    if not isinstance(change, dict):
        return change
    if "~fields" in change:
        return {**old, **{k: apply_delta(old[k], c) for k, c in change["~fields"].items()}}
    if "~set" in change:
        return _apply_map(old, change)
    if "~from" in change:
        first, start = change["~first"], change["~from"]
        kept = old["entries"][max(0, first - old["first"]) : max(0, start - old["first"])]
        return {"first": first, "entries": [*kept, *change["~entries"]]}
    return change


def _apply_map(old: Any, change: Any) -> Any:
    result = {k: v for k, v in old.items() if k not in change.get("~del", ())}
    for key, part in change["~set"].items():
        result[key] = part["="] if "=" in part else apply_delta(old[key], part["~"])
    return dict(sorted(result.items()))
