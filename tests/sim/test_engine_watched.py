"""Watching the engine by patching it, as SimPy's guide to monitoring does."""

from __future__ import annotations

from functools import wraps

import pytest
import simpy
from simpy.events import NORMAL, Event

from sim.engine import Engine


def runs(engine: Engine):
    return [
        engine.run,
        lambda: engine.run_until_us(99),
        lambda: engine.run_until_us(99, max_events=9),
    ]


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
