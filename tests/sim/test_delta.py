"""Deltas lead from one plain value to the next, and quick JSON equals the slow one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from protocols.api import message
from protocols.canonical import plain
from protocols.values import Log, Map
from sim.delta import apply_delta, changed, delta
from sim.shown import quoted, shown, to_text


@message
class Point:
    x: Any
    name: Any = ""


SMALL = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=2))
VALUES = st.recursive(
    SMALL,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.builds(Point, inner, inner),
        st.lists(inner, max_size=40).map(Log),
        st.dictionaries(st.sampled_from("abcd"), inner, max_size=4).map(Map),
    ),
    max_leaves=8,
)


def as_json(value: object) -> Any:
    return json.loads(to_text(plain(value)))


@given(VALUES, VALUES)
def test_a_delta_leads_from_old_to_new(old: object, new: object) -> None:
    change = json.loads(to_text(delta(old, new)))
    assert apply_delta(as_json(old), change) == as_json(new)


@given(
    st.lists(st.integers(), max_size=80), st.integers(0, 80), st.integers(0, 80), st.integers(0, 40)
)
def test_log_deltas_after_truncation_compaction_and_appends(
    entries: list[int], cut: int, drop: int, more: int
) -> None:
    old: Log[int] = Log(entries)
    new = old.truncate(min(cut, len(entries)) + 1)
    new = new.discard(min(drop, new.last_index)).extend(range(more))
    assert apply_delta(as_json(old), json.loads(to_text(delta(old, new)))) == as_json(new)


def test_a_log_delta_holds_the_new_entries_only() -> None:
    old: Log[int] = Log(range(10_000))
    assert delta(old, old.append(7)) == {"~first": 1, "~from": 10_001, "~entries": [7]}


def test_a_map_delta_holds_the_changed_keys_only() -> None:
    old = Map({f"k{i}": i for i in range(1000)})
    change = delta(old, old.set("k5", -1).delete("k7"))
    assert change == {"~set": {"k5": {"~": -1}}, "~del": ["k7"]}


def test_type_decides_and_identity_does_not() -> None:
    assert changed(1, True)
    assert changed(1, 1.0)
    assert not changed(10**9 + 1, int("1000000001"))


@given(VALUES)
def test_quick_json_is_the_json_of_the_plain_value(value: object) -> None:
    assert json.loads(shown(value)) == as_json(value)
    assert shown(Point(value, 'ü\u0000"\\\n')) == to_text(plain(Point(value, 'ü\u0000"\\\n')))


@given(st.text())
def test_quoted_texts_are_the_encoders(text: str) -> None:
    try:
        expected = to_text(text)
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form
        return
    assert quoted(text) == expected
