"""Random small SimPy programs as values, and a way to run one on any environment.

A program is a list of scripts, one per process; a script is a list of steps ``(verb, ...)``.
Everything a process sees goes into a log ``(time, process, what)``, to be compared between
environments.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import simpy
from hypothesis import strategies as st
from simpy.resources.resource import Preempted

Step = tuple[Any, ...]
Script = list[Step]


class Boom(Exception):
    """What fails in these programs."""


# -- what can be written ----------------------------------------------------------------------

delays = st.integers(0, 4)
indices = st.integers(0, 2)
resources = st.sampled_from(["plain", "priority", "preemptive"])

simple_steps = st.one_of(
    st.tuples(st.just("sleep"), delays),
    st.tuples(st.just("later"), delays, st.integers(0, 99)),
    st.tuples(st.just("use"), resources, delays, indices, st.booleans()),
    st.tuples(st.just("use_or_leave"), resources, delays, indices, delays),
    st.tuples(st.just("put"), indices, st.integers(0, 9)),
    st.tuples(st.just("get"), indices, delays),
    st.tuples(st.just("fill"), st.integers(1, 4)),
    st.tuples(st.just("drain"), st.integers(1, 4), delays),
    st.tuples(st.just("interrupt"), indices),
    st.tuples(st.just("succeed"), indices),
    st.tuples(st.just("break"), indices),
    st.tuples(st.just("await"), indices),
    st.tuples(st.just("join"), indices),
    st.tuples(st.just("all"), indices, st.lists(delays, max_size=3)),
    st.tuples(st.just("any"), indices, st.lists(delays, max_size=3)),
    st.tuples(st.just("fail")),
)
children = st.lists(simple_steps, max_size=3)
steps = simple_steps | st.tuples(st.just("spawn"), st.booleans(), children)
scripts = st.tuples(st.booleans(), st.lists(steps, min_size=2, max_size=6))
programs = st.lists(scripts, min_size=2, max_size=4)


# -- what it does -----------------------------------------------------------------------------


class World:
    """What the processes of one program share, and what they saw."""

    def __init__(self, env: simpy.Environment, program: list[tuple[bool, Script]]) -> None:
        self.env = env
        self.log: list[tuple[Any, str, Any]] = []
        self.names: dict[simpy.events.Process, str] = {}
        self.announced = 0  # failures that a process saw leave it
        self.resources = {
            "plain": simpy.Resource(env, capacity=2),
            "priority": simpy.PriorityResource(env),
            "preemptive": simpy.PreemptiveResource(env),
        }
        self.stores = [simpy.Store(env, 2), simpy.FilterStore(env, 2), simpy.PriorityStore(env)]
        self.tank = simpy.Container(env, capacity=6, init=2)
        self.events = [env.event() for _ in range(3)]
        self.processes = [self.start(f"p{i}", *script) for i, script in enumerate(program)]

    def start(self, name: str, stubborn: bool, script: Script) -> simpy.events.Process:
        process = self.env.process(self.actor(name, stubborn, script))
        self.names[process] = name
        return process

    def note(self, who: str, *what: object) -> None:
        self.log.append((self.env.now, who, what))

    def actor(self, name: str, stubborn: bool, script: Script) -> Generator:
        """Does its steps; a stubborn one survives what is thrown into it."""
        for step in script:
            try:
                seen = yield from getattr(self, step[0])(name, *step[1:])
                self.note(name, step[0], seen, self.names[self.env.active_process])
            except simpy.Interrupt as interrupt:
                self.note(name, step[0], "interrupted", self.describe(interrupt.cause))
                if not stubborn:
                    self.announced += 1
                    raise
            except Boom as boom:
                self.note(name, step[0], "failed", *boom.args)
                if not stubborn:
                    self.announced += 1
                    raise
        return name

    def describe(self, cause: object) -> object:
        if isinstance(cause, Preempted):
            by = self.names[cause.by]
            return (
                "preempted",
                by,
                cause.usage_since,
                cause.resource is self.resources["preemptive"],
            )
        return cause

    def later(self, name: str, delay: int, number: int) -> Generator:
        """A plain call beside the events: the engine's own path where there is one."""
        call: Callable[[int], None] = lambda number: self.note("call", number)  # noqa: E731
        if hasattr(self.env, "call_later"):
            self.env.call_later(delay, call, number)
        else:
            self.env.timeout(delay).callbacks.append(lambda _: call(number))
        yield from ()

    def sleep(self, name: str, delay: int) -> Generator:
        return (yield self.env.timeout(delay, f"after {delay}"))

    def request(self, kind: str, priority: int, preempt: bool) -> simpy.resources.resource.Request:
        how = {"plain": {}, "priority": {"priority": priority}}.get(
            kind, {"priority": priority, "preempt": preempt}
        )
        return self.resources[kind].request(**how)

    def use(self, name: str, kind: str, delay: int, priority: int, preempt: bool) -> Generator:
        with self.request(kind, priority, preempt) as request:
            yield request
            self.note(name, "has", kind, self.resources[kind].count)
            yield self.env.timeout(delay)
        return len(self.resources[kind].queue)

    def use_or_leave(
        self, name: str, kind: str, delay: int, priority: int, patience: int
    ) -> Generator:
        with self.request(kind, priority, True) as request:
            got = yield request | self.env.timeout(patience)
            if request not in got:
                return "left"
            yield self.env.timeout(delay)
        return "used"

    def put(self, name: str, index: int, item: int) -> Generator:
        yield self.stores[index].put(item)
        return list(self.stores[index].items)

    def get(self, name: str, index: int, patience: int) -> Generator:
        how = [lambda item: item % 2 == 0] if index == 1 else []
        get = self.stores[index].get(*how)
        got = yield get | self.env.timeout(patience)
        if get in got:
            return got[get]
        get.cancel()
        return "nothing"

    def fill(self, name: str, amount: int) -> Generator:
        yield self.tank.put(amount)
        return self.tank.level

    def drain(self, name: str, amount: int, patience: int) -> Generator:
        get = self.tank.get(amount)
        yield self.env.any_of([self.env.timeout(patience), get])
        get.cancel()
        return get.triggered, self.tank.level

    def interrupt(self, name: str, index: int) -> Generator:
        try:
            self.processes[index % len(self.processes)].interrupt(f"by {name}")
        except RuntimeError as error:
            return "itself" if "itself" in str(error) else "terminated"
        yield from ()
        return "interrupts"

    def succeed(self, name: str, index: int) -> Generator:
        if not self.events[index].triggered:
            self.events[index].succeed(f"by {name}")
        yield from ()

    def break_(self, name: str, index: int) -> Generator:
        if not self.events[index].triggered:
            self.events[index].fail(Boom(f"event {index}"))
            self.announced += 1  # if nobody waits for it
        yield from ()

    def await_(self, name: str, index: int) -> Generator:
        return (yield self.events[index])

    def join(self, name: str, index: int) -> Generator:
        other = self.processes[index % len(self.processes)]
        if other is self.env.active_process:
            return "itself"
        return (yield other)

    def all_(self, name: str, index: int, delays: list[int]) -> Generator:
        parts = [self.env.timeout(delay, delay) for delay in delays]
        value = yield self.env.all_of([*parts, self.events[index]])
        return [repr(part) for part in value.values()]  # failures compare by identity

    def any_(self, name: str, index: int, delays: list[int]) -> Generator:
        parts = [self.env.timeout(delay, delay) for delay in delays]
        value = yield self.events[index] | self.env.any_of([*parts, self.env.timeout(3, "3")])
        return [repr(part) for part in value.values()]

    def fail(self, name: str) -> Generator:
        yield self.env.timeout(1)
        raise Boom(name)

    def spawn(self, name: str, wait: bool, script: Script) -> Generator:
        child = self.start(f"{name}.{len(self.names)}", False, script)
        return (yield child) if wait else (yield self.env.timeout(0))

    def end(self) -> tuple[object, ...]:
        """Where everything stands."""
        counts = [(r.count, len(r.queue)) for r in self.resources.values()]
        queues = [(list(s.items), len(s.put_queue), len(s.get_queue)) for s in self.stores]
        alive = [self.names[p] for p in self.names if p.is_alive]
        return self.env.now, self.env.peek(), counts, queues, self.tank.level, alive


for verb in ("break", "await", "all", "any"):  # words that Python or its builtins have taken
    setattr(World, verb, getattr(World, f"{verb}_"))


# -- ways to run it ---------------------------------------------------------------------------


def run_to_the_end(world: World, run: Callable[[], object]) -> list:
    """Run until nothing is left, noting each failure that ends a run; what was seen."""
    while world.env.peek() < simpy.core.Infinity:
        try:
            run()
        except (Boom, simpy.Interrupt) as failure:
            chain = []
            while failure is not None:
                chain.append((type(failure).__name__, world.describe(failure.args[0])))
                failure = failure.__cause__
            world.note("run", "crash", chain)
    return [*world.log, world.end()]
