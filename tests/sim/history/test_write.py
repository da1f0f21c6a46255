"""Writing histories, and taking them from a cluster."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.client import fail, info, ok
from protocols.values import Map
from sim.cluster import OperationRecord
from sim.history import (
    History,
    HistoryError,
    Operation,
    from_records,
    history_lines,
    parse_history,
    read_history,
    write_history,
)
from sim.history.values import Kind

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.text(max_size=5),
    st.floats(allow_nan=False, allow_infinity=False),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3).map(Map),
    ),
    max_leaves=5,
)


@st.composite
def operation(draw: st.DrawFn) -> Operation:
    kinds: tuple[Kind, ...] = ("ok", "fail", "info")
    kind = draw(st.sampled_from(kinds))
    start = draw(st.integers(-(10**12), 10**12))
    never = kind == "info" and draw(st.booleans())
    end = None if never else start + draw(st.integers(0, 10**9))
    client, op = draw(st.text("abc1", min_size=1)), draw(st.sampled_from(["read", "put", "é"]))
    key, value, result = draw(values), draw(values), draw(values)
    return Operation(draw(st.integers(0, 99)), client, start, end, kind, op, key, value, result)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(operation(), min_size=1, max_size=5),
    st.sampled_from(["us", "event"]),
    st.sampled_from(["", "kv"]),
    st.one_of(st.just((False, None)), st.tuples(st.just(True), values)),
)
def test_what_is_written_is_read_back(
    operations: list[Operation], unit: str, model: str, initial: tuple[bool, Any]
) -> None:
    history = History.of(operations, unit=unit, model=model, initial=initial)
    text = "".join(history_lines(history))
    again = parse_history(text.encode())
    assert again == history
    assert "".join(history_lines(again)) == text


def test_a_file(tmp_path: Path) -> None:
    history = History((Operation(0, "c", 0, 1, "ok", "read", None, None, 3),), model="register")
    write_history(tmp_path / "h.jsonl", history)
    assert (tmp_path / "h.jsonl").read_text(encoding="utf-8") == (
        '{"splitbrain_history":1,"unit":"us","model":"register"}\n'
        '{"id":0,"client":"c","start":0,"end":1,"kind":"ok","op":"read","result":3}\n'
    )
    assert read_history(tmp_path / "h.jsonl").operations == history.operations


@pytest.mark.parametrize("value", [b"x", float("inf"), Map({1: 2}), frozenset([1])])
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    history = History((Operation(0, "c", 0, 1, "ok", "write", None, value),))
    with pytest.raises(HistoryError, match="field 'value': cannot write"):
        list(history_lines(history))


@dataclass(frozen=True)
class Put:
    key: str
    value: int


@dataclass(frozen=True)
class Acquire:
    name: str
    owner: str
    lease_us: int = 0


@dataclass(frozen=True)
class Read:
    pass


def test_the_history_of_a_cluster() -> None:
    records = [
        OperationRecord(0, "n1", Put("x", 3), 10, 20, ok()),
        OperationRecord(1, "n2", Read(), 12, 15, ok(7)),
        OperationRecord(2, "n1", Acquire("l", "me"), 30, 40, info("timed out")),
        OperationRecord(3, "n2", Put("x", 4), 31, 33, fail("not-leader")),
        OperationRecord(4, "n2", Put("x", 5), 50),
    ]
    history = from_records(records, model="kv")
    assert (history.model, history.unit) == ("kv", "us")
    assert history.operations == (
        Operation(0, "n1", 10, 20, "ok", "put", "x", 3),
        Operation(1, "n2", 12, 15, "ok", "read", None, None, 7),
        Operation(2, "n1", 30, 40, "info", "acquire", "l", ("me", 0)),
        Operation(3, "n2", 31, 33, "fail", "put", "x", 4),
        Operation(4, "n2", 50, None, "info", "put", "x", 5),
    )


def added(call: Any) -> tuple[str, Any, Any]:
    return "add", None, call[1]


def test_calls_may_be_described_otherwise() -> None:
    record = OperationRecord(0, "n1", ("inc", 2), 10, 20, ok(2))
    with pytest.raises(HistoryError, match="cannot tell what the call"):
        from_records([record])
    (operation,) = from_records([record], describe=added)
    assert (operation.op, operation.value, operation.result) == ("add", 2, 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"end": -1}, "operation 0 ends at -1, before its start at 0"),
        ({"end": None}, "operation 0 is 'ok' but has no end"),
        ({"kind": "maybe"}, "operation 0 has the kind 'maybe'; allowed: ok, fail, info"),
    ],
)
def test_what_cannot_have_happened_is_refused(change: dict[str, Any], says: str) -> None:
    fields = {"id": 0, "client": "c", "start": 0, "end": 1, "kind": "ok", "op": "read", **change}
    with pytest.raises(HistoryError, match=says):
        Operation(**fields)


def test_errors_are_pickled_whole() -> None:
    error = HistoryError("wrong", "right", line=3, field="x", path="f")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.field) == (
        "f, line 3: field 'x': wrong; allowed: right",
        3,
        "x",
    )
