"""The key-value store against a plain dict."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.api import Map
from protocols.machines.kv import Append, Cas, Delete, Get, KeyValueStore, Put

KEYS = st.sampled_from(["a", "b"])
VALUES = st.sampled_from(["", "x", "y", 1, (1, 2)])
COMMANDS = st.one_of(
    st.builds(Get, KEYS),
    st.builds(Put, KEYS, VALUES),
    st.builds(Delete, KEYS),
    st.builds(Append, KEYS, st.sampled_from(["", "p", "q"])),
    st.builds(Cas, KEYS, st.one_of(st.none(), VALUES), VALUES),
)


def plainly(store: dict[str, Any], command: Any) -> Any:
    """The same on a dict, written without a look at the other."""
    key = command.key
    held = store.get(key)
    match command:
        case Put():
            store[key] = command.value
        case Delete():
            return store.pop(key, None) is not None
        case Append() if held is None or type(held) is str:
            store[key] = (held or "") + command.value
            return store[key]
        case Cas():
            if held == command.expected:
                store[key] = command.new
            return held == command.expected
    return held if isinstance(command, Get) else None


@given(st.lists(COMMANDS, max_size=40))
def test_equals_a_plain_dict(commands: list[Any]) -> None:
    machine, store = KeyValueStore(), dict[str, Any]()
    for command in commands:
        machine, answer = machine.apply(command)
        assert answer == plainly(store, command), command
        assert dict(machine.items) == store


@pytest.mark.parametrize(
    ("command", "answer", "then"),
    [
        (Get("a"), "x", "x"),
        (Put("a", "y"), None, "y"),
        (Delete("a"), True, None),
        (Append("a", "y"), "xy", "xy"),
        (Cas("a", "x", "y"), True, "y"),
        (Cas("a", "z", "y"), False, "x"),
        (Cas("a", None, "y"), False, "x"),
    ],
)
def test_the_answers_as_described(command: Any, answer: Any, then: Any) -> None:
    machine, given_back = KeyValueStore(Map({"a": "x"})).apply(command)
    assert (given_back, machine.items.get("a")) == (answer, then)


def test_a_failed_precondition_changes_nothing() -> None:
    machine = KeyValueStore(Map({"a": 1}))
    for command, answer in (
        (Cas("a", 2, 3), False),
        (Append("a", "x"), None),
        (Delete("b"), False),
    ):
        after, given_back = machine.apply(command)
        assert after is machine
        assert given_back is answer


def test_a_mutable_value_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"holds immutable values, not the list \[1\]"):
        KeyValueStore().apply(Put("a", [1]))
