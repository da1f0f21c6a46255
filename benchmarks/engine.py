"""Events per second of engine designs, with 10, 1,000 and 100,000 events pending.

Every design does the same work: each event that fires sets another one after a delay from the same
list, until the clock reaches the same instant. The floor is the loop one would write by hand.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from itertools import cycle
from random import Random
from statistics import median
from typing import Any

import simpy

from benchmarks import Row, rate
from sim.engine import Engine

MEAN_US = 500
FLOOR = "bare heapq"
TARGETS_AT = 1_000  # pending events
MakeEnv = Callable[[], simpy.Environment]
Life = Generator[simpy.Event, Any, None]


class _Stop(Exception):
    pass


def _delays() -> Callable[[], int]:
    draw = Random(1).random
    return cycle([1 + int(draw() * 2 * MEAN_US) for _ in range(4096)]).__next__


def bare(pending: int, end_us: int) -> float:
    """A heapq loop of (time, seq, fn, arg) tuples: what any Python engine is measured against."""
    queue: list[tuple[int, int, Callable[[Any], object], Any]] = []
    delay = _delays()
    seq = now = 0

    def fire(arg: Any) -> None:
        nonlocal seq
        seq += 1
        heappush(queue, (now + delay(), seq, fire, arg))

    def stop(arg: Any) -> None:
        raise _Stop

    def loop() -> None:
        nonlocal now
        with suppress(_Stop):
            while queue:
                now, _, fn, arg = heappop(queue)
                fn(arg)

    for _ in range(pending):
        fire(None)
    heappush(queue, (end_us, 0, stop, None))
    speed = rate(1, loop)
    return speed * (seq - pending)


def call_later(run: Callable[[Engine, int], object], pending: int, end_us: int) -> float:
    """The direct path of ours; ``run(engine, end)`` runs it."""
    engine = Engine()
    later, delay = engine.call_later, _delays()

    def fire(arg: Any) -> None:
        later(delay(), fire, arg)

    for _ in range(pending):
        fire(None)
    speed = rate(1, partial(run, engine, end_us))
    return speed * engine.events_processed


def timeouts(make: MakeEnv, pending: int, end_us: int) -> float:
    """SimPy Timeouts with a callback."""
    env, delay = make(), _delays()
    timeout = env.timeout
    fired = 0

    def fire(event: Any) -> None:
        nonlocal fired
        fired += 1
        timeout(delay()).callbacks.append(fire)

    for _ in range(pending):
        timeout(delay()).callbacks.append(fire)
    speed = rate(1, lambda: env.run(until=end_us))
    return speed * fired


def processes(make: MakeEnv, pending: int, end_us: int) -> float:
    """SimPy processes that yield timeouts."""
    env, delay = make(), _delays()
    timeout = env.timeout
    fired = 0

    def life() -> Life:
        nonlocal fired
        while True:
            yield timeout(delay())
            fired += 1

    for _ in range(pending):
        env.process(life())
    speed = rate(1, lambda: env.run(until=end_us))
    return speed * fired


def stores(make: MakeEnv, pending: int, end_us: int) -> float:
    """The textbook's network: a process and a Store per node, a process per message on its way."""
    env, delay = make(), _delays()
    nodes = [simpy.Store(env) for _ in range(5)]
    received = 0

    def travel(dst: int) -> Life:
        yield env.timeout(delay())
        yield nodes[dst].put(dst)

    def serve(me: int) -> Life:
        nonlocal received
        while True:
            yield nodes[me].get()
            received += 1
            env.process(travel((me + 1) % 5))

    for me in range(5):
        env.process(serve(me))
    for message in range(pending):
        env.process(travel(message % 5))
    speed = rate(1, lambda: env.run(until=end_us))
    return speed * received


def _jobs(pending: int, events: int) -> dict[str, Callable[[], float]]:
    end_us = max(1, events * MEAN_US // pending)
    size = (pending, end_us)
    stock = simpy.Environment
    return {
        FLOOR: partial(bare, *size),
        "ours, call_later, run": partial(call_later, Engine.run, *size),
        "ours, call_later, run_until_us": partial(call_later, Engine.run_until_us, *size),
        "SimPy, Timeout and callback": partial(timeouts, stock, *size),
        "ours, Timeout and callback": partial(timeouts, Engine, *size),
        "SimPy, process yields timeout": partial(processes, stock, *size),
        "ours, process yields timeout": partial(processes, Engine, *size),
        "SimPy, process and Store per node": partial(stores, stock, *size),
        "ours, process and Store per node": partial(stores, Engine, *size),
    }


def run(smoke: bool) -> list[Row]:
    """Rows for each number of pending events."""
    rows = []
    for pending in (10, 1_000) if smoke else (10, 1_000, 100_000):
        events, rounds = (2_000, 1) if smoke else (20_000, 21)
        if pending > TARGETS_AT:
            events, rounds = 40_000, 5  # to make so many takes longer than to run them
        rows += _rows(_rounds(_jobs(pending, events), rounds), pending)
    return rows


def _rounds(jobs: dict[str, Callable[[], float]], count: int) -> dict[str, list[float]]:
    """Each job's figures; the jobs take turns."""
    seen: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(count):
        for name, job in jobs.items():
            gc.collect()
            seen[name].append(job())
    return seen


def _rows(seen: dict[str, list[float]], pending: int) -> list[Row]:
    at = f"({pending:,} pending)"

    def over(name: str, other: str) -> float:
        """Median of the ratios within each round: what slows a round slows both."""
        return median(a / b for a, b in zip(seen[name], seen[other], strict=True))

    def aim(text: str, name: str, other: str, least: float) -> Row:
        ratio = over(name, other)
        if pending != TARGETS_AT:
            return Row(f"{text} {at}", ratio, "×")
        return Row(f"{text} {at}", ratio, "×", target=f"≥ {least}", ok=ratio >= least)

    ours, stock = "ours, call_later, run", "SimPy, Timeout and callback"
    process = "process yields timeout"
    return [
        *(
            Row(f"{name} {at}", median(values), "events/s", over(name, FLOOR), FLOOR)
            for name, values in seen.items()
        ),
        aim("call_later over bare heapq", ours, FLOOR, 0.9),
        aim("call_later over SimPy's Timeout", ours, stock, 1.5),
        aim("process on ours over process on SimPy", f"ours, {process}", f"SimPy, {process}", 0.95),
    ]
