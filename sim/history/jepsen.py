"""Histories of Jepsen: EDN (maps with ``:process :type :f :value``) and the lines of its log.

In EDN a map may also have a ``:key``, as in the key-value histories that Porcupine's tests use
(``{:process 3, :type :ok, :f :get, :key "7", :value ""}``; there a key without a value reads as
the empty text). Processes that aren't numbers (``:nemesis``) are no clients and are left out.
"""

from __future__ import annotations

import re
from typing import Any

from protocols.values import Map
from sim.history.edn import Form, read_forms, read_value
from sim.history.errors import HistoryError, shown
from sim.history.events import Event, Pairing
from sim.history.values import History

__all__ = ["LOG_MARK", "read_edn", "read_log"]

LOG_MARK = "jepsen.util"
_LOG = re.compile(r"jepsen\.util(?: -|:)?\s+(\S+)\s+:(\w+)\s+:(\S+)[ \t]+(\S.*)", re.ASCII)
_LOG_FORM = "jepsen.util - PROCESS :TYPE :OPERATION VALUE"
_NEEDED = (":process", ":type", ":f")
_KV = frozenset({"get", "put", "append"})


def read_log(text: str, *, keyed: bool = False) -> History:
    """The history in the log of a Jepsen test: its lines with ``jepsen.util``, others skipped."""
    pairing = Pairing()
    for number, line in enumerate(text.split("\n"), 1):
        if LOG_MARK not in line:
            continue
        found = _LOG.search(line)
        if found is None:
            raise HistoryError(f"cannot read {shown(line)}", _LOG_FORM, line=number)
        process, kind, op, rest = found.groups()
        if not process.isdigit():
            continue
        try:
            value = read_value(rest)
        except HistoryError as error:
            raise HistoryError(error.problem, error.allowed, line=number, field="value") from None
        key, value = _split(value, kind, number) if keyed else (None, value)
        pairing.take(Event(process, kind, op, key, value, number))
    return _history(pairing, kv=False)


def read_edn(text: str, *, keyed: bool = False) -> History:
    """The history in EDN: one vector or list of maps, or maps one after the other.

    ``keyed``: values are pairs of a key and a value, as in Jepsen's independent tests.
    """
    pairing = Pairing()
    kv = True
    for form in read_forms(text):
        event = _event(form, keyed)
        if event is not None:
            kv = kv and event.op in _KV and event.key is not None
            pairing.take(event)
    return _history(pairing, kv=kv and not keyed)


def _history(pairing: Pairing, *, kv: bool) -> History:
    operations = pairing.operations()
    if not operations:
        raise HistoryError("there are no operations of clients", "at least one")
    if kv:
        return History(operations, "event", "kv", (True, ""))
    return History(operations, "event")


def _event(form: Form, keyed: bool) -> Event | None:
    entry, line = form
    if not isinstance(entry, Map):
        problem = f"{shown(entry)} is no event"
        raise HistoryError(problem, "{:process 0, :type :invoke, :f :read, :value nil}", line=line)
    process, kind, op = (_needed(entry, name, line) for name in _NEEDED)
    if type(process) is not int:
        return None
    kind, op = _name(kind, ":type", line), _name(op, ":f", line)
    key, value = entry.get(":key"), entry.get(":value")
    if keyed:
        key, value = _split(value, kind, line)
    return Event(str(process), kind, op, key, value, line)


def _needed(entry: Map[Any, Any], name: str, line: int) -> Any:
    if name not in entry:
        raise HistoryError("it is missing", "every event has one", line=line, field=name)
    return entry[name]


def _name(value: Any, field: str, line: int) -> str:
    if not isinstance(value, str) or not value.lstrip(":"):
        raise HistoryError(f"given {shown(value)}", "a keyword", line=line, field=field)
    return value.lstrip(":")


def _split(value: Any, kind: str, line: int) -> tuple[Any, Any]:
    if isinstance(value, tuple) and len(value) == 2:
        return value[0], value[1]
    if kind in ("fail", "info"):
        return None, value  # the reason; the key is that of the invoke
    allowed = "[key value]; read without keys if the values are no pairs"
    raise HistoryError(f"given {shown(value)}", allowed, line=line, field=":value")
