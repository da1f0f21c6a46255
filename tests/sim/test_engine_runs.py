"""Bounded runs of the engine, and runs that a failing call ends."""

from __future__ import annotations

from functools import wraps

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simpy.core import EmptySchedule, StopSimulation

from sim.engine import Engine

# -- bounded runs -----------------------------------------------------------------------------


@pytest.mark.parametrize("max_events", [None, 100])
def test_run_until_us_includes_its_end_and_leaves_the_clock_there(max_events: int | None) -> None:
    engine, log = Engine(), []
    for at in (0, 9, 10, 10, 11):
        engine.call_at(at, log.append, at)
    engine.call_at(10, lambda _: engine.call_later(0, log.append, "made at the end"), None)
    assert engine.run_until_us(10, max_events=max_events) == 6
    assert log == [0, 9, 10, 10, "made at the end"] and engine.now == 10
    assert engine.run_until_us(10, max_events=max_events) == 0  # the present is no error
    assert engine.run_until_us(500, max_events=max_events) == 1
    assert log[-1] == 11 and engine.now == 500
    assert engine.run_until_us(600, max_events=max_events) == 0 and engine.now == 600


def test_run_with_until_stops_before_its_end_where_run_until_us_includes_it() -> None:
    engine, log = Engine(), []
    engine.call_later(10, log.append, "at 10")
    engine.run(until=10)
    assert (log, engine.now) == ([], 10)
    engine.run_until_us(10)
    assert log == ["at 10"]


def test_max_events_stops_in_time_and_a_later_run_goes_on_there() -> None:
    engine, log = Engine(), []
    for at in (1, 2, 2, 3):
        engine.call_at(at, log.append, at)
    assert engine.run_until_us(50, max_events=0) == 0 and engine.now == 0
    assert engine.run_until_us(50, max_events=2) == 2
    assert (log, engine.now, engine.peek()) == ([1, 2], 2, 2)
    assert engine.run_until_us(50, max_events=2) == 2
    assert (log, engine.now) == ([1, 2, 2, 3], 50)  # nothing is left to do: the end is reached


def test_max_events_ends_a_livelock_at_one_instant() -> None:
    engine = Engine()

    def again(_: None) -> None:
        engine.call_later(0, again, None)

    again(None)
    assert engine.run_until_us(5, max_events=1000) == 1000
    assert (engine.now, engine.pending()) == (0, 1)


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)), st.integers(1, 4))
def test_however_a_run_is_sliced_it_is_the_same_run(
    delays: list[int], ends: list[int], bound: int
) -> None:
    def start() -> tuple[Engine, list]:
        engine, log = Engine(), []

        def call(depth: int) -> None:
            log.append((engine.now, depth))
            if depth:
                engine.call_later(depth % 3, call, depth - 1)

        for delay in delays:
            engine.call_later(delay, call, delay)
        return engine, log

    whole, expected = start()
    count = whole.run_until_us(100)
    sliced, log = start()
    total = 0
    for end in [*sorted(ends), 100]:
        while sliced.now < end or sliced.peek() <= end:
            total += sliced.run_until_us(end, max_events=bound)
    assert (log, total, sliced.now) == (expected, count, 100)


def test_stop_simulation_raised_by_a_call_ends_a_run() -> None:
    engine, log = Engine(), []

    def stop(value: str) -> None:
        raise StopSimulation(value)

    for run in (engine.run, lambda: engine.run_until_us(engine.now + 50)):
        engine.call_later(3, stop, "enough")
        engine.call_later(4, log.append, "rest")
        before = engine.now
        assert run() in ("enough", 1)
        assert (log, engine.now) == ([], before + 3)
        engine.run()
        assert log.pop() == "rest"


def test_a_run_inside_a_call_never_turns_the_clock_back() -> None:
    engine, log = Engine(), []
    note = lambda what: log.append((engine.now, what))  # noqa: E731
    engine.call_at(10, lambda _: (engine.run_until_us(50), note("back")), None)
    engine.call_at(15, note, "inner")
    engine.call_at(60, note, "later")
    engine.run_until_us(20)
    assert log == [(15, "inner"), (50, "back")]
    assert engine.now == 50
    engine.run()
    assert log[-1] == (60, "later")


# -- failures ---------------------------------------------------------------------------------


def runs(engine: Engine):
    return [
        engine.run,
        lambda: engine.run_until_us(99),
        lambda: engine.run_until_us(99, max_events=9),
    ]


@pytest.mark.parametrize("failure", [IndexError, KeyError, RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("way", range(3), ids=["run", "run_until_us", "max_events"])
@pytest.mark.parametrize("watched", [False, True])
def test_a_failing_call_is_seen_and_the_rest_can_go_on(
    failure: type[BaseException], way: int, watched: bool
) -> None:
    engine, log = Engine(), []
    if watched:
        engine.step = wraps(engine.step)(lambda step=engine.step: step())  # type: ignore

    def fail(_: None) -> None:
        raise failure("of the call")

    engine.call_later(5, log.append, "before")
    engine.call_later(7, fail, None)
    engine.call_later(7, log.append, "after")
    with pytest.raises(failure, match="of the call"):
        runs(engine)[way]()
    assert (log, engine.now, engine.pending(), engine.events_processed) == (["before"], 7, 1, 2)
    runs(engine)[way]()
    assert log == ["before", "after"]


def test_step_raises_the_index_error_of_a_call_and_not_empty_schedule() -> None:
    engine = Engine()
    engine.call_later(0, [].pop, 0)
    with pytest.raises(IndexError):
        engine.step()
    with pytest.raises(EmptySchedule):
        engine.step()
