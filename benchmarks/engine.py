"""Events per second of engine designs, with 10, 1,000 and 100,000 events pending."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Any

import simpy

from benchmarks import Row, interleaved, rate
from sim.engine import Engine

SPREAD = 1000


def _delays(count: int) -> list[int]:
    draw = Random(1).random
    return [1 + int(draw() * SPREAD) for _ in range(count)]


def bare(events: int, pending: int, delays: list[int]) -> float:
    """A heapq loop of (time, seq, fn, arg) tuples: what any Python engine is measured against."""
    queue: list[tuple[int, int, Callable[[Any], None], Any]] = []
    left = [events]
    state = [0, 0]

    def fire(arg: Any) -> None:
        left[0] -= 1
        state[0] = seq = state[0] + 1
        heappush(queue, (state[1] + delays[seq % 4096], seq, fire, arg))

    for _ in range(pending):
        fire(None)
    left[0] = events

    def loop() -> None:
        while left[0] > 0:
            state[1], _, fn, arg = heappop(queue)
            fn(arg)

    return rate(events, loop)


def call_later(events: int, pending: int, delays: list[int]) -> float:
    """The direct path of ours."""
    engine = Engine()
    left = [events]
    count = [0]
    later = engine.call_later

    def fire(arg: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise StopIteration
        count[0] = seq = count[0] + 1
        later(delays[seq % 4096], fire, arg)

    for _ in range(pending):
        later(delays[_ % 4096], fire, None)
    return rate(events, partial(_until_stop, engine))


def _until_stop(engine: Engine) -> None:
    try:
        engine.run()
    except StopIteration:
        pass


def timeouts(
    make: Callable[[], simpy.Environment], events: int, pending: int, delays: list[int]
) -> float:
    """SimPy Timeouts with a callback."""
    env = make()
    left = [events]
    count = [0]
    stop = env.event()

    def fire(event: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            stop.succeed()
        count[0] = seq = count[0] + 1
        env.timeout(delays[seq % 4096]).callbacks.append(fire)

    for _ in range(pending):
        env.timeout(delays[_ % 4096]).callbacks.append(fire)
    return rate(events, lambda: env.run(until=stop))


def processes(
    make: Callable[[], simpy.Environment], events: int, pending: int, delays: list[int]
) -> float:
    """SimPy processes that yield timeouts."""
    env = make()
    left = [events]
    stop = env.event()

    def life(at: int) -> Any:
        while True:
            yield env.timeout(delays[at % 4096])
            at += 1
            left[0] -= 1
            if left[0] == 0:
                stop.succeed()

    for i in range(pending):
        env.process(life(i))
    return rate(events, lambda: env.run(until=stop))


def run(smoke: bool) -> list[Row]:
    """Rows for each number of pending events."""
    rows = []
    for pending in (10, 1000) if smoke else (10, 1000, 100_000):
        events = 2_000 if smoke else 100_000
        delays = _delays(4096)
        args = (events, pending, delays)
        found = interleaved(
            {
                "bare heapq": partial(bare, *args),
                "ours, call_later": partial(call_later, *args),
                "SimPy, Timeout and callback": partial(timeouts, simpy.Environment, *args),
                "ours, Timeout and callback": partial(timeouts, Engine, *args),
                "SimPy, process yields timeout": partial(processes, simpy.Environment, *args),
                "ours, process yields timeout": partial(processes, Engine, *args),
            },
            1 if smoke else 7,
        )
        rows += _rows(found, pending)
    return rows


def _rows(found: dict[str, float], pending: int) -> list[Row]:
    floor = found["bare heapq"]
    rows = [
        Row(f"{name} ({pending:,} pending)", value, "events/s", value / floor, "bare heapq")
        for name, value in found.items()
    ]
    ours, stock = found["ours, call_later"], found["SimPy, Timeout and callback"]
    text = f"call_later over bare heapq ({pending:,} pending)"
    rows.append(Row(text, ours / floor, "×", target="≥ 0.9", ok=ours >= 0.9 * floor))
    text = f"call_later over SimPy's Timeout ({pending:,} pending)"
    rows.append(Row(text, ours / stock, "×", target="≥ 1.5", ok=ours >= 1.5 * stock))
    return rows
