"""Random ties: what is shuffled, what never is, and what is drawn for it."""

from __future__ import annotations

import random
from itertools import permutations

import simpy
from hypothesis import given
from hypothesis import strategies as st
from simpy.events import NORMAL, URGENT, Event

from sim.engine import Engine


def urgent(engine: Engine, log: list, what: object, delay: int = 0, priority: int = URGENT) -> None:
    """A SimPy event of the given priority that logs ``what`` when it is processed."""
    event = Event(engine)
    event._ok, event._value = True, None
    event.callbacks.append(lambda _: log.append(what))
    engine.schedule(event, priority, delay)


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
