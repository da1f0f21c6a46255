"""What SimPy's documentation promises of events, processes and run(), on SimPy and on the engine.

Every test runs on both. Sections follow SimPy's guides: "Events", "Process Interaction",
"Environments".
"""

from __future__ import annotations

from collections.abc import Generator
from math import inf

import pytest
import simpy
from simpy.core import EmptySchedule, StopSimulation
from simpy.events import AllOf, AnyOf, Condition, Event

from sim.engine import Engine


class Boom(Exception):
    """What fails in these tests."""


@pytest.fixture(params=[simpy.Environment, Engine], ids=["simpy", "engine"])
def env(request: pytest.FixtureRequest) -> simpy.Environment:
    return request.param()


@pytest.fixture
def log() -> list:
    return []


def waiter(env: simpy.Environment, log: list, name: str, event: Event) -> Generator:
    """Wait for an event; log when and how it came."""
    try:
        value = yield event
    except Boom as boom:
        log.append((env.now, name, "failed", str(boom)))
    else:
        log.append((env.now, name, value))


def returning(env: simpy.Environment, delay: int, value: object = None) -> Generator:
    yield env.timeout(delay)
    return value


def raising(env: simpy.Environment, delay: int, failure: BaseException) -> Generator:
    yield env.timeout(delay)
    raise failure


# -- events -----------------------------------------------------------------------------------


def test_an_event_is_pending_then_triggered_then_processed(env, log) -> None:
    event = env.event()
    event.callbacks.append(log.append)
    assert not event.triggered and not event.processed
    with pytest.raises(AttributeError):
        _ = event.value
    event.succeed("x")
    assert event.triggered and event.ok and event.value == "x" and not event.processed
    env.run()
    assert event.processed and event.callbacks is None and log == [event]


def test_an_event_is_triggered_once(env) -> None:
    event = env.event().succeed()
    with pytest.raises(RuntimeError, match="already been triggered"):
        event.succeed()
    with pytest.raises(RuntimeError, match="already been triggered"):
        event.fail(Boom())
    with pytest.raises(TypeError, match="not an exception"):
        env.event().fail("text")


def test_a_failure_is_thrown_into_every_process_that_waits(env, log) -> None:
    event = env.event()
    for name in "ab":
        env.process(waiter(env, log, name, event))
    env.timeout(4).callbacks.append(lambda _: event.fail(Boom("why")))
    env.run()
    assert log == [(4, "a", "failed", "why"), (4, "b", "failed", "why")]
    assert event.defused


def test_a_failure_that_nobody_handles_ends_run_and_the_rest_can_go_on(env, log) -> None:
    event = env.event()
    env.timeout(3).callbacks.append(lambda _: event.fail(Boom("lost")))
    env.process(waiter(env, log, "later", env.timeout(5, "v")))
    with pytest.raises(Boom, match="lost") as seen:
        env.run()
    assert env.now == 3 and seen.value.__cause__ is event.value
    env.run()
    assert log == [(5, "later", "v")]


def test_a_callback_may_defuse_a_failure(env) -> None:
    event = env.event()
    event.callbacks.append(lambda event: setattr(event, "defused", True))
    event.fail(Boom())
    env.run()
    assert event.processed and not event.ok and event.defused


def test_trigger_passes_on_state_and_value(env, log) -> None:
    good, bad, copy_of_good, copy_of_bad = (env.event() for _ in range(4))
    good.callbacks.append(copy_of_good.trigger)
    bad.callbacks.append(copy_of_bad.trigger)
    env.process(waiter(env, log, "good", copy_of_good))
    env.process(waiter(env, log, "bad", copy_of_bad))
    bad.defused = True
    good.succeed(1)
    bad.fail(Boom("2"))
    env.run()
    assert log == [(0, "good", 1), (0, "bad", "failed", "2")]


def test_callbacks_run_in_order_and_processes_are_among_them(env, log) -> None:
    event = env.timeout(2, "v")
    env.process(waiter(env, log, "process", event))
    event.callbacks.append(lambda event: log.append("first"))  # the process has not begun yet
    env.step()
    event.callbacks.append(lambda event: log.append("last"))
    env.run()
    assert log == ["first", (2, "process", "v"), "last"]


def test_timeouts_have_values_and_no_negative_delay(env, log) -> None:
    env.process(waiter(env, log, "t", env.timeout(0, value="v")))
    with pytest.raises(ValueError, match="Negative delay -1"):
        env.timeout(-1)
    env.run()
    assert log == [(0, "t", "v")] and env.peek() == inf


def test_events_of_one_instant_come_in_the_order_of_their_triggering(env, log) -> None:
    events = [env.event() for _ in range(3)]
    for i, event in enumerate(events):
        env.process(waiter(env, log, i, event))
    for i in (2, 0, 1):
        events[i].succeed()
    env.run()
    assert [name for _, name, _ in log] == [2, 0, 1]


def test_fractions_of_time_are_allowed_to_simpy_programs(env, log) -> None:
    for delay in (0.5, 0.25, 1):
        env.process(waiter(env, log, delay, env.timeout(delay)))
    env.run(until=0.75)
    assert log == [(0.25, 0.25, None), (0.5, 0.5, None)] and env.now == 0.75


# -- conditions -------------------------------------------------------------------------------


def test_and_waits_for_both_or_for_the_first(env, log) -> None:
    a, b = env.timeout(1, "a"), env.timeout(2, "b")

    def process():
        one = yield a | b
        log.append((env.now, one.todict()))
        both = yield a & b
        log.append((env.now, list(both.keys()), list(both.values())))

    env.process(process())
    env.run()
    assert log == [(1, {a: "a"}), (2, [a, b], ["a", "b"])]


def test_a_condition_value_is_like_a_dict_in_the_order_of_its_events(env) -> None:
    late, soon, never = env.timeout(2, "late"), env.timeout(1, "soon"), env.timeout(9)
    value = env.run(until=AnyOf(env, [never, late & soon]))
    assert list(value) == [late, soon]
    assert value[late] == "late" and soon in value and never not in value
    assert list(value.items()) == [(late, "late"), (soon, "soon")]
    assert value == {late: "late", soon: "soon"}
    with pytest.raises(KeyError):
        value[never]


def test_events_of_one_instant_are_both_in_an_any_of(env) -> None:
    """The condition is triggered by the first and its value built when it is processed."""
    first, second = env.timeout(1, 1), env.timeout(1, 2)
    assert env.run(until=first | second) == {first: 1, second: 2}


def test_conditions_of_nothing_and_of_what_is_processed_already(env) -> None:
    assert env.run(until=env.all_of([])) == {}
    assert env.run(until=env.any_of([])) == {}
    done = env.timeout(1, "done")
    env.run()
    later = env.timeout(2, "later")
    assert env.run(until=env.any_of([done, later])) == {done: "done"} and env.now == 1
    assert env.run(until=env.all_of([done, later])) == {done: "done", later: "later"}


def test_a_condition_fails_with_the_first_failure(env, log) -> None:
    bad, slow = env.event(), env.timeout(5)
    env.process(waiter(env, log, "all", AllOf(env, [slow, bad])))
    env.process(waiter(env, log, "any", AnyOf(env, [slow, bad])))
    env.timeout(2).callbacks.append(lambda _: bad.fail(Boom("bad")))
    env.run()
    assert log == [(2, "all", "failed", "bad"), (2, "any", "failed", "bad")]


def test_a_failure_after_the_condition_was_met_is_nobodys(env) -> None:
    bad = env.event()
    env.process(returning(env, 0))
    condition = env.timeout(1) | bad
    env.timeout(2).callbacks.append(lambda _: bad.fail(Boom("too late")))
    env.run(until=condition)
    with pytest.raises(Boom, match="too late"):
        env.run()


def test_a_condition_of_ones_own(env) -> None:
    events = [env.timeout(delay, delay) for delay in (1, 2, 3)]
    two = Condition(env, lambda events, count: count >= 2, events)
    assert list(env.run(until=two).values()) == [1, 2] and env.now == 2


def test_events_of_two_environments_do_not_mix(env) -> None:
    with pytest.raises(ValueError, match="different environments"):
        env.event() & type(env)().event()


# -- processes --------------------------------------------------------------------------------


def test_a_process_begins_when_the_simulation_does_and_before_older_timeouts(env, log) -> None:
    env.process(waiter(env, log, "older", env.timeout(0)))
    env.timeout(0).callbacks.append(lambda _: log.append("timeout"))
    process = env.process(returning(env, 0, "v"))
    assert log == [] and process.is_alive and process.name == "returning"
    env.step()
    env.step()
    assert log == [] and type(process.target).__name__ == "Timeout"
    env.run()
    assert log == [(0, "older", None), "timeout"] and process.value == "v"


def test_only_generators_are_processes_and_only_events_are_yielded(env) -> None:
    with pytest.raises(ValueError, match="not a generator"):
        env.process(print)

    def wrong():
        yield 42

    env.process(wrong())
    with pytest.raises(RuntimeError, match='Invalid yield value "42"'):
        env.run()


def test_processes_wait_for_processes_and_get_what_they_return(env, log) -> None:
    def parent():
        child = env.process(returning(env, 3, "child"))
        value = yield child
        log.append((env.now, value))
        again = yield child  # processed already: goes on at once
        log.append((env.now, again))
        yield env.process(returning(env, 0))

    assert env.run(until=env.process(parent())) is None
    assert log == [(3, "child"), (3, "child")]


def test_a_child_fails_into_its_parent_and_the_chain_of_causes_is_kept(env) -> None:
    failure = Boom("child")

    def parent():
        yield env.process(raising(env, 2, failure))

    env.process(parent())
    with pytest.raises(Boom, match="child") as seen:
        env.run()
    in_parent = seen.value.__cause__
    assert in_parent is not None and in_parent.__cause__ is failure
    assert in_parent.__traceback__.tb_frame.f_code.co_name == "parent"
    assert failure.__traceback__.tb_frame.f_code.co_name == "raising"


def test_an_exception_that_takes_other_arguments_is_a_type_error(env) -> None:
    """SimPy copies failures by ``type(failure)(*failure.args)``; so must the engine."""

    class Picky(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(f"{a} {b}")

    env.process(raising(env, 1, Picky(1, 2)))
    with pytest.raises(TypeError):
        env.run()


def test_active_process_is_the_one_that_runs(env, log) -> None:
    def process():
        log.append(env.active_process)
        yield env.timeout(1)
        log.append(env.active_process)

    assert env.active_process is None
    mine = env.process(process())
    env.timeout(1).callbacks.append(lambda _: log.append(env.active_process))
    env.run()
    assert log == [mine, None, mine] and env.active_process is None


def test_processes_pass_a_shared_event_around(env, log) -> None:
    """The docs' school: a bell that is replaced each time it rings."""
    bell = [env.event()]

    def ringing():
        for _ in range(2):
            yield env.timeout(45)
            bell[0].succeed()
            bell[0] = env.event()

    def pupil(name):
        for _ in range(2):
            yield bell[0]
            log.append((env.now, name))

    for name in "abc":
        env.process(pupil(name))
    env.process(ringing())
    env.run()
    assert log == [(at, name) for at in (45, 90) for name in "abc"]


# -- interrupts -------------------------------------------------------------------------------


def sleeper(env: simpy.Environment, log: list, delay: int = 10) -> Generator:
    try:
        yield env.timeout(delay)
        log.append((env.now, "slept"))
    except simpy.Interrupt as interrupt:
        log.append((env.now, interrupt.cause))


def test_an_interrupt_has_a_cause_and_leaves_the_target_alone(env, log) -> None:
    target = env.timeout(5, "came anyway")

    def patient():
        try:
            yield target
        except simpy.Interrupt as interrupt:
            log.append((env.now, interrupt.cause))
            log.append((yield target))

    process = env.process(patient())
    env.timeout(3).callbacks.append(lambda _: process.interrupt("wake"))
    env.run()
    assert log == [(3, "wake"), "came anyway"] and env.now == 5


def test_an_interrupt_comes_before_what_is_due_at_that_instant(env, log) -> None:
    process = []
    env.timeout(10).callbacks.append(lambda _: process[0].interrupt("first"))
    process.append(env.process(sleeper(env, log)))
    env.run()
    assert log == [(10, "first")]


def test_interrupting_the_dead_or_oneself_is_an_error(env, log) -> None:
    def suicidal():
        with pytest.raises(RuntimeError, match="not allowed to interrupt itself"):
            env.active_process.interrupt()
        yield env.timeout(1)

    process = env.process(suicidal())
    env.run()
    with pytest.raises(RuntimeError, match="has terminated and cannot be interrupted"):
        process.interrupt()


def test_an_interrupt_that_comes_too_late_is_dropped(env, log) -> None:
    process = env.process(sleeper(env, log))
    env.run(until=4)
    process.interrupt("first")
    process.interrupt("second")
    env.run()
    assert log == [(4, "first")]


def test_an_interrupt_that_is_not_caught_ends_the_process(env) -> None:
    process = env.process(returning(env, 9))
    env.run(until=2)
    process.interrupt("cause")
    with pytest.raises(simpy.Interrupt) as seen:
        env.run()
    assert seen.value.cause == "cause" and not process.is_alive and not process.ok


def test_a_process_may_be_interrupted_before_its_first_step_but_begins_first(env, log) -> None:
    env.process(sleeper(env, log)).interrupt("at once")
    env.run()
    assert log == [(0, "at once")]


# -- run --------------------------------------------------------------------------------------


def test_run_without_events(env) -> None:
    assert env.run() is None and env.now == 0
    assert env.run(until=5) is None and env.now == 5
    with pytest.raises(EmptySchedule):
        while True:
            env.step()


def test_run_until_a_time_stops_before_what_is_due_then(env, log) -> None:
    for delay in (4, 5):
        env.process(waiter(env, log, delay, env.timeout(delay)))
    env.run(until=5)
    assert log == [(4, 4, None)] and env.now == 5 and env.peek() == 5
    env.run(until=6)
    assert log[1:] == [(5, 5, None)]


@pytest.mark.parametrize("until", [0, -1, 3, 2.5])
def test_run_until_the_past_is_an_error(env, until) -> None:
    env.run(until=3)
    with pytest.raises(ValueError, match="must be greater than the current simulation time"):
        env.run(until=until)


def test_run_until_an_event_returns_its_value_or_raises_its_failure(env) -> None:
    assert env.run(until=env.timeout(3, "v")) == "v" and env.now == 3
    assert env.run(until=env.process(returning(env, 2, "r"))) == "r" and env.now == 5
    with pytest.raises(Boom, match="f"):
        env.run(until=env.process(raising(env, 1, Boom("f"))))
    assert env.now == 6


def test_run_until_an_event_that_is_over_returns_at_once(env) -> None:
    event = env.timeout(1, "v")
    env.run()
    env.timeout(5)
    assert env.run(until=event) == "v" and env.now == 1


def test_run_until_an_event_that_never_comes_is_an_error(env) -> None:
    env.timeout(4)
    with pytest.raises(RuntimeError, match='"until" event was not triggered'):
        env.run(until=env.event())
    assert env.now == 4


def test_what_is_left_of_the_last_event_comes_first_when_the_run_goes_on(env, log) -> None:
    event = env.timeout(2, "v")
    event.callbacks.append(lambda _: log.append("before"))
    env.process(waiter(env, log, "other", env.timeout(2)))
    env.step()
    event.callbacks.append(StopSimulation.callback)
    event.callbacks.append(lambda event: log.append(("after", event.value)))
    assert env.run() == "v" and log == ["before"] and env.now == 2
    env.run()
    assert log == ["before", ("after", "v"), (2, "other", None)]


def test_a_process_may_stop_the_simulation(env, log) -> None:
    def stopping():
        yield env.timeout(1)
        raise StopSimulation("enough")

    env.process(stopping())
    env.process(waiter(env, log, "later", env.timeout(2)))
    assert env.run() == "enough" and env.now == 1
    assert env.run(until=1.5) is None
    env.run()
    assert log == [(2, "later", None)]


def test_step_by_step_is_the_same_as_run(env, log) -> None:
    for delay in (3, 1, 2):
        env.process(waiter(env, log, delay, env.timeout(delay)))
    while env.peek() < inf:
        before = env.peek()
        env.step()
        assert env.now == before
    assert log == [(1, 1, None), (2, 2, None), (3, 3, None)]


def test_an_empty_schedule_raised_by_a_process_ends_run_quietly(env) -> None:
    """Not a promise but what SimPy does: a script that steps too far inside a run ends the run."""
    env.timeout(1).callbacks.append(lambda _: env.step())
    assert env.run() is None and env.now == 1
