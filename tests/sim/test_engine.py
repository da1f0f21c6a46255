"""The engine's own interface: the order of calls, and what is refused."""

from __future__ import annotations

import random
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy.events import NORMAL, URGENT, Event

from sim.engine import Engine

SCHEDULING = ["call_later", "call_at"]


def urgent(engine: Engine, log: list, what: object, delay: int = 0, priority: int = URGENT) -> None:
    """A SimPy event of the given priority that logs ``what`` when it is processed."""
    event = Event(engine)
    event._ok, event._value = True, None
    event.callbacks.append(lambda _: log.append(what))
    engine.schedule(event, priority, delay)


# -- order ------------------------------------------------------------------------------------


def test_calls_come_at_their_time_and_ties_in_the_order_of_scheduling() -> None:
    engine, log = Engine(), []
    for delay, name in [(30, "e"), (10, "b"), (0, "a"), (10, "c"), (20, "d")]:
        engine.call_later(delay, lambda name: log.append((engine.now, name)), name)
    engine.run()
    assert log == [(0, "a"), (10, "b"), (10, "c"), (20, "d"), (30, "e")]


@given(st.lists(st.tuples(st.sampled_from([*SCHEDULING, "timeout"]), st.integers(0, 5))))
def test_any_mix_of_ways_to_schedule_is_one_stable_sort_by_time(plan: list) -> None:
    engine, log = Engine(7), []
    for i, (way, delay) in enumerate(plan):
        if way == "call_later":
            engine.call_later(delay, log.append, i)
        elif way == "call_at":
            engine.call_at(7 + delay, log.append, i)
        else:
            engine.timeout(delay).callbacks.append(lambda _, i=i: log.append(i))
    engine.run()
    assert log == sorted(range(len(plan)), key=lambda i: plan[i][1])


def test_urgent_events_come_before_calls_and_normal_events_of_their_instant() -> None:
    engine, log = Engine(), []
    engine.call_later(5, log.append, "call 1")
    urgent(engine, log, "normal", 5, NORMAL)
    urgent(engine, log, "low", 5, NORMAL + 1)
    engine.call_later(5, log.append, "call 2")
    urgent(engine, log, "urgent 1", 5)
    urgent(engine, log, "most urgent", 5, URGENT - 1)
    urgent(engine, log, "urgent 2", 5)
    engine.call_later(4, log.append, "earlier")
    engine.run()
    in_order = ["most urgent", "urgent 1", "urgent 2", "call 1", "normal", "call 2", "low"]
    assert log == ["earlier", *in_order]


def test_a_process_started_by_a_call_begins_before_the_next_call_of_that_instant() -> None:
    engine, log = Engine(), []

    def process():
        log.append("process")
        yield engine.timeout(0)
        log.append("after timeout(0)")

    engine.call_later(1, lambda _: engine.process(process()), None)
    engine.call_later(1, log.append, "next call")
    engine.run()
    assert log == ["process", "next call", "after timeout(0)"]


def test_a_call_without_delay_made_by_a_call_is_last_of_its_instant() -> None:
    engine, log = Engine(), []
    engine.call_later(3, lambda _: engine.call_later(0, log.append, "late"), None)
    engine.call_later(3, log.append, "early")
    engine.run()
    assert log == ["early", "late"] and engine.now == 3


def test_a_key_taken_earlier_keeps_its_place() -> None:
    engine, log = Engine(), []
    engine.call_later(9, log.append, "first")
    key = engine.next_key()
    engine.call_later(9, log.append, "third")
    engine.call_later(4, lambda _: engine.call_at_key(9, key, log.append, "second"), None)
    engine.run()
    assert log == ["first", "second", "third"]


def test_times_beyond_the_precision_of_floats_stay_exact() -> None:
    start = 2**60 + 1
    engine, seen = Engine(start), []
    engine.call_later(1, lambda _: seen.append(engine.now), None)
    engine.timeout(2).callbacks.append(lambda _: seen.append(engine.now))
    engine.run(until=start + 4)
    assert [*seen, engine.now] == [start + 1, start + 2, start + 4]


# -- bad arguments ----------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [None, 1], ids=["fifo", "random ties"])
@pytest.mark.parametrize("bad", [1.0, True, False, "1", None, inf, float("nan")], ids=repr)
def test_a_time_that_is_no_int_is_a_type_error(bad: object, ties: int | None) -> None:
    engine = Engine(tie_break=None if ties is None else random.Random(ties))
    key = engine.next_key()
    for call in (
        lambda: engine.call_later(bad, print, 0),  # type: ignore[arg-type]
        lambda: engine.call_at(bad, print, 0),  # type: ignore[arg-type]
        lambda: engine.call_at_key(bad, key, print, 0),  # type: ignore[arg-type]
        lambda: engine.run_until_us(bad),  # type: ignore[arg-type]
        lambda: Engine(bad),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match="whole microseconds"):
            call()
    assert engine.pending() == engine.events_processed == engine.now == 0


@pytest.mark.parametrize("ties", [None, 1], ids=["fifo", "random ties"])
def test_the_past_is_a_value_error_that_says_what_was_given_and_what_is_allowed(
    ties: int | None,
) -> None:
    engine = Engine(100, tie_break=None if ties is None else random.Random(ties))
    key = engine.next_key()
    with pytest.raises(ValueError, match=r"delay -1 µs is not allowed.* at least 0"):
        engine.call_later(-1, print, 0)
    with pytest.raises(ValueError, match=r"time 99 µs is not allowed.* at least 100"):
        engine.call_at(99, print, 0)
    with pytest.raises(ValueError, match=r"time 99 µs is not allowed.* at least 100"):
        engine.call_at_key(99, key, print, 0)
    with pytest.raises(ValueError, match=r"end 99 µs is not allowed.* at least 100"):
        engine.run_until_us(99)
    assert engine.pending() == engine.events_processed == 0


@pytest.mark.parametrize("bad", [-1, 1.0, True, "3"], ids=repr)
def test_a_bad_bound_is_a_value_error(bad: object) -> None:
    with pytest.raises(ValueError, match="max_events"):
        Engine().run_until_us(1, max_events=bad)  # type: ignore[arg-type]


def test_a_key_used_twice_at_one_instant_is_refused() -> None:
    engine = Engine()
    key = engine.next_key()
    engine.call_at_key(1, key, print, 0)
    with pytest.raises(TypeError):
        engine.call_at_key(1, key, len, 0)


# -- what is waiting --------------------------------------------------------------------------


def test_peek_pending_and_events_processed() -> None:
    engine = Engine(100)
    assert (engine.peek(), engine.pending(), engine.events_processed) == (inf, 0, 0)
    engine.call_later(7, id, None)
    engine.timeout(3)
    assert (engine.peek(), engine.pending(), engine.events_processed) == (103, 2, 0)
    engine.step()
    assert (engine.now, engine.peek(), engine.pending(), engine.events_processed) == (
        103,
        107,
        1,
        1,
    )
    engine.step()
    assert (engine.now, engine.peek(), engine.pending(), engine.events_processed) == (
        107,
        inf,
        0,
        2,
    )


def test_a_key_that_waits_for_its_call_is_not_counted_as_processed() -> None:
    engine = Engine()
    key = engine.next_key()
    assert engine.events_processed == 0
    engine.call_at_key(5, key, id, None)
    assert engine.events_processed == 0
    assert engine.run_until_us(5) == 1
