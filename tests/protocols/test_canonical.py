"""The canonical encoding is injective and free of hash order; plain data shows every value."""

from dataclasses import dataclass
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.api import message
from protocols.canonical import digest, encode, plain, why_mutable
from protocols.values import Log, Map


class Colour(Enum):
    RED = 1
    BLUE = 2


@message
class Vote:
    term: int
    granted: bool


@message
class Grant:
    term: int
    granted: bool


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.binary(max_size=5),
    st.floats(allow_nan=False), st.sampled_from(Colour),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.frozensets(inner, max_size=3),
        st.builds(Vote, inner, inner),
        st.builds(Grant, inner, inner),
        st.lists(inner, max_size=3).map(Log),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(Map),
    ),
    max_leaves=6,
)


def same(a: object, b: object) -> bool:
    """Equal, and of the same types all the way down (1, 1.0 and True are three values)."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | Log):
        return len(a) == len(b) and all(map(same, a, b))  # type: ignore[arg-type]
    if isinstance(a, frozenset):
        return sorted(map(encode, a)) == sorted(map(encode, b))  # type: ignore[call-overload]
    if isinstance(a, Map):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)  # type: ignore[index, call-overload]
    if isinstance(a, Vote | Grant):
        return same((a.term, a.granted), (b.term, b.granted))  # type: ignore[attr-defined]
    return a == b and (a != 0 or str(a) == str(b))  # 0.0 and -0.0 are two values


@given(VALUES, VALUES)
def test_same_bytes_exactly_if_same_value(a: object, b: object) -> None:
    assert (encode(a) == encode(b)) == same(a, b)
    assert encode(a) == encode(a)


@given(VALUES)
def test_every_allowed_value_is_immutable_and_shown(value: object) -> None:
    assert why_mutable(value) is None
    plain(value)


def test_plain_names_the_class() -> None:
    assert plain(Vote(3, True)) == {"$": "Vote", "term": 3, "granted": True}
    assert plain((Colour.RED, frozenset({2, 1}))) == ["red", [1, 2]]
    assert plain(Map({"b": (1,), "a": None})) == {"a": None, "b": [1]}
    assert plain(Log("ab")) == {"first": 1, "entries": ["a", "b"]}


@dataclass
class Loose:
    x: int = 0


@pytest.mark.parametrize("value", [[1], {1: 2}, {1}, Loose(), (1, [2]), Vote([], True)])  # type: ignore[arg-type]
def test_mutable_values_are_named(value: object) -> None:
    assert "mutable" in (why_mutable(value) or "")


def test_mutable_values_cannot_be_encoded() -> None:
    with pytest.raises(TypeError, match="cannot encode"):
        encode([1])


def test_digest_is_pinned() -> None:
    """A digest must never change between versions and machines without notice."""
    value = (
        Vote(1, False),
        Log("ab"),
        Map({"k": frozenset({"x", "y"})}),
        Colour.BLUE,
        1.5,
        b"z",
        None,
    )
    assert digest(value) == "d9f43a41ceda1f1cca717e79beba1a22"
