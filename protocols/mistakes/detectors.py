"""Failure detectors with the bugs that failure detectors have had. Never use them.

Estimators: wrong in what they make of right arrivals. Processes: wrong in which arrivals they
count, when they ask and what they forget.
"""

from __future__ import annotations

from math import exp, log10, sqrt

from protocols.api import SECOND, Context, Map, NodeId, message, on, on_timer, process
from protocols.detectors.estimator import Estimator
from protocols.detectors.heartbeat import BeatDue, Expire, Heartbeat, PushHeartbeat, Watch
from protocols.detectors.phi_accrual import PhiAccrual, PhiOptions
from protocols.detectors.phi_presets import cassandra
from protocols.detectors.window import Window

__all__ = [
    "NeverTrustsAgain",
    "PauseForgives",
    "PauseRecorded",
    "PauseUnguarded",
    "SenderClockTrusted",
    "StaleCounted",
    "StampedHeartbeat",
    "TimerNotRearmed",
    "UnclampedVariance",
    "UnguardedFormula",
    "WaitsForSecondBeat",
    "cassandra_with_wrong_unit",
]


class UnclampedVariance(PhiOptions):
    """E[x²] - E[x]² in floating-point seconds, and no clamp at 0.

    For beats at equal intervals the difference is often slightly negative: its root raises here
    and is NaN elsewhere, and no NaN is below a threshold, so that a live peer is convicted
    (the kind for which .NEXT has a test called PhiNaNRegression).
    """

    __slots__ = ()

    def deviation_us(self, window: Window) -> float:
        seconds = [sample / SECOND for sample in window.samples()]
        total = squares = 0.0
        for value in seconds:  # sum() rounds otherwise from Python 3.12 on
            total += value
            squares += value * value
        mean = total / len(seconds)
        variance = squares / len(seconds) - mean * mean
        return max(sqrt(variance) * SECOND, self.min_std_us)


class UnguardedFormula(PhiAccrual):
    """Akka's two branches as they stand, carried over from the JVM.

    There exp overflows to Infinity and log10(0) is -Infinity; in Python both raise: for a healthy
    peer when the pause is long, for a dead one when the silence is (compare akka-core #1828).
    """

    __slots__ = ()

    def phi(self, now_us: int) -> float:
        assert self.last_us is not None
        location, scale = self.options.location_and_scale(self.window)
        y = (now_us - self.last_us - location) / scale
        e = exp(-y * (1.5976 + 0.070566 * y * y))
        return -log10(e / (1 + e)) if y > 0 else -log10(1 - 1 / (1 + e))


class PauseRecorded(PhiAccrual):
    """The time of the last beat is moved before it is asked whether the peer was suspected.

    Then the silence is always 0 and every pause enters the statistics: after one of 5 minutes the
    detector takes three times as long (Hazelcast's PhiAccrualFailureDetector, 2017 to 2021).
    """

    __slots__ = ()

    def window_after(self, interval_us: int, now_us: int) -> Window:
        return self.window.append(interval_us)


class WaitsForSecondBeat(PhiAccrual):
    """No statistics before the second beat, and no suspicion without statistics.

    A peer that dies after its first beat is never suspected (Akka before akka-core #526).
    """

    __slots__ = ()

    def due_after(self, window: Window, last_us: int) -> int | None:
        return None if self.last_us is None else PhiAccrual.due_after(self, window, last_us)

    def phi(self, now_us: int) -> float:
        return 0.0 if self.due_us is None else PhiAccrual.phi(self, now_us)


def cassandra_with_wrong_unit() -> PhiAccrual:
    """The cap on recorded intervals, in nanoseconds, is taken for milliseconds.

    It becomes 23 days, so that pauses do enter the statistics (CASSANDRA-21025).
    """
    return cassandra(max_interval_us=2 * SECOND * 1_000_000)


class StaleCounted(PushHeartbeat):
    """Every heartbeat counts, however old: a late duplicate brings a dead peer back to life.

    Chitchat #132 and #133: dead nodes flashed alive.
    """

    @on(Heartbeat)
    def receive_heartbeat(self, ctx: Context, src: NodeId, m: Heartbeat) -> None:
        self.count(ctx, src, self.watched[src], (m.generation, m.sequence), ctx.now())


@message
class StampedHeartbeat:
    """A heartbeat with the time it was sent at, by the sender's clock."""

    generation: int
    sequence: int
    sent_us: int


@process(clock=True)
class SenderClockTrusted(PushHeartbeat):
    """Takes the sender's time stamp for the time of arrival: skew looks like silence, or hides it.

    Kubernetes #6193: kubelet's clock against the controller's, a day apart.
    """

    @on_timer(BeatDue)
    def beat(self, ctx: Context, t: BeatDue) -> None:
        self.sequence += 1
        for peer in self.peers:
            ctx.send(peer, StampedHeartbeat(self.generation, self.sequence, ctx.now()))
        ctx.set_timer(t, after=self.interval_us)

    @on(StampedHeartbeat)
    def receive_stamped(self, ctx: Context, src: NodeId, m: StampedHeartbeat) -> None:
        watch, number = self.watched[src], (m.generation, m.sequence)
        if number > watch.heard:
            self.count(ctx, src, watch, number, m.sent_us)


class PauseUnguarded(PushHeartbeat):
    """Its own long stall isn't noticed, and looks like the silence of everybody else.

    The kind that Cassandra's guard is for (max_local_pause_in_ms; palantir/cassandra #500).
    """

    def notice_pause(self, now: int, due: int) -> None:
        """Notice nothing."""


class PauseForgives(PushHeartbeat):
    """Takes its own long stall for a jump of the clock, and has heard everyone just now.

    A node that stalls again and again never suspects a dead peer (the kind of Hazelcast #6933).
    """

    def notice_pause(self, now: int, due: int) -> None:
        PushHeartbeat.notice_pause(self, now, due)
        if self.lenient_until_us == now + (self.max_local_pause_us or 0):
            for peer, watch in self.watched.items():
                forgiven = Map(
                    (name, estimator.heartbeat(watch.heard[1] + 1, now))
                    for name, estimator in watch.estimators.items()
                )
                self.watched = self.watched.set(peer, Watch(watch.heard, forgiven))

    @on_timer(Expire)
    def expire(self, ctx: Context, t: Expire) -> None:
        estimator = self.watched[t.peer].estimators[t.detector]
        if estimator.suspects(ctx.now()) or estimator.last_us is None:
            PushHeartbeat.expire(self, ctx, t)
        else:
            self.judge(ctx, t.detector, t.peer, estimator)


class NeverTrustsAgain(PushHeartbeat):
    """A suspicion is for good, so that one late heartbeat costs a live peer for ever.

    Breaks eventual accuracy (Chandra and Toueg 1996, §2): the kind of every detector whose
    verdict only a restart of the convicted node undoes.
    """

    def judge(self, ctx: Context, name: str, peer: NodeId, estimator: Estimator) -> None:
        if (name, peer) not in self.suspected:
            PushHeartbeat.judge(self, ctx, name, peer, estimator)


class TimerNotRearmed(PushHeartbeat):
    """When a suspected peer is heard again, its timer isn't set: its next crash goes unnoticed.

    Breaks strong completeness (Chandra and Toueg 1996, §2): the kind of a watchdog that is
    cancelled and then forgotten.
    """

    def judge(self, ctx: Context, name: str, peer: NodeId, estimator: Estimator) -> None:
        was_suspected = (name, peer) in self.suspected
        PushHeartbeat.judge(self, ctx, name, peer, estimator)
        if was_suspected:
            ctx.cancel_timer(Expire(name, peer))
