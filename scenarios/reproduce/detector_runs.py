"""Published figures of failure detectors beside what the real processes do in the simulator.

:class:`~protocols.detectors.heartbeat.PushHeartbeat` runs unchanged on a
:class:`~sim.cluster.Cluster`; what it suspects, and when, is counted. Here: fixed timeouts at
scale, and well-known settings after a crash; :mod:`scenarios.reproduce.nfd_s_runs` has NFD-S.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log

from protocols.detectors.estimator import Estimator
from protocols.detectors.heartbeat import PushHeartbeat
from protocols.detectors.observations import Suspect
from protocols.detectors.phi_presets import akka, cassandra, greptime, pekko_remote_watch
from protocols.detectors.timeouts import FixedTimeout
from protocols.values import MS, SECOND, NodeId
from scenarios.reproduce.rows import Row, row
from sim.check.stats import poisson_rate_interval
from sim.cluster import Cluster
from sim.latency import Constant, Latency, Uniform
from sim.links import LinkSpec
from sim.rules import PASS as LET_PASS
from sim.rules import CallableRule, Drop, Envelope, Stage, Verdict
from sim.topology import Topology

__all__ = [
    "cassandra_intervals",
    "crash_to_suspicion",
    "dropping",
    "false_alarms",
    "star",
]

LOSS, MEAN_DELAY_US = 0.01, 20 * MS
BY_SIMULATION = 0.03
_CHEN = "Chen, Toueg, Aguilera, IEEE ToC 51(5), 2002, theorem 5, parameters of §7"
_COMPUTED = "computed independently from the formula"
Detectors = tuple[tuple[str, Estimator], ...]


def star(
    monitors: int, link: LinkSpec, detectors: Detectors, seed: int
) -> tuple[Cluster, tuple[NodeId, ...]]:
    """One sender, a heartbeat a second from 1 s on, and so many nodes that monitor it."""
    names = tuple(f"m{number}" for number in range(1, monitors + 1))
    cluster = Cluster(seed=seed, topology=Topology.full_mesh(("s", *names), link))
    sender = PushHeartbeat(
        me="s", peers=names, monitors=(), detectors=detectors, first_beat_us=SECOND
    )
    cluster.add("s", sender)
    for name in names:
        monitor = PushHeartbeat(
            me=name, peers=(), monitors=("s",), detectors=detectors, interval_us=1 << 50
        )
        cluster.add(name, monitor)
    return cluster, names


def dropping(chosen: Callable[[int], bool]) -> CallableRule:
    """A rule that drops the heartbeats with these sequence numbers."""

    def judge(envelope: Envelope, stage: Stage) -> Verdict:
        if stage == "sent" and chosen(envelope.message.sequence):  # type: ignore[attr-defined]
            return Drop("forced")
        return LET_PASS

    return CallableRule(judge)


# -- fixed timeouts at scale ------------------------------------------------------------------


def false_alarms(nodes: int = 100, natural: int = 102, *, seed: int = 1) -> Iterator[Row]:
    """All-to-all heartbeats, a timeout that bears two losses in a row: how often it goes wrong.

    Two of every three heartbeats are dropped by force; the third, ``natural`` times for each
    pair, is lost by chance. Each such chance has the weight loss², that of two losses before it.
    """
    alarms, lost, chances = _alarms(nodes, natural, seed)
    pairs, weight = nodes * (nodes - 1), LOSS**2
    exposure = chances / weight  # heartbeats of which so many chances stand for
    per_beat = alarms / exposure
    interval = poisson_rate_interval(alarms, exposure * SECOND / (9_900 * SECOND))
    assert interval is not None
    source = "counted: 100 nodes, 1 % loss, three losses in a row"
    note = (
        f"{alarms:,} alarms in {chances:,} chances of weight {weight:g} ({pairs:,} pairs); Poisson "
        f"95 % interval {1 / interval.high:.4g} to {1 / interval.low:.4g} s"
    )
    every = "seconds from one false alarm to the next, 9,900 pairs at 1 Hz"
    rule = "the published figure counts every beat that ends three losses, here p³ of all beats"
    yield row(
        f"{every}: by beats",
        1 / (9_900 * LOSS**3),
        chances / (lost * weight * 9_900),
        relative=BY_SIMULATION,
        source=source,
        assumption=f"{rule}; {lost:,} losses in {chances:,} chances of weight {weight:g}",
    )
    renewal = "a longer run of losses is one alarm: p³(1 - p) of all beats"
    for text, expected in (
        ("by suspicions", 1 / (9_900 * LOSS**3 * (1 - LOSS))),
        ("by suspicions, against p³", 1 / (9_900 * LOSS**3)),
    ):
        yield row(
            f"{every}: {text}",
            expected,
            1 / (per_beat * 9_900),
            relative=BY_SIMULATION,
            source=source,
            assumption=f"{renewal}; {note}",
        )


def _alarms(count: int, natural: int, seed: int) -> tuple[int, int, int]:
    """How many alarms and losses there were, in how many chances."""
    names = tuple(f"n{number}" for number in range(1, count + 1))
    detectors: Detectors = (("timeout", FixedTimeout(3 * SECOND + 100 * MS)),)
    link = LinkSpec(Constant(1 * MS), loss=LOSS)
    cluster = Cluster(seed=seed, topology=Topology.full_mesh(names, link))
    for at, name in enumerate(names):
        peers = names[:at] + names[at + 1 :]
        cluster.add(
            name, PushHeartbeat(me=name, peers=peers, detectors=detectors, initial_grace_us=None)
        )
    cluster.network.rules.append(dropping(lambda sequence: sequence % 3 != 1))
    alarms = 0

    def note(t: int, node: NodeId, seen: object) -> None:
        nonlocal alarms
        alarms += type(seen) is Suspect

    cluster.observers.append(note)
    cluster.start()
    first = SECOND + 2 * MS  # everybody's beat 1, which has nothing before it
    cluster.run_until(first)
    lost_before = cluster.network.dropped.get("loss", 0)
    cluster.run_until(first + 3 * natural * SECOND + SECOND)
    lost = cluster.network.dropped.get("loss", 0) - lost_before
    return alarms, lost, count * (count - 1) * natural


# -- from a crash to the suspicion ------------------------------------------------------------


def _silence(
    detector: Estimator, beats: int, latency: Latency, seed: int = 1
) -> tuple[int, Estimator]:
    """µs from the arrival of the last heartbeat to the suspicion, and the estimator at the end.

    The sender crashes between two beats, when its last one has arrived.
    """
    cluster, _ = star(1, LinkSpec(latency), (("d", detector),), seed)
    suspicions: list[int] = []
    cluster.observers.append(
        lambda t, node, seen: suspicions.append(t) if type(seen) is Suspect else None
    )
    cluster.start()
    cluster.run_until(beats * SECOND + SECOND // 2)
    before = len(suspicions)
    cluster.crash("s")
    cluster.run_until((beats + 60) * SECOND)
    process: PushHeartbeat = cluster.nodes["m1"].process
    estimator = process.watched["s"].estimators["d"]
    (when,) = suspicions[before:]
    assert estimator.last_us is not None
    return when - estimator.last_us, estimator


def crash_to_suspicion() -> Iterator[Row]:
    """Well-known settings in the real process: a crash after regular heartbeats, to suspicion."""
    regular = "1,100 heartbeats 1 s apart, constant latency, then a crash; window full"
    for name, published, detector, beats, assumption in (
        ("Pekko cluster", 4522.6, akka(), 1100, regular),
        ("Pekko cluster, one beat ever", 5306.5, akka(), 1, "one heartbeat, then a crash"),
        ("Pekko remote watch", 11579.9, pekko_remote_watch(), 1100, regular),
        ("GreptimeDB", 11522.6, greptime(), 1100, regular),
        ("Cassandra", 18420.7, cassandra(), 1100, regular),
    ):
        silence, _ = _silence(detector, beats, Constant(1 * MS))
        yield row(
            f"{name}: last beat to suspicion in a run, ms",
            published,
            silence / MS,
            tolerance=0.06,
            source=_COMPUTED,
            assumption=assumption,
        )


def cassandra_intervals(*, seed: int = 1) -> Iterator[Row]:
    """Cassandra convicts after 8·ln 10 mean intervals, whatever the intervals are."""
    silence, estimator = _silence(cassandra(), 1100, Uniform(10 * MS, 30 * MS), seed)
    mean_us = estimator.window.mean  # type: ignore[attr-defined]
    yield row(
        "Cassandra: silence to conviction, in mean intervals",
        8 * log(10),
        silence / mean_us,
        relative=1e-3,
        source="Apache Cassandra, gms/FailureDetector.java: phi_convict_threshold 8, PHI_FACTOR",
        assumption=f"latency 10 to 30 ms, mean of the last 1,000 intervals {mean_us / MS:.3f} ms",
    )
