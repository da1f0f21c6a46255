"""Random SimPy programs do the same, event for event, on SimPy and on the engine.

What single promises of SimPy's documentation mean is tested in test_engine_conformance.py; here
programs are drawn that mix everything: timeouts, stores, resources, containers, shared events,
conditions, children, interrupts and failures. Compared are what the processes saw, the type and
time of every event, the failures that came out of ``run``, and the clock.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Generator
from functools import wraps
from math import inf
from typing import Any

import pytest
import simpy
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sim.engine import Engine

BOTH = [simpy.Environment, Engine]
SCRIPTS = 4  # numbers of what a program consists of: scripts, shared events
EVENTS = 2
END = 60  # any program that is not stuck is over long before: at most 4 · 6 operations of ≤ 4 µs


class Boom(Exception):
    """What fails in these programs."""


# -- programs ---------------------------------------------------------------------------------

times = st.integers(0, 4)
priorities = st.integers(0, 2)
script_numbers = st.integers(0, SCRIPTS - 1)
event_numbers = st.integers(0, EVENTS - 1)
OPERATIONS = [
    st.tuples(st.just("sleep"), times),
    st.tuples(st.just("put"), st.sampled_from(["store", "filter", "priority"]), st.integers(0, 3)),
    st.tuples(st.just("get"), st.sampled_from(["store", "filter", "priority"]), st.integers(0, 3)),
    st.tuples(st.just("get_or_give_up"), times),
    st.tuples(st.just("use"), st.sampled_from(["plain", "ranked", "robbed"]), priorities, times),
    st.tuples(st.just("use"), st.just("robbed"), priorities, st.integers(2, 4)),
    st.tuples(st.just("fill"), st.integers(1, 3)),
    st.tuples(st.just("drain"), st.integers(1, 3)),
    st.tuples(st.just("any"), times, times),
    st.tuples(st.just("all"), times, event_numbers),
    st.tuples(st.just("signal"), event_numbers, st.booleans()),
    st.tuples(st.just("wait"), event_numbers),
    st.tuples(st.just("spawn"), script_numbers, st.booleans()),
    st.tuples(st.just("join"), script_numbers),
    st.tuples(st.just("interrupt"), script_numbers),
    st.tuples(st.just("fail")),
]


def programs_of(operations: list) -> st.SearchStrategy[list]:
    scripts = st.lists(st.one_of(operations), max_size=6)
    return st.lists(scripts, min_size=SCRIPTS, max_size=SCRIPTS)


# Of all operations, or of a few, which then meet more often.
few = st.lists(st.sampled_from(OPERATIONS), min_size=1, max_size=4, unique_by=id)
programs = programs_of(OPERATIONS) | few.flatmap(programs_of)


class World:
    """One program on one environment: what its processes share, and the log of what they saw."""

    def __init__(self, make: Callable[[], simpy.Environment], program: list) -> None:
        self.env = env = make()
        self.program, self.log = program, []
        self.stores = {
            "store": simpy.Store(env, capacity=2),
            "filter": simpy.FilterStore(env, capacity=2),
            "priority": simpy.PriorityStore(env),
        }
        self.resources = {
            "plain": simpy.Resource(env),
            "ranked": simpy.PriorityResource(env, capacity=2),
            "robbed": simpy.PreemptiveResource(env),
        }
        self.tank = simpy.Container(env, capacity=4, init=1)
        self.events = [env.event() for _ in range(EVENTS)]
        self.processes = [env.process(self.life(f"p{i}", i)) for i in range(SCRIPTS)]

    def note(self, *what: object) -> None:
        self.log.append((self.env.now, *what))

    def life(self, name: str, script: int) -> Generator:
        """A process: its operations, one after the other, whatever interrupts them."""
        for operation in self.program[script]:
            self.note(name, "begins", *operation)
            try:
                seen = yield from getattr(self, operation[0])(name, *operation[1:])
            except simpy.Interrupt as interrupt:
                self.note(name, "interrupted", self.cause(interrupt.cause))
            except Boom as boom:
                if operation[0] == "fail":
                    raise
                self.note(name, "saw", *boom.args)
            else:
                self.note(name, "did", seen)
        return name

    def cause(self, cause: Any) -> object:
        if isinstance(cause, simpy.resources.resource.Preempted):
            return ("preempted", cause.by.name, cause.usage_since)
        return cause

    # Operations: generators; what they return is logged.

    def sleep(self, name: str, delay: int) -> Generator:
        return (yield self.env.timeout(delay, value=delay))

    def put(self, name: str, store: str, item: int) -> Generator:
        yield self.stores[store].put(item)
        return list(self.stores[store].items)

    def get(self, name: str, store: str, item: int) -> Generator:
        wanted = [lambda each: each == item] if store == "filter" else []
        return (yield self.stores[store].get(*wanted))

    def get_or_give_up(self, name: str, delay: int) -> Generator:
        get = self.stores["store"].get()
        got = yield get | self.env.timeout(delay, "late")
        if get not in got:
            get.cancel()
        return list(got.values())

    def use(self, name: str, resource: str, priority: int, hold: int) -> Generator:
        what = self.resources[resource]
        ranked = {} if resource == "plain" else {"priority": priority}
        with what.request(**ranked) as request:
            yield request
            self.note(name, "has", resource, what.count, len(what.queue))
            yield self.env.timeout(hold)
        return resource

    def fill(self, name: str, amount: int) -> Generator:
        yield self.tank.put(amount)
        return self.tank.level

    def drain(self, name: str, amount: int) -> Generator:
        yield self.tank.get(amount)
        return self.tank.level

    def any(self, name: str, one: int, other: int) -> Generator:
        got = yield self.env.any_of([self.env.timeout(one, "one"), self.env.timeout(other, "two")])
        return list(got.values())

    def all(self, name: str, delay: int, number: int) -> Generator:
        got = yield self.env.timeout(delay, "slept") & self.events[number]
        return list(got.values())

    def signal(self, name: str, number: int, well: bool) -> Generator:
        if not self.events[number].triggered:
            if well:
                self.events[number].succeed(name)
            else:
                self.events[number].fail(Boom(name))
        return (yield self.env.timeout(0))

    def wait(self, name: str, number: int) -> Generator:
        return (yield self.events[number])

    def fail(self, name: str) -> Generator:
        yield self.env.timeout(0)
        raise Boom(name)

    def spawn(self, name: str, script: int, wait: bool) -> Generator:
        child = f"{name}.{script}"
        if child.count(".") > 2:
            return "enough"
        process = self.env.process(self.life(child, script))
        if wait:
            return (yield process)
        return process.is_alive

    def join(self, name: str, number: int) -> Generator:
        process = self.processes[number]
        if process is self.env.active_process:
            return "that is me"
        return (yield process)

    def interrupt(self, name: str, number: int) -> Generator:
        try:
            self.processes[number].interrupt(name)
        except RuntimeError as error:  # it is dead, or it is me
            return re.sub(r"<Process\((\w+)\).*?>", r"\1", str(error))
        return (yield self.env.timeout(0))


# -- ways to run one --------------------------------------------------------------------------


def guarded(world: World, run: Callable[[], object]) -> bool:
    """Run; log a failure that comes out, with its causes. Whether it came to its end."""
    try:
        world.note("run returned", run())
    except (Boom, simpy.Interrupt) as failure:
        chain = [failure]
        while chain[-1].__cause__ is not None:
            chain.append(chain[-1].__cause__)
        world.note("run raised", [(type(each).__name__, each.args) for each in chain])
        return False
    return True


def by_run(world: World) -> None:
    """run(), and again after each failure."""
    while not guarded(world, world.env.run):
        pass


def by_steps(world: World) -> None:
    """step() until nothing is left."""
    while world.env.peek() < inf:
        guarded(world, world.env.step)


def watched(world: World) -> None:
    """run() with a patched step, as in SimPy's guide to monitoring, that logs every event."""
    env, step = world.env, world.env.step

    @wraps(step)
    def watching() -> None:
        if env._queue:
            at, what = env._queue[0][0], env._queue[0][3]
            world.note("event", at, type(what).__name__, what.triggered)
        step()

    env.step = watching  # type: ignore[method-assign]
    by_run(world)


def scheduling_watched(world: World) -> None:
    """run() with a patched schedule that logs what is scheduled, how urgently and for when."""
    env, schedule = world.env, world.env.schedule

    @wraps(schedule)
    def watching(what: simpy.Event, priority: int = 1, delay: float = 0) -> None:
        world.note("scheduled", type(what).__name__, int(priority), delay)
        schedule(what, priority, delay)

    env.schedule = watching  # type: ignore[method-assign]
    by_run(world)


@pytest.mark.parametrize("way", [by_run, by_steps, watched, scheduling_watched])
@given(program=programs)
def test_a_program_does_the_same_on_both(way: Callable[[World], None], program: list) -> None:
    logs = []
    for make in BOTH:
        world = World(make, program)
        way(world)
        world.note("in the end", world.env.peek(), [p.is_alive for p in world.processes])
        logs.append(world.log)
    for entry in logs[0]:
        event(f"{entry[1]}" if entry[1] == "run raised" else f"{entry[2]}")
    assert logs[0] == logs[1]


@given(program=programs, ends=st.lists(st.integers(1, END), unique=True).map(sorted))
def test_runs_until_times_are_the_same_on_both(program: list, ends: list[int]) -> None:
    logs = []
    for make in BOTH:
        world = World(make, program)
        for end in ends:
            while world.env.now < end:
                guarded(world, lambda env=world.env, end=end: env.run(until=end))
        logs.append(world.log)
    assert logs[0] == logs[1]


@given(program=programs, number=script_numbers)
def test_runs_until_a_process_are_the_same_on_both(program: list, number: int) -> None:
    logs = []
    for make in BOTH:
        world = World(make, program)
        try:
            guarded(world, lambda world=world: world.env.run(until=world.processes[number]))
        except RuntimeError as stuck:
            world.note(str(stuck).split(":")[0])
        by_run(world)
        logs.append(world.log)
    assert logs[0] == logs[1]


@given(program=programs, ends=st.lists(st.integers(0, END)).map(sorted))
def test_run_until_us_does_what_simpy_does(program: list, ends: list[int]) -> None:
    """Slices of run_until_us see what one run() of SimPy sees, but for when it returned."""
    stock, ours = World(simpy.Environment, program), World(Engine, program)
    by_run(stock)
    assert isinstance(ours.env, Engine)
    for end in [*ends, 10 * END]:
        while ours.env.now < end or ours.env.peek() <= end:
            guarded(ours, lambda end=end: ours.env.run_until_us(end))
    assert without_returns(ours.log) == without_returns(stock.log)


def without_returns(log: list) -> list:
    return [entry for entry in log if entry[1] != "run returned"]


def test_the_programs_are_not_idle() -> None:
    """Over many programs, everything they can do, and every outcome, does happen."""
    seen: set[str] = set()

    @settings(max_examples=400, derandomize=True, database=None)
    @given(program=programs)
    def collect(program: list) -> None:
        world = World(Engine, program)
        watched(world)
        for entry in world.log:
            seen.add(entry[1])
            seen.update(word for word in entry[2:4] if isinstance(word, str))
            if isinstance(entry[-1], tuple):
                seen.add(entry[-1][0])

    collect()
    operations_seen = {"sleep", "put", "get", "get_or_give_up", "use", "fill", "drain", "any"}
    operations_seen |= {"all", "signal", "wait", "spawn", "join", "interrupt", "fail"}
    outcomes = {"did", "saw", "has", "interrupted", "preempted", "run raised", "run returned"}
    kinds = {"Initialize", "Timeout", "Process", "Interruption", "Request", "Release", "StorePut"}
    assert operations_seen | outcomes | kinds <= seen


# -- what a failure shows ---------------------------------------------------------------------


def test_a_traceback_reads_the_same_but_for_the_frames_of_the_loop() -> None:
    def child(env: simpy.Environment) -> Generator:
        yield env.timeout(1)
        raise Boom("why")

    def parent(env: simpy.Environment) -> Generator:
        yield env.process(child(env))

    texts = []
    for make in BOTH:
        env = make()
        env.process(parent(env))
        with pytest.raises(Boom) as seen:
            env.run()
        texts.append(shown(seen.value))
    assert texts[0] == texts[1]
    assert sum(line.endswith("Boom: why") for line in texts[0]) == 3


def shown(failure: BaseException) -> list[str]:
    """The lines of a traceback, without the frames inside SimPy and the engine."""
    lines = "".join(traceback.format_exception(failure)).splitlines()
    kept, in_loop = [], False
    for line in lines:
        if line.startswith("  File "):
            in_loop = "simpy" in line.split('"')[1].split("/")[-2:] or "engine.py" in line
            in_loop = in_loop and "test_engine" not in line
        elif not line.startswith("    "):
            in_loop = False
        if not in_loop:
            kept.append(line)
    return kept
