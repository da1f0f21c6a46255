"""The cost of the contract: a step, a snapshot, a log, a map, at sizes up to 100,000."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

from benchmarks import Row, interleaved
from protocols.api import Context, Log, Map, NodeId, message, on, process, volatile
from protocols.step import Receive, restore, snapshot, state_digest, step


@message
class Ask:
    number: int


@message
class Answer:
    number: int


@process
class Ten:
    """Ten fields and a handler that sends one message."""

    me: NodeId
    a: int = volatile(0)
    b: int = volatile(0)
    c: int = volatile(0)
    d: str = volatile("")
    e: str = volatile("")
    f: bool = volatile(False)
    g: tuple[int, ...] = volatile(())
    h: frozenset[str] = volatile(frozenset())
    i: Log[int] = volatile(Log())
    j: Map[str, int] = volatile(Map())

    @on(Ask)
    def receive_ask(self, ctx: Context, src: NodeId, m: Ask) -> None:
        ctx.send(src, Answer(m.number))


class Bare:
    """What the handler of ``Ten`` costs by itself: the message, and a list to put it in."""

    sent: list[tuple[str, Answer]]

    def send(self, dst: str, what: Answer) -> None:
        self.sent.append((dst, what))


def per_call(work: Callable[[], Any], times: int) -> float:
    """Microseconds of processor time per call."""
    began = process_time()
    for _ in range(times):
        work()
    return (process_time() - began) / times * 1e6


def run(smoke: bool) -> list[Row]:
    """Rows: steps, snapshots, and growth."""
    times = 200 if smoke else 20_000
    repeats = 1 if smoke else 15
    ten, event = Ten(me="n1"), Receive("n2", Ask(1))
    bare = Bare()
    bare.sent = []

    def handler() -> None:
        bare.sent = []
        ten.receive_ask(bare, "n2", Ask(1))  # type: ignore[arg-type]

    state = snapshot(ten)
    jobs: dict[str, Callable[[], float]] = {
        "empty call": partial(per_call, lambda: None, times),
        "the handler alone": partial(per_call, handler, times),
        "step() of a process with ten fields": partial(per_call, lambda: step(ten, event), times),
        "snapshot, ten fields": partial(per_call, lambda: snapshot(ten), times),
        "restore, ten fields": partial(per_call, lambda: restore(ten, state), times),
        "state digest": partial(per_call, lambda: state_digest(ten), times // 10),
        "create a message": partial(per_call, lambda: Ask(1), times),
    }
    found = interleaved({n: (lambda j=j: -j()) for n, j in jobs.items()}, repeats, best=True)
    found = {name: -value for name, value in found.items()}
    rows = [Row(name, value, "µs") for name, value in found.items()]
    framework = found["step() of a process with ten fields"] - found["the handler alone"]
    rows.append(
        Row("framework's share of a step", framework, "µs", target="≤ 3", ok=framework <= 3)
    )
    snap = found["snapshot, ten fields"]
    rows.append(Row("a snapshot", snap, "µs", target="≤ 1", ok=snap <= 1))
    return rows + _growth(smoke)


def _growth(smoke: bool) -> list[Row]:
    sizes = (100, 1000) if smoke else (100, 1_000, 10_000, 100_000)
    times = 200 if smoke else 20_000
    rows = []
    for what, make in (("log append", _append), ("membership update", _update)):
        costs = interleaved(
            {str(n): partial(make, n, times) for n in sizes}, 1 if smoke else 7, best=True
        )
        micros = [-costs[str(n)] for n in sizes]
        rows += [Row(f"{what} at {n:,}", c, "µs") for n, c in zip(sizes, micros, strict=True)]
        grown = micros[-1] / micros[0]
        # A tree of fan-out 32 is one level deeper per factor 32: logarithmic, not linear.
        rows.append(
            Row(f"{what}: {sizes[-1]:,} over {sizes[0]}", grown, "×", target="≤ 3", ok=grown <= 3)
        )
    return rows


def _append(size: int, times: int) -> float:
    log = Log(range(size))

    def work() -> None:
        grown = log
        for number in range(100):
            grown = grown.append(number)

    return -per_call(work, max(1, times // 100)) / 100


def _update(size: int, times: int) -> float:
    table = Map({f"n{i}": i for i in range(size)})
    keys = [f"n{i * size // 100}" for i in range(100)]

    def work() -> None:
        changed = table
        for number, key in enumerate(keys):
            changed = changed.set(key, -number)

    return -per_call(work, max(1, times // 100)) / 100
