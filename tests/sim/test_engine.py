"""The engine's own interface: calls, keys, bounded runs, random ties, and being watched."""

from __future__ import annotations

import random
from functools import wraps
from itertools import permutations
from math import inf

import pytest
import simpy
from hypothesis import given
from hypothesis import strategies as st
from simpy.core import EmptySchedule, StopSimulation
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


# -- random ties ------------------------------------------------------------------------------


class CountedRandom(random.Random):
    """Counts what is drawn from it."""

    draws = 0

    def getrandbits(self, k: int) -> int:
        self.draws += 1
        return super().getrandbits(k)


def tied_order(seed: int, n: int = 3) -> tuple:
    engine, log = Engine(tie_break=random.Random(seed)), []
    for i in range(n):
        [engine.call_later, engine.call_at][i % 2](5, log.append, i)
    engine.run()
    return tuple(log)


def test_a_seed_gives_one_order_and_seeds_give_every_order() -> None:
    assert tied_order(3, 20) == tied_order(3, 20)
    assert {tied_order(seed) for seed in range(100)} == set(permutations(range(3)))


def test_without_a_stream_nothing_random_is_touched() -> None:
    state = random.getstate()
    engine, log = Engine(), []
    for i in range(50):
        engine.call_later(0, log.append, i)
    engine.run()
    assert log == list(range(50)) and random.getstate() == state


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), max_size=30), st.integers())
def test_ties_are_shuffled_only_among_normal_entries_of_one_instant(plan: list, seed: int) -> None:
    engine, log = Engine(tie_break=random.Random(seed)), []
    for i, (delay, priority) in enumerate(plan):
        if priority == NORMAL and i % 2:
            engine.call_later(delay, log.append, i)
        else:
            urgent(engine, log, i, delay, priority)
    engine.run()
    assert sorted(log) == list(range(len(plan)))
    assert [plan[i] for i in log] == sorted(plan)  # times, then priorities, never mixed
    for kind in {*plan}:
        if kind[1] != NORMAL:
            same = [i for i in log if plan[i] == kind]
            assert same == sorted(same)


def test_normal_events_are_shuffled_too() -> None:
    orders = set()
    for seed in range(60):
        engine, log = Engine(tie_break=random.Random(seed)), []
        for i in range(3):
            engine.timeout(2).callbacks.append(lambda _, i=i, log=log: log.append(i))
        engine.run()
        orders.add(tuple(log))
    assert orders == set(permutations(range(3)))


def test_each_normal_entry_takes_one_draw_and_urgent_ones_none() -> None:
    stream = CountedRandom(5)
    engine = Engine(tie_break=stream)
    engine.call_later(1, id, None)
    engine.call_at(1, id, None)
    engine.timeout(1)
    key = engine.next_key()
    assert stream.draws == 4
    engine.call_at_key(1, key, id, None)
    urgent(engine, [], None)
    engine.run()
    assert stream.draws == 4


def test_an_interrupt_never_overtakes_the_start_of_its_process() -> None:
    def patient(engine: Engine, log: list):
        try:
            yield engine.timeout(10)
        except simpy.Interrupt as interrupt:
            log.append(interrupt.cause)

    for seed in range(30):
        engine, log = Engine(tie_break=random.Random(seed)), []
        engine.process(patient(engine, log)).interrupt("at once")
        engine.run()
        assert log == ["at once"]


def test_a_moved_timer_keeps_its_drawn_place() -> None:
    def order(seed: int, moved: bool) -> list:
        engine, log = Engine(tie_break=random.Random(seed)), []
        key = engine.next_key()
        for i in range(4):
            engine.call_at(9, log.append, i)
        if moved:
            engine.run_until_us(5)
        engine.call_at_key(9, key, log.append, "timer")
        engine.run()
        return log

    assert all(order(seed, True) == order(seed, False) for seed in range(20))


# -- being watched ----------------------------------------------------------------------------


def a_small_program(engine: Engine) -> None:
    def process():
        yield engine.timeout(2)
        yield engine.timeout(2)

    engine.process(process())
    engine.call_later(3, id, None)


@pytest.mark.parametrize("way", range(3), ids=["run", "run_until_us", "max_events"])
def test_a_patched_step_sees_every_entry(way: int) -> None:
    """Patched as SimPy's guide to monitoring does: a wrapper that looks at the queue's head."""
    engine, seen = Engine(), []
    step = engine.step

    @wraps(step)
    def watching() -> None:
        if engine._queue:
            at, _, _, what = engine._queue[0]
            seen.append((at, type(what).__name__))
        step()

    engine.step = watching  # type: ignore[method-assign]
    a_small_program(engine)
    runs(engine)[way]()
    names = ["Initialize", "Timeout", "NoneType", "Timeout", "Process"]
    assert seen == list(zip([0, 2, 3, 4, 4], names, strict=True))
    del engine.step  # type: ignore[method-assign]
    engine.timeout(1)
    engine.run()
    assert len(seen) == 5


def test_a_subclass_may_override_step() -> None:
    class Counting(Engine):
        steps = 0

        def step(self) -> None:
            super().step()
            self.steps += 1

    engine = Counting()
    a_small_program(engine)
    engine.run_until_us(3)
    assert engine.steps == 3
    engine.run()
    assert engine.steps == 5


def test_a_patched_step_may_be_taken_off_while_it_runs() -> None:
    engine, seen = Engine(), []
    step = engine.step

    def once() -> None:
        seen.append(engine.now)
        del engine.step  # type: ignore[method-assign]
        step()

    engine.step = once  # type: ignore[method-assign]
    a_small_program(engine)
    engine.run()
    assert seen == [0] and engine.now == 4


def test_a_patched_schedule_sees_every_event_of_simpy() -> None:
    engine, seen = Engine(), []
    schedule = engine.schedule

    @wraps(schedule)
    def watching(event: Event, priority=NORMAL, delay=0) -> None:
        seen.append((type(event).__name__, int(priority), delay))
        schedule(event, priority, delay)

    engine.schedule = watching  # type: ignore[method-assign]
    a_small_program(engine)
    engine.run(until=9)
    assert seen == [
        ("Initialize", 0, 0),
        ("Event", 0, 9),  # where run(until=9) ends
        ("Timeout", 1, 2),
        ("Timeout", 1, 2),
        ("Process", 1, 0),
        ("Event", -1, 0),  # what is left of the end
    ]


def test_the_clock_has_one_value_under_both_of_its_names() -> None:
    engine = Engine(5)
    assert isinstance(engine, simpy.Environment)
    assert engine.now == engine._now == 5
    engine.run(until=8)
    assert engine.now == engine._now == 8
