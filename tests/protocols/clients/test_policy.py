"""The values that say how a client waits, and its list of open calls."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.api import MS, SECOND
from protocols.clients.calls import Call, Calls
from protocols.clients.policy import Backoff, ClientOptions


def test_pauses_double_up_to_the_cap() -> None:
    backoff = Backoff(base_us=10 * MS, factor=2, cap_us=50 * MS, jitter=0.5)
    assert [backoff.pause(number) for number in range(5)] == [
        (5 * MS, 10 * MS),
        (10 * MS, 20 * MS),
        (20 * MS, 40 * MS),
        (25 * MS, 50 * MS),
        (25 * MS, 50 * MS),
    ]
    assert backoff.pause(10**9) == (25 * MS, 50 * MS)


def test_jitter_is_a_share_of_the_pause() -> None:
    assert Backoff(base_us=100, cap_us=100, jitter=0).pause(3) == (100, 100)
    assert Backoff(base_us=100, cap_us=100, jitter=1).pause(3) == (0, 100)
    assert Backoff(base_us=100, factor=1, jitter=0).pause(10**9) == (100, 100)


@given(
    st.integers(1, 10**7), st.integers(1, 5), st.integers(0, 10**9), st.floats(0, 1), st.integers(0)
)
def test_pauses_never_shrink_nor_pass_the_cap(
    base: int, factor: int, more: int, jitter: float, number: int
) -> None:
    backoff = Backoff(base, factor, base + more, jitter)
    low, high = backoff.pause(number)
    assert 0 <= low <= high <= base + more
    assert high <= backoff.pause(number + 1)[1]


@pytest.mark.parametrize(
    ("make", "given_values", "message"),
    [
        (Backoff, {"base_us": 0}, r"base_us = 0: a whole number, at least 1"),
        (Backoff, {"base_us": 5, "cap_us": 4}, r"cap_us = 4: a whole number, at least 5"),
        (Backoff, {"factor": 1.5}, r"factor = 1.5: a whole number, at least 1"),
        (Backoff, {"jitter": 2}, r"jitter = 2: a share from 0 to 1, such as 0.5"),
        (ClientOptions, {"timeout_us": 0}, r"timeout_us = 0: a whole number, at least 1"),
        (ClientOptions, {"deadline_us": 0}, r"deadline_us = 0: a whole number, at least 1"),
        (ClientOptions, {"attempts_max": 0}, r"attempts_max = 0"),
        (ClientOptions, {"queue_limit": -1}, r"queue_limit = -1: a whole number, at least 0"),
        (
            ClientOptions,
            {"hedge_us": SECOND, "timeout_us": SECOND},
            r"hedge_us = 1000000: below timeout_us = 1000000, or None for no hedging",
        ),
    ],
)
def test_values_out_of_range_are_refused(
    make: Any, given_values: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(**given_values)


@given(st.lists(st.one_of(st.none(), st.integers(0, 9))))
def test_calls_keep_the_order_of_arrival(steps: list[int | None]) -> None:
    calls, plain, number = Calls(), dict[int, Call](), 0
    for remove in steps:
        if remove is None:
            number += 1
            calls = calls.add(Call(100 + number, "command"))
            plain[number] = Call(100 + number, "command")
            assert calls.last == number
        elif plain:
            ticket = list(plain)[remove % len(plain)]
            calls = calls.remove(ticket)
            del plain[ticket]
        assert dict(calls.open) == plain
        assert len(calls) == len(plain)
        assert bool(calls) == bool(plain)
        if plain:
            assert calls.first == next(iter(plain))
