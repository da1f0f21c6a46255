"""Our own format of histories: JSON Lines, described in ``docs/linearizability.md``.

The first line is the header, every other line an operation:

    {"splitbrain_history": 1, "model": "kv"}
    {"client": "c1", "start": 1200, "end": 1950, "kind": "ok", "op": "put", "key": "x", "value": 3}
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

import msgspec

from protocols.values import Log, Map
from sim.history.edn import MAX_DEPTH
from sim.history.errors import HistoryError, shown
from sim.history.events import MAX_OPERATIONS
from sim.history.values import KINDS, History, Operation

__all__ = ["FORMAT", "HEADER", "history_lines", "read_jsonl", "write_history"]

FORMAT = 1
HEADER = "splitbrain_history"
_HEADER_FIELDS = (HEADER, "unit", "model", "initial", "source")
_FIELDS = ("id", "client", "start", "end", "kind", "op", "key", "value", "result")
_NEEDED = ("client", "start", "kind", "op")
_BIGGEST = 2**63 - 1

_decode = msgspec.json.Decoder().decode


# -- writing ----------------------------------------------------------------------------------


def history_lines(history: History) -> Iterator[str]:
    r"""The lines of the format, each with its ``\n``; the same history gives the same text.

    HistoryError if a value cannot be written as JSON and read back.
    """
    header: dict[str, Any] = {HEADER: FORMAT, "unit": history.unit}
    if history.model:
        header["model"] = history.model
    if history.initial[0]:
        header["initial"] = _plain(history.initial[1], "initial")
    yield _line(header)
    for operation in history.operations:
        yield _line(_entry(operation))


def write_history(path: str | os.PathLike[str], history: History) -> None:
    """Write a history to a file; OSError if that cannot be."""
    lines = "".join(history_lines(history))
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(lines)


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=True, allow_nan=False) + "\n"


def _entry(operation: Operation) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": operation.id, "client": operation.client}
    entry.update(start=operation.start, end=operation.end, kind=operation.kind, op=operation.op)
    for name in ("key", "value", "result"):
        value = getattr(operation, name)
        if value is not None:
            entry[name] = _plain(value, name)
    return entry


def _plain(value: Any, field: str) -> Any:
    """The JSON of a value that is read back as it was."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, tuple | Log):
        return [_plain(item, field) for item in value]
    if isinstance(value, Map) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, field) for key, item in value.items()}
    allowed = "None, bool, int, finite float, str, tuples and Maps of str of these"
    raise HistoryError(f"cannot write {shown(value)}", allowed, field=field)


# -- reading ----------------------------------------------------------------------------------


def read_jsonl(data: bytes) -> History:
    """The history in the bytes of a file; HistoryError names the line and the field."""
    header, operations = None, []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            entry = _object(line)
            if header is None:
                header = _header(entry)
            else:
                operations.append(_operation(entry, number, len(operations)))
        except HistoryError as error:
            raise error.at(number) from None
    if header is None:
        raise HistoryError("the file is empty", f'a first line {{"{HEADER}": {FORMAT}}}')
    if not operations:
        raise HistoryError("there are no operations", "at least one")
    initial = (True, _value(header["initial"], "initial")) if "initial" in header else (False, None)
    unit, model = header.get("unit", "us"), header.get("model", "")
    return History.of(operations, unit=unit, model=model, initial=initial)


def _object(line: bytes) -> dict[str, Any]:
    try:
        entry = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        raise HistoryError(f"this is not JSON ({why})", "one JSON object per line") from None
    if not isinstance(entry, dict):
        raise HistoryError(f"given {shown(entry)}", "one JSON object per line")
    return entry


def _header(entry: dict[str, Any]) -> dict[str, Any]:
    if entry.get(HEADER) != FORMAT or isinstance(entry[HEADER], bool):
        problem = f"given {shown(entry.get(HEADER))}"
        raise HistoryError(problem, f"{FORMAT}, the version, on the first line", field=HEADER)
    _known(entry, _HEADER_FIELDS)
    if entry.get("unit", "us") not in ("us", "event"):
        raise HistoryError(f"given {shown(entry['unit'])}", "us, event", field="unit")
    if not isinstance(entry.get("model", ""), str):
        raise HistoryError(f"given {shown(entry['model'])}", "a name", field="model")
    return entry


def _known(entry: dict[str, Any], fields: tuple[str, ...]) -> None:
    for name in entry:
        if name not in fields:
            raise HistoryError("there is no such field", ", ".join(fields), field=name)


def _operation(entry: dict[str, Any], line: int, number: int) -> Operation:
    _known(entry, _FIELDS)
    for name in _NEEDED:
        if name not in entry:
            raise HistoryError("it is missing", f"every line has {', '.join(_NEEDED)}", field=name)
    if number >= MAX_OPERATIONS:
        raise HistoryError("the history is too long", f"{MAX_OPERATIONS:,} operations")
    kind = entry["kind"]
    if kind not in KINDS:
        raise HistoryError(f"given {shown(kind)}", ", ".join(KINDS), field="kind")
    end = None if entry.get("end") is None else _whole(entry["end"], "end")
    id_, start = _whole(entry.get("id", number), "id"), _whole(entry["start"], "start")
    client, op = _text(entry["client"], "client"), _text(entry["op"], "op")
    key, value, result = (_value(entry.get(name), name) for name in ("key", "value", "result"))
    return Operation(id_, client, start, end, kind, op, key, value, result, line)


def _whole(value: Any, field: str) -> int:
    if type(value) is not int or not -_BIGGEST <= value <= _BIGGEST:
        raise HistoryError(f"given {shown(value)}", "a whole number of 64 bits", field=field)
    return value


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value:
        raise HistoryError(f"given {shown(value)}", "a text", field=field)
    return value


def _value(value: Any, field: str, depth: int = 0) -> Any:
    """A JSON value as an immutable one: arrays are tuples, objects are Maps."""
    if isinstance(value, list | dict) and depth >= MAX_DEPTH:
        raise HistoryError("the value is nested too deep", f"{MAX_DEPTH} levels", field=field)
    if isinstance(value, list):
        return tuple(_value(item, field, depth + 1) for item in value)
    if isinstance(value, dict):
        return Map({key: _value(item, field, depth + 1) for key, item in value.items()})
    return value
