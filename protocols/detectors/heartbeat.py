"""Push-style heartbeats, judged by any number of estimators side by side on the same arrivals.

Claim
  Every node sends a heartbeat to its peers at a fixed pace; a monitor suspects a peer from the
  moment its estimator says so until the next heartbeat. A crashed peer is suspected for good
  (completeness); a live one is trusted again as soon as it is heard (accuracy is eventual).
Paper
  Chandra, Toueg, "Unreliable failure detectors for reliable distributed systems", JACM 43(2),
  1996, §2 (properties) and figure 10 (heartbeats with a timeout); the estimators name theirs.
Assumptions
  A local clock that counts evenly; clocks of different nodes need not agree (but see NFD-S).
  Links may lose, duplicate, delay and reorder.
Beyond the papers, from detectors in use
  * Stale heartbeats don't count: (generation, sequence) must have advanced (Cassandra's gossiper;
    chitchat #132: dead nodes flashed alive). The generation counts restarts, so that a new life
    is not taken for an old message; with it the peer's statistics start afresh.
  * A peer that is never heard is suspected after ``initial_grace_us`` (Akka's first-beat problem).
  * Local pause guard (Cassandra, ``max_local_pause_us``): a timer that fires much too late says
    that *this* node stood still; nobody is convicted then nor for as long again.
Left out
  Piggybacking on other traffic; telling others about a suspicion (that is membership).
Invariants
  Suspect and Trust alternate for each (detector, peer). While a peer is trusted and its estimator
  has a deadline, exactly one Expire timer is set for it.
How to run it
  ``PushHeartbeat(me="n1", peers=("n2", "n3"), detectors=(("heartbeat", FixedTimeout(3 * SECOND)),
  ("phi", akka())))`` in a cluster; crash a peer and watch the observations.

If the local clock is set back, statistics start afresh at the next heartbeat; a timer that was set
before keeps its end, since timers count time that passes.
"""

from __future__ import annotations

from protocols.api import (
    SECOND,
    Context,
    Delay,
    Map,
    NodeId,
    durable,
    message,
    on,
    on_timer,
    process,
    timer,
    volatile,
)
from protocols.detectors.estimator import Estimator
from protocols.detectors.observations import Suspect, SuspicionLevel, Trust
from protocols.detectors.timeouts import FixedTimeout

__all__ = ["BeatDue", "Expire", "Heartbeat", "PushHeartbeat", "SampleDue", "Watch"]

_NEVER_HEARD = (0, 0)


@message
class Heartbeat:
    """The sender is alive: the ``sequence``-th interval (1, 2, …) of its ``generation``-th life."""

    generation: int
    sequence: int


@timer
class BeatDue:
    """Time to send a heartbeat to every peer."""


@timer
class Expire:
    """``detector`` has waited for ``peer`` for as long as it is willing to."""

    detector: str
    peer: NodeId


@timer
class SampleDue:
    """Time to report the suspicion levels."""


@message  # no message, but made at every heartbeat: its constructor takes half the time
class Watch:
    """What is known about one peer: the last heartbeat that counted, and an estimator a detector.

    ``estimators`` are keyed by the detector's name.
    """

    heard: tuple[int, int]
    estimators: Map[str, Estimator]


@process(clock=True)
class PushHeartbeat:
    """Sends heartbeats to ``peers`` and monitors ``monitors`` (the same nodes unless given).

    ``interval_us``: between heartbeats, without drift. ``first_beat_us``: delay of the first one
    after a start, or a range to draw it from; None: anywhere within one interval (so that nodes
    that boot together don't beat together). ``detectors``: (name, fresh estimator) pairs.

    ``initial_grace_us``: a peer that was never heard is suspected this long after the start; None:
    never. ``max_local_pause_us``: see the module; None: no guard. ``sample_every_us``: how often
    to observe every SuspicionLevel; 0: never.
    """

    me: NodeId
    peers: tuple[NodeId, ...]
    monitors: tuple[NodeId, ...] | None = None
    interval_us: int = SECOND
    detectors: tuple[tuple[str, Estimator], ...] = (("heartbeat", FixedTimeout(3 * SECOND)),)
    first_beat_us: Delay | None = None
    initial_grace_us: int | None = 10 * SECOND
    max_local_pause_us: int | None = None
    sample_every_us: int = 0

    generation: int = durable(0)  # which life this is: 1, 2, …
    sequence: int = volatile(0)  # intervals begun in this life
    beat_due_us: int | None = volatile(None)  # when the next one is to leave
    watched: Map[NodeId, Watch] = volatile(Map())
    suspected: frozenset[tuple[str, NodeId]] = volatile(frozenset())
    lenient_until_us: int | None = volatile(None)  # nobody is convicted before

    def on_start(self, ctx: Context) -> None:
        """Begin a new life: beat, and wait for everyone's first heartbeat."""
        self.generation += 1
        first = (0, self.interval_us) if self.first_beat_us is None else self.first_beat_us
        ctx.set_timer(BeatDue(), after=first)
        if self.sample_every_us:
            ctx.set_timer(SampleDue(), after=self.sample_every_us)
        fresh = Watch(_NEVER_HEARD, Map(self.detectors))
        for peer in self.monitored:
            self.watched = self.watched.set(peer, fresh)
            for name, estimator in self.detectors:
                if self.generation > 1:
                    ctx.observe(Trust(name, peer))  # a suspicion of the last life is forgotten
                self.judge(ctx, name, peer, estimator)

    @property
    def monitored(self) -> tuple[NodeId, ...]:
        """The peers that are monitored."""
        return self.peers if self.monitors is None else self.monitors

    @on_timer(BeatDue)
    def beat(self, ctx: Context, t: BeatDue) -> None:
        """Send a heartbeat to every peer; the next is due an interval after this one was.

        A heartbeat has the number of its interval: those that a pause swallowed are counted, as
        Chen's estimators take heartbeat i to leave at i times the interval.
        """
        now = ctx.now()
        due = now if self.beat_due_us is None else self.beat_due_us
        self.notice_pause(now, due)
        self.sequence += 1 + max(0, now - due) // self.interval_us
        heartbeat = Heartbeat(self.generation, self.sequence)
        for peer in self.peers:
            ctx.send(peer, heartbeat)
        wait = self.interval_us - (now - due) % self.interval_us
        self.beat_due_us = now + wait
        ctx.set_timer(t, after=wait)

    @on(Heartbeat)
    def receive_heartbeat(self, ctx: Context, src: NodeId, m: Heartbeat) -> None:
        """Count a heartbeat if it is newer than all before it, and judge its sender anew."""
        watch = self.watched.get(src)
        number = (m.generation, m.sequence)
        if watch is None or number <= watch.heard:
            return
        self.count(ctx, src, watch, number, ctx.now())

    def count(
        self, ctx: Context, src: NodeId, watch: Watch, number: tuple[int, int], now: int
    ) -> None:
        """Feed the heartbeat ``number``, which arrived at ``now``, to every detector."""
        estimators = watch.estimators
        reborn = number[0] != watch.heard[0]
        for name, fresh in self.detectors:
            known = estimators[name]
            if reborn or (known.last_us is not None and now < known.last_us):
                known = fresh
            estimator = known.heartbeat(number[1], now)
            estimators = estimators.set(name, estimator)
            self.judge(ctx, name, src, estimator)
        self.watched = self.watched.set(src, Watch(number, estimators))

    def judge(self, ctx: Context, name: str, peer: NodeId, estimator: Estimator) -> None:
        """Trust ``peer`` until the estimator's deadline; suspect it if that has passed."""
        now, deadline = ctx.now(), estimator.deadline_us()
        if deadline is not None and deadline <= now:
            ctx.cancel_timer(Expire(name, peer))
            self.convict(ctx, name, peer)
            return
        if self.suspected and (name, peer) in self.suspected:
            self.suspected = self.suspected - {(name, peer)}
            ctx.observe(Trust(name, peer))
        if deadline is not None:
            ctx.set_timer(Expire(name, peer), after=deadline - now)
        elif estimator.last_us is None and self.initial_grace_us is not None:
            ctx.set_timer(Expire(name, peer), after=self.initial_grace_us)
        else:
            ctx.cancel_timer(Expire(name, peer))

    @on_timer(Expire)
    def expire(self, ctx: Context, t: Expire) -> None:
        """The peer was silent up to the deadline: suspect it, unless this node stood still."""
        deadline = self.watched[t.peer].estimators[t.detector].deadline_us()
        if deadline is not None:
            self.notice_pause(ctx.now(), max(deadline, self.lenient_until_us or deadline))
        self.convict(ctx, t.detector, t.peer)

    def convict(self, ctx: Context, name: str, peer: NodeId) -> None:
        """Suspect ``peer``, once; later if nobody is to be convicted now."""
        if (name, peer) in self.suspected:
            return
        wait = self.leniency_us(ctx.now())
        if wait:
            ctx.set_timer(Expire(name, peer), after=wait)
            return
        self.suspected = self.suspected | {(name, peer)}
        ctx.observe(Suspect(name, peer))

    def notice_pause(self, now: int, due: int) -> None:
        """If what was due at ``due`` happens much too late, convict nobody for a while."""
        limit = self.max_local_pause_us
        if limit is not None and now - due > limit:
            self.lenient_until_us = now + limit

    def leniency_us(self, now: int) -> int:
        """How long nobody is to be convicted yet; 0 if the clock was set back since."""
        left = 0 if self.lenient_until_us is None else self.lenient_until_us - now
        return left if 0 < left <= (self.max_local_pause_us or 0) else 0

    @on_timer(SampleDue)
    def sample(self, ctx: Context, t: SampleDue) -> None:
        """Observe the suspicion level of every detector about every peer it has heard."""
        now = ctx.now()
        for peer in self.monitored:
            for name, estimator in self.watched[peer].estimators.items():
                level = estimator.level(now)
                if level is not None:
                    ctx.observe(SuspicionLevel(name, peer, round(level * 1000)))
        ctx.set_timer(t, after=self.sample_every_us)
