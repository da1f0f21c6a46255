"""Log and Map behave like a list and a dict, whatever is done to them."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.values import Log, Map, in_order


@given(
    first=st.integers(0, 70),
    steps=st.lists(st.tuples(st.sampled_from("atd"), st.integers(0, 200)), max_size=60),
)
def test_log_is_a_list_numbered_from_first(first: int, steps: list[tuple[str, int]]) -> None:
    log: Log[int] = Log(first=first)
    model: dict[int, int] = {}
    low = first
    for what, n in steps:
        if what == "a":
            for value in range(n % 40):
                model[log.last_index + 1] = value
                log = log.append(value)
        elif what == "t":
            at = low + n % (len(log) + 1)
            log = log.truncate(at)
            model = {i: v for i, v in model.items() if i < at}
        elif len(log):
            at = low + n % len(log)
            log = log.discard(at)
            model = {i: v for i, v in model.items() if i > at}
            low = at + 1
        assert list(log) == [model[i] for i in sorted(model)]
        assert log.first == low
        assert len(log) == len(model)
        for i in model:
            assert log[i] == model[i]


@given(st.lists(st.integers()), st.integers(0, 80), st.lists(st.integers()))
def test_shared_prefix_is_the_longest_common_one(a: list[int], keep: int, b: list[int]) -> None:
    old = Log(a)
    new = old.truncate(min(keep, len(a)) + 1).extend(b)
    common = 0
    while common < min(len(old), len(new)) and old[common + 1] == new[common + 1]:
        common += 1
    assert new.shared_prefix(old) == common


def test_log_equality_is_by_span_and_entries() -> None:
    log = Log("abc")
    assert log == Log("ab").append("c")
    assert hash(log) == hash(Log("ab").append("c"))
    assert log != log.discard(1)
    assert log.discard(1) == Log("bc", first=2)
    assert log != ("a", "b", "c")


def test_log_says_what_it_holds() -> None:
    with pytest.raises(IndexError, match=r"log index 4: the log holds 1\.\.3"):
        Log("abc")[4]
    with pytest.raises(IndexError, match="holds nothing"):
        Log()[1]
    with pytest.raises(IndexError, match="last index is 3"):
        Log("abc").discard(4)


def test_log_slices_by_index() -> None:
    log = Log(range(1, 101)).discard(50)
    assert log[60:63] == (60, 61, 62)
    assert log[:53] == (51, 52)
    assert log[99:] == (99, 100)
    assert log[10:5] == ()


@pytest.mark.parametrize("value", [[], {}, set(), bytearray()])
def test_log_and_map_refuse_mutable_values(value: object) -> None:
    with pytest.raises(TypeError, match="immutable"):
        Log().append(value)
    with pytest.raises(TypeError, match="immutable"):
        Map().set("a", value)
    with pytest.raises(TypeError, match="immutable"):
        Map({"a": value})


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=3), st.integers()), max_size=40))
def test_map_is_a_dict_in_sorted_order(steps: list[tuple[bool, str, int]]) -> None:
    found: Map[str, int] = Map()
    model: dict[str, int] = {}
    for put, key, value in steps:
        if put:
            found, model[key] = found.set(key, value), value
        elif key in model:
            found = found.delete(key)
            del model[key]
        assert list(found.items()) == sorted(model.items())
    assert found == Map(model)
    assert hash(found) == hash(Map(model))
    assert found.update({"k": 1}) == Map({**model, "k": 1})


def test_map_order_does_not_depend_on_the_hash_seed() -> None:
    code = "from protocols.values import Map; print(list(Map({c: 1 for c in 'qwertyuiop'})))"
    seen = set()
    for seed in ("0", "1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
        seen.add(out.stdout)
    assert len(seen) == 1


def test_in_order_sorts_a_set() -> None:
    assert in_order(frozenset({"n3", "n1", "n2"})) == ("n1", "n2", "n3")
