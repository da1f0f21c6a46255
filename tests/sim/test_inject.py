"""Every fault bites as its description says, ends when it should, and counts what it touched."""

from __future__ import annotations

from typing import Any

import pytest

from protocols.api import MS, SECOND
from sim import faults as f
from sim.cluster import Cluster
from sim.inject import Injector
from sim.latency import Constant, Uniform
from sim.topology import Topology
from tests.sim.talkers import Say, mesh, nodes, talkers


def at(*names: str) -> f.Targets:
    return tuple(f.Target("node", name) for name in names)


ALL = (f.Target("all"),)


def run(
    *plan: f.Fault, topology: Topology | None = None, until: int = 10 * SECOND, seed: int = 1
) -> tuple[Cluster, list[int]]:
    """Run talkers under ``plan``; the cluster and how much each fault touched."""
    cluster = talkers(topology or mesh(5), seed)
    injector = Injector(cluster, plan)
    cluster.start()
    cluster.run_until(until)
    return cluster, [usage.touched for usage in injector.settle()]


def process(cluster: Cluster, node: str) -> Any:
    return cluster.nodes[node].process


def test_crash_and_recover() -> None:
    cluster, touched = run(f.Crash(at_us=SECOND, until_us=2 * SECOND, targets=at("n1")))
    assert touched == [1]
    assert process(cluster, "n1").boots == 2
    assert [(t, n, k) for t, n, k in cluster.lifecycle] == [
        (SECOND, "n1", "crash"),
        (2 * SECOND, "n1", "recover"),
    ]
    down_for_good, _ = run(f.Crash(at_us=SECOND, targets=at("n1")))
    assert not down_for_good.nodes["n1"].up
    apart, touched = run(
        f.Crash(at_us=SECOND, targets=at("n1")), f.Recover(at_us=3 * SECOND, targets=at("n1"))
    )
    assert (apart.nodes["n1"].up, touched) == (True, [1, 1])


def test_a_crash_inside_a_step_stores_then_lets_a_prefix_escape() -> None:
    """At n1's next step the ping to n2 gets out, those to n3, n4, n5 do not (§3a, 5)."""
    plan = f.Crash(at_us=SECOND, targets=at("n1"), escape=1)
    quiet = f.Partition(at_us=0, shape="one_way", groups=(at("n2", "n3", "n4", "n5"), at("n1")))
    cluster, touched = run(quiet, plan)
    counts = [process(cluster, n).last.get("n1") for n in ("n2", "n3", "n4", "n5")]
    before = talkers(mesh(5))
    Injector(before, (quiet,))
    before.start()
    before.run_until(SECOND)
    heard = [list(process(before, n).seen).count(1) for n in ("n2", "n3")]
    assert counts == [1, 1, 1, 1]
    assert touched[1] == 1
    assert not cluster.nodes["n1"].up
    own = {n: sum(1 for _ in process(cluster, n).seen) for n in ("n2", "n3")}
    assert own["n2"] - own["n3"] == 1
    assert heard[0] == heard[1]


def test_crash_loop() -> None:
    loop = f.CrashLoop(
        at_us=SECOND, until_us=4 * SECOND, targets=at("n2"), up_us=700 * MS, down_us=300 * MS
    )
    cluster, touched = run(loop)
    assert touched == [3]  # down at 1, 2 and 3 s; the end at 4 s comes before the next
    assert process(cluster, "n2").boots == 4
    assert cluster.nodes["n2"].up


def test_pause_and_resume() -> None:
    cluster, touched = run(
        f.Pause(at_us=SECOND, until_us=3 * SECOND, targets=at("n1")),
        f.Pause(at_us=5 * SECOND, targets=at("n2")),
        f.Resume(at_us=6 * SECOND, targets=at("n2")),
    )
    assert touched == [1, 1, 1]
    assert process(cluster, "n1").boots == 1
    assert not any(node.paused for node in cluster.nodes.values())


def test_slow_node() -> None:
    fast, _ = run(until=9 * SECOND)
    fault = f.Slow(at_us=0, until_us=9500 * MS, targets=at("n1"), factor=50)
    slow, touched = run(fault, until=9 * SECOND)
    assert touched == [1]
    # 50 ms a step, 20 steps a second, for 80 pings and pongs a second and ten ticks.
    steps = len(process(slow, "n1").seen) + process(slow, "n1").pongs
    assert steps <= 9 * 20 < len(process(fast, "n1").seen)
    slow.run_until(10 * SECOND)
    assert slow.nodes["n1"].slowdown == 1


@pytest.mark.parametrize(
    ("fault", "shows_us"),
    [
        (f.ClockOffset(at_us=SECOND, until_us=2 * SECOND, targets=at("n1"), by_us=-300), 0),
        (f.ClockOffset(at_us=SECOND, targets=at("n1"), by_us=-300), -300),
        (f.ClockStep(at_us=SECOND, targets=at("n1"), by_us=5 * SECOND), 5 * SECOND),
        (f.ClockDrift(at_us=0, until_us=5 * SECOND, targets=at("n1"), ppm=100), 500),
        (f.ClockDrift(at_us=0, targets=at("n1"), ppm=-100), -1000),
    ],
)
def test_clock_faults(fault: f.Fault, shows_us: int) -> None:
    cluster, touched = run(fault)
    assert touched == [1]
    assert cluster.nodes["n1"].local_time() - 10 * SECOND == shows_us


def reach(cluster: Cluster, after: int) -> set[tuple[str, str]]:
    """Which node heard from which after the given number of further seconds, by fresh talk."""
    for node in cluster.nodes.values():
        node.process.last = type(node.process.last)()
    cluster.run_until(cluster.now + after)
    return {(src, n) for n, node in cluster.nodes.items() for src in node.process.last}


def everybody() -> set[tuple[str, str]]:
    return {(a, b) for a in nodes(5) for b in nodes(5) if a != b}


@pytest.mark.parametrize(
    ("shape", "groups", "pairs"),
    [
        ("groups", (at("n1", "n2"), at("n3", "n4", "n5")), 2 + 6),
        ("groups", (at("n1", "n2"),), 2 + 6),
        ("one_way", (at("n1"), at("n2", "n3")), 18),
        ("isolate", (at("n1", "n2"),), 6),
        ("majority", (at("n1"),), 6 + 2),
        ("minority", (at("n1"),), 2 + 6),
        ("ring", (), 10),
        ("halves", (), 2 + 6),
        ("bridge", (at("n3"),), 8 + 2 + 2),
        ("bridge", (), 8 + 2 + 2),
    ],
)
def test_partition_shapes_cut_and_heal(shape: Any, groups: Any, pairs: int) -> None:
    cut = f.Partition(at_us=SECOND, until_us=4 * SECOND, shape=shape, groups=groups)
    cluster, touched = run(cut, until=SECOND)
    assert touched == [0]
    seen = reach(cluster, 2 * SECOND)
    assert len(seen) == pairs
    if shape == "one_way":
        assert everybody() - seen == {("n1", "n2"), ("n1", "n3")}
    if shape == "bridge" and groups:
        assert {p for p in everybody() if "n3" in p} <= seen
    cluster.run_until(4 * SECOND)
    assert reach(cluster, SECOND) == everybody()


@pytest.mark.parametrize("keep", [False, True])
def test_a_partition_drops_what_is_in_flight_unless_told_otherwise(keep: bool) -> None:
    """Latency is 400 ms: pings sent just before the cut are due while it holds."""
    groups = (at("n1"), at("n2"))
    cut = f.Partition(at_us=SECOND, until_us=2 * SECOND, groups=groups, keep_in_flight=keep)
    cluster, _ = run(cut, topology=mesh(2, Constant(400 * MS)), until=SECOND)
    before = cluster.network.drops().get("partition", 0)
    seen = len(process(cluster, "n2").seen)
    cluster.run_until(1399 * MS)
    arrived = len(process(cluster, "n2").seen) - seen
    assert before == 0
    assert (arrived > 0) == keep
    assert cluster.network.drops()["partition"] > 0


def test_link_loss_delay_duplicate_reorder_corrupt() -> None:
    def sent_and_seen(**trouble: Any) -> tuple[Cluster, int, int]:
        link = f.Link(
            at_us=0, until_us=10 * SECOND, src=at("n1"), dst=at("n2"), both=False, **trouble
        )
        cluster, touched = run(link, topology=mesh(2))
        return cluster, touched[0], len(process(cluster, "n2").seen)

    _, _, plain = sent_and_seen(loss=0.0)
    lossy, touched, seen = sent_and_seen(loss=1.0)
    assert seen == 0
    assert touched >= plain  # pongs of n1 are lost, too
    _, touched, seen = sent_and_seen(duplicate=1.0)
    assert seen in (2 * plain, 2 * plain - 1)
    _, _, seen = sent_and_seen(delay_us=200 * MS)
    assert plain - 3 <= seen < plain
    cluster, touched, seen = sent_and_seen(corrupt=1.0)
    assert (seen, cluster.network.drops()["corrupt"]) == (0, touched)
    cluster, _, seen = sent_and_seen(corrupt=1.0, corrupt_mode="deliver")
    assert seen == plain
    assert any(n != 1 for n in process(cluster, "n2").seen)  # a flipped number got through
    _, touched, seen = sent_and_seen(reorder=0.5, reorder_us=150 * MS)
    assert plain - 2 <= seen <= plain
    assert 0 < touched < 2 * plain
    assert lossy.network.drops()["loss"] >= plain


def test_hold_keeps_messages_and_delivers_them_in_order() -> None:
    hold = f.Hold(at_us=SECOND, until_us=2 * SECOND, src=at("n1"), dst=at("n2"), both=False)
    cluster, _ = run(hold, topology=mesh(2), until=2 * SECOND - 1)
    seen = len(process(cluster, "n2").seen)
    cluster.run_until(2 * SECOND)
    # Ten pings are sent in that second; one sent just before it may have been in flight.
    assert len(process(cluster, "n2").seen) - seen in (10, 11)
    free, touched = run(
        f.Hold(at_us=SECOND, src=at("n1"), dst=at("n2")), f.Release(at_us=3 * SECOND),
        topology=mesh(2),
    )  # fmt: skip
    assert touched[0] > 10
    assert touched[1] == touched[0]
    plain, _ = run(topology=mesh(2))
    assert len(process(free, "n2").seen) == len(process(plain, "n2").seen)


def test_targets_by_role_rack_zone_region_and_chance() -> None:
    places = {
        "n1": {"region": "eu", "zone": "a", "rack": "r1"},
        "n2": {"region": "eu", "zone": "a", "rack": "r2"},
        "n3": {"region": "us", "zone": "b", "rack": "r3"},
    }
    topology = Topology.full_mesh(nodes(3), mesh(3).uniform, attributes=places)  # type: ignore[arg-type]

    def hit(*targets: f.Target) -> set[str]:
        cluster, _ = run(f.Crash(at_us=SECOND, targets=targets), topology=topology)
        return {n for n, node in cluster.nodes.items() if not node.up}

    assert hit(f.Target("role", "leader")) == {"n1"}
    assert hit(f.Target("rack", "r2")) == {"n2"}
    assert hit(f.Target("zone", "a")) == {"n1", "n2"}
    assert hit(f.Target("region", "us")) == {"n3"}
    assert hit(f.Target("all")) == {"n1", "n2", "n3"}
    assert len(hit(f.Target("random", count=2))) == 2
    assert hit(*at("n2", "n3")) == {"n2", "n3"}


def test_disk_lose_unsynced_torn_full_wipe_corrupt_slow() -> None:
    def boots(*plan: f.Fault, sync_us: int = 0) -> tuple[Cluster, list[int], int]:
        cluster = talkers(mesh(3))
        for node in cluster.nodes.values():
            node.own_disk().sync_us = lambda: sync_us
        injector = Injector(cluster, plan)
        cluster.start()
        cluster.run_until(10 * SECOND)
        return cluster, [u.touched for u in injector.settle()], process(cluster, "n1").boots

    crash = f.Crash(at_us=3 * SECOND, until_us=4 * SECOND, targets=at("n1"))
    _, _, honest = boots(crash)
    assert honest == 2

    def disk(kind: Any, start: int = 0, end: int | None = 5 * SECOND, **more: Any) -> f.Disk:
        return f.Disk(at_us=start, until_us=end, targets=at("n1"), kind=kind, **more)

    cluster, touched, count = boots(disk("lose-unsynced"), crash)
    assert count == 1  # the first boot was never really stored
    assert touched[0] > 0
    cluster, touched, count = boots(disk("wipe", 2 * SECOND, None), crash)
    assert (count, touched[0] > 0) == (1, True)
    cluster, touched, _ = boots(disk("corrupt", 2 * SECOND, None), crash)
    assert (cluster.nodes["n1"].up, touched[0]) == (False, 1)  # found corrupt, stays down
    cluster, touched, _ = boots(disk("corrupt", 2 * SECOND, None, detected=False), crash)
    assert (cluster.nodes["n1"].up, touched[0]) == (True, 1)
    cluster, touched, _ = boots(disk("full", SECOND))
    assert (cluster.nodes["n1"].up, touched[0]) == (False, 1)
    _, touched, _ = boots(disk("slow", delay_us=20 * MS))
    assert touched[0] > 0
    _, touched, _ = boots(disk("torn"), crash, sync_us=0)
    assert touched[0] == 0  # nothing was being written when it crashed: reported as unused
    torn = f.Crash(at_us=3 * SECOND, until_us=4 * SECOND, targets=at("n1"), escape=3)
    _, touched, _ = boots(disk("torn"), torn)
    assert touched == [1, 1] or touched[1] == 1


def test_messages_leave_only_after_the_sync_and_in_order() -> None:
    """With a sync of 30 ms, a pong leaves 30 ms after its ping at the earliest; group commit."""
    fast, _ = run(topology=mesh(2))
    cluster = talkers(mesh(2))
    for node in cluster.nodes.values():
        node.own_disk().sync_us = lambda: 30 * MS
    cluster.start()
    cluster.run_until(10 * SECOND)
    for node in cluster.nodes.values():
        assert node.disk is not None
        assert 0 < node.disk.syncs <= len(node.process.seen) + 1
    assert process(cluster, "n1").pongs <= process(fast, "n1").pongs


def test_an_unused_fault_is_reported() -> None:
    cluster = talkers(mesh(2))
    silent = f.Partition(at_us=20 * SECOND, groups=(at("n1"), at("n2")))
    injector = Injector(cluster, (silent, f.Recover(at_us=SECOND, targets=at("n1"))))
    cluster.start()
    cluster.run_until(10 * SECOND)
    assert [usage.index for usage in injector.unused()] == [0, 1]


def test_a_client_operation_at_a_paused_node_waits() -> None:
    cluster = talkers(mesh(2, Uniform(MS, 2 * MS)))
    Injector(cluster, (f.Pause(at_us=SECOND, until_us=2 * SECOND, targets=at("n1")),))
    cluster.start()
    cluster.run_until(1500 * MS)
    cluster.invoke("n1", Say("x"))
    assert cluster.history[0].outcome is None
    cluster.run_until(2 * SECOND)
    assert cluster.history[0].completed_us == 2 * SECOND
