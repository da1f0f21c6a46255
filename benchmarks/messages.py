"""Messages per second, from handler to handler, through a network with latency and loss.

Five nodes each keep requests in flight; whoever gets a request answers it. The same exchange on
stock SimPy with a process and a Store per node is what a textbook would write.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Any

import simpy

from benchmarks import Row, interleaved, rate
from protocols.api import MS, Context, NodeId, message, on, on_timer, process, timer, volatile
from sim.cluster import Cluster
from sim.latency import Uniform
from sim.links import LinkSpec
from sim.topology import Topology
from sim.trace import Recorder

NODES = tuple(f"n{i}" for i in range(1, 6))
LOW, HIGH, LOSS, EVERY = 5 * MS, 10 * MS, 0.01, 20 * MS


@message
class Ask:
    number: int


@message
class Answer:
    number: int


@timer
class AskDue:
    pass


@process
class Asker:
    """Asks every peer every 20 ms, answers whoever asks."""

    me: NodeId
    peers: tuple[NodeId, ...]
    asked: int = volatile(0)
    answered: int = volatile(0)

    def on_start(self, ctx: Context) -> None:
        ctx.set_timer(AskDue(), after=(0, EVERY))

    @on_timer(AskDue)
    def ask(self, ctx: Context, t: AskDue) -> None:
        self.asked += 1
        question = Ask(self.asked)
        for peer in self.peers:
            ctx.send(peer, question)
        ctx.set_timer(t, after=EVERY)

    @on(Ask)
    def receive_ask(self, ctx: Context, src: NodeId, m: Ask) -> None:
        ctx.send(src, Answer(m.number))

    @on(Answer)
    def receive_answer(self, ctx: Context, src: NodeId, m: Answer) -> None:
        self.answered += 1


def ours(until_us: int, recorder: Callable[[], Recorder] | None = None) -> float:
    """Delivered messages per second of ours; with a recorder, its digest is part of the work."""
    link = LinkSpec(Uniform(LOW, HIGH), loss=LOSS)
    cluster = Cluster(seed=1, topology=Topology.full_mesh(NODES, link))
    if recorder is not None:
        cluster.record(recorder())
    for node in NODES:
        cluster.add(node, Asker(me=node, peers=tuple(n for n in NODES if n != node)))

    def work() -> None:
        cluster.start()
        cluster.run_until(until_us)
        if cluster.recorder is not None:
            assert cluster.recorder.digest

    speed = rate(1, work)
    return speed * cluster.delivered


def simpy_store(until_us: int) -> float:
    """The same on SimPy: a process and a Store per node, a process per message for its delay."""
    env = simpy.Environment()
    rng = Random(1)
    stores = {node: simpy.Store(env) for node in NODES}
    delivered = [0]

    def travel(dst: str, item: tuple[str, str, int]) -> Any:
        yield env.timeout(LOW + int(rng.random() * (HIGH - LOW + 1)))
        yield stores[dst].put(item)

    def send(src: str, dst: str, kind: str, number: int) -> None:
        if rng.random() >= LOSS:
            env.process(travel(dst, (src, kind, number)))

    def serve(me: str) -> Any:
        while True:
            src, kind, number = yield stores[me].get()
            delivered[0] += 1
            if kind == "ask":
                send(me, src, "answer", number)

    def ask(me: str) -> Any:
        yield env.timeout(int(rng.random() * EVERY))
        number = 0
        while True:
            number += 1
            for peer in NODES:
                if peer != me:
                    send(me, peer, "ask", number)
            yield env.timeout(EVERY)

    for node in NODES:
        env.process(serve(node))
        env.process(ask(node))
    speed = rate(1, lambda: env.run(until=until_us))
    return speed * delivered[0]


def simpy_callback(until_us: int) -> float:
    """The same on SimPy with Timeouts and callbacks: no processes, no stores."""
    env = simpy.Environment()
    rng = Random(1)
    delivered = [0]

    def send(src: str, dst: str, kind: str, number: int) -> None:
        if rng.random() >= LOSS:
            delay = LOW + int(rng.random() * (HIGH - LOW + 1))
            env.timeout(delay, (src, dst, kind, number)).callbacks.append(receive)

    def receive(event: Any) -> None:
        src, me, kind, number = event.value
        delivered[0] += 1
        if kind == "ask":
            send(me, src, "answer", number)

    def ask(event: Any) -> None:
        me, number = event.value
        for peer in NODES:
            if peer != me:
                send(me, peer, "ask", number)
        env.timeout(EVERY, (me, number + 1)).callbacks.append(ask)

    for node in NODES:
        env.timeout(int(rng.random() * EVERY), (node, 1)).callbacks.append(ask)
    speed = rate(1, lambda: env.run(until=until_us))
    return speed * delivered[0]


def bare(until_us: int) -> float:
    """The same written out on a heapq, with nothing around it: the floor."""
    rng = Random(1).random
    queue: list[Any] = []
    seq = delivered = 0
    for node in range(5):
        seq += 1
        heappush(queue, (int(rng() * EVERY), seq, -1, node, 0, 0))

    def loop() -> None:
        nonlocal seq, delivered
        while queue[0][0] <= until_us:
            now, _, src, dst, kind, number = heappop(queue)
            if src < 0:
                for peer in range(5):
                    if peer != dst and rng() >= LOSS:
                        seq += 1
                        delay = LOW + int(rng() * (HIGH - LOW + 1))
                        heappush(queue, (now + delay, seq, dst, peer, 0, number))
                seq += 1
                heappush(queue, (now + EVERY, seq, -1, dst, 0, number + 1))
                continue
            delivered += 1
            if kind == 0 and rng() >= LOSS:
                seq += 1
                delay = LOW + int(rng() * (HIGH - LOW + 1))
                heappush(queue, (now + delay, seq, dst, src, 1, number))

    return rate(1, loop) * delivered


def run(smoke: bool) -> list[Row]:
    """Rows: the floor, SimPy in two styles, ours without and with a trace."""
    until = 200 * MS if smoke else 10_000 * MS
    jobs: dict[str, Callable[[], float]] = {
        "bare heapq, written out": partial(bare, until),
        "SimPy, process and Store per node": partial(simpy_store, until),
        "SimPy, Timeout and callback": partial(simpy_callback, until),
        "ours, full path, trace off": partial(ours, until),
        "ours, full path, trace on (digest)": partial(
            ours, until, partial(Recorder, {}, keep=False)
        ),
        "ours, full path, trace on (kept)": partial(ours, until, partial(Recorder, {})),
    }
    found = interleaved(jobs, 1 if smoke else 9)
    store, off = found["SimPy, process and Store per node"], found["ours, full path, trace off"]
    on = found["ours, full path, trace on (digest)"]
    rows = [Row(n, v, "messages/s", v / store, "process and Store") for n, v in found.items()]
    rows.append(
        Row("trace off over process and Store", off / store, "×", target="≥ 4", ok=off >= 4 * store)
    )
    rows.append(
        Row("time with trace over time without", off / on, "×", target="≤ 2", ok=off <= 2 * on)
    )
    return rows
