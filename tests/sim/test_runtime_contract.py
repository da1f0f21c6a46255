"""The three ways to run a step (direct, recorded, careful) give the same run, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.api import MS, SECOND
from protocols.step import snapshot
from sim import faults as f
from sim.cluster import Cluster
from sim.inject import Injector
from sim.latency import Uniform
from sim.links import LinkSpec
from sim.topology import Topology
from sim.trace import Recorder
from tests.sim.talkers import Say, nodes, talkers

TOPOLOGY = Topology.full_mesh(nodes(4), LinkSpec(Uniform(MS, 30 * MS), loss=0.05))
NODE = st.sampled_from(nodes(4)).map(lambda n: (f.Target("node", n),))
TIME = st.integers(0, 4 * SECOND)


def between(make: Any) -> Any:
    return st.tuples(TIME, st.integers(1, 2 * SECOND)).flatmap(lambda t: make(t[0], t[0] + t[1]))


FAULTS = st.one_of(
    between(lambda a, b: st.builds(f.Crash, at_us=st.just(a), until_us=st.just(b), targets=NODE)),
    between(lambda a, b: st.builds(f.Pause, at_us=st.just(a), until_us=st.just(b), targets=NODE)),
    between(
        lambda a, b: st.builds(
            f.Slow, at_us=st.just(a), until_us=st.just(b), targets=NODE, factor=st.integers(2, 40)
        )
    ),
    between(
        lambda a, b: st.builds(
            f.Partition,
            at_us=st.just(a),
            until_us=st.just(b),
            shape=st.sampled_from(["isolate", "majority", "minority"]),
            groups=NODE.map(lambda n: (n,)),
        )
    ),
    between(
        lambda a, b: st.builds(
            f.Link,
            at_us=st.just(a),
            until_us=st.just(b),
            src=NODE,
            dst=NODE,
            loss=st.sampled_from([0.0, 0.3]),
            duplicate=st.sampled_from([0.0, 0.5]),
            corrupt=st.sampled_from([0.0, 0.2]),
            corrupt_mode=st.sampled_from(["drop", "deliver"]),
            reorder=st.sampled_from([0.0, 0.5]),
        )
    ),
    between(
        lambda a, b: st.builds(f.Hold, at_us=st.just(a), until_us=st.just(b), src=NODE, dst=NODE)
    ),
    between(
        lambda a, b: st.builds(
            f.ClockDrift,
            at_us=st.just(a),
            until_us=st.just(b),
            targets=NODE,
            ppm=st.integers(-50_000, 50_000),
        )
    ),
)


def run(plan: tuple[f.Fault, ...], seed: int, way: str) -> Cluster:
    cluster = talkers(TOPOLOGY, seed)
    if way != "direct":
        cluster.record(Recorder({"seed": seed}))
    if way == "careful":
        for node in cluster.nodes:
            cluster.careful(node)
    Injector(cluster, plan)
    told: list[Any] = []
    cluster.observers.append(lambda t, n, o: told.append((t, n, o)))
    cluster.engine.call_at(2 * SECOND, lambda _: cluster.invoke("n2", Say("x")), None)
    cluster.start()
    cluster.run_until(6 * SECOND)
    cluster.told = told  # type: ignore[attr-defined]
    return cluster


def outcome(cluster: Cluster) -> Any:
    return (
        cluster.told,  # type: ignore[attr-defined]
        [snapshot(node.process) for node in cluster.nodes.values()],
        [node.up for node in cluster.nodes.values()],
        cluster.network.sent,
        cluster.network.drops(),
        cluster.lifecycle,
        [(r.invoked_us, r.completed_us, r.outcome) for r in cluster.history],
    )


@settings(max_examples=40)
@given(st.lists(FAULTS, max_size=4).map(tuple), st.integers(0, 1000))
def test_direct_recorded_and_careful_steps_agree(plan: tuple[f.Fault, ...], seed: int) -> None:
    direct, traced, careful = (run(plan, seed, way) for way in ("direct", "traced", "careful"))
    assert outcome(direct) == outcome(traced) == outcome(careful)
    assert traced.recorder is not None
    assert careful.recorder is not None
    assert traced.recorder.digest == careful.recorder.digest
    assert list(traced.recorder.lines()) == list(careful.recorder.lines())


def test_another_seed_gives_another_run() -> None:
    digests = set()
    for seed in range(5):
        recorder = run((), seed, "traced").recorder
        assert recorder is not None
        digests.add(recorder.digest)
    assert len(digests) == 5


@pytest.mark.parametrize("way", ["traced", "careful"])
def test_every_event_has_a_cause_that_came_before_it(way: str) -> None:
    plan = (
        f.Crash(at_us=SECOND, until_us=2 * SECOND, targets=(f.Target("node", "n1"),)),
        f.Link(at_us=0, src=(f.Target("all"),), dst=(f.Target("all"),), loss=0.2, duplicate=0.2),
    )
    recorder = run(plan, 3, way).recorder
    assert recorder is not None
    events = recorder.events()
    assert [event["id"] for event in events] == list(range(len(events)))
    kinds = {event["kind"] for event in events}
    assert kinds >= {"start", "timer", "message", "operation", "drop", "duplicate", "crash",
                     "recover", "fault", "heal"}  # fmt: skip
    for event in events:
        if event["cause"] is not None:
            assert event["cause"] < event["id"]
        if event["kind"] == "message":
            sender = events[event["cause"]]
            effect = sender["effects"][event["index"]]
            assert sender["node"] == event["src"]
            assert effect["send"] == event["node"]
            assert effect["value"] == event["value"]
