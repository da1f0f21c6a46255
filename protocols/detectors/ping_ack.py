"""Pull-style detection: ask, and suspect whoever doesn't answer several times in a row.

Claim
  A peer is suspected once ``retries + 1`` pings in a row remain unanswered, each for its timeout;
  it is trusted again at its next answer. A crash is noticed at most interval + (retries + 1)·
  timeout after it, plus the delay of an answer that was under way.
Paper
  The probe of SWIM (Das, Gupta, Motivala, DSN 2002, §3.1) without its indirect part; the adaptive
  timeout is Jacobson's (SIGCOMM 1988).
Assumptions
  A local clock that counts evenly. Links may lose, duplicate, delay and reorder.
Left out
  Indirect probes and dissemination: see SWIM.
Invariants
  One question at a time per peer: exactly one AnswerDue timer is set for a peer that has been
  asked and has neither answered nor been given up for this round. Answers to earlier lives or
  already answered questions don't count. A late answer to an earlier ping of the same row does:
  it was given after the question.
How to run it
  ``PingAck(me="n1", peers=("n2", "n3"), interval_us=SECOND, timeout_us=500 * MS, retries=2)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from protocols.api import (
    MS,
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
from protocols.detectors.jacobson import RoundTrip
from protocols.detectors.observations import Suspect, Trust

__all__ = ["Ack", "AnswerDue", "Ping", "PingAck", "PingDue", "Probe"]

_UNKNOWN = RoundTrip()


@message
class Ping:
    """Are you there? ``number`` (1, 2, …) of the asker's ``generation``-th life."""

    generation: int
    number: int


@message
class Ack:
    """I am: the answer to the Ping with these numbers."""

    generation: int
    number: int


@timer
class PingDue:
    """Time for the next round of questions."""


@timer
class AnswerDue:
    """``peer`` should have answered by now."""

    peer: NodeId


@dataclass(frozen=True, slots=True)
class Probe:
    """The questions to one peer.

    ``asked``: number of the last ping; ``answered``: highest number answered; ``tries``: pings of
    the row so far, 0 when none is open; ``sent_us``: when the last ping left.
    """

    asked: int = 0
    answered: int = 0
    tries: int = 0
    sent_us: int = 0
    round_trip: RoundTrip = _UNKNOWN


@process(clock=True)
class PingAck:
    """Asks every peer once per ``interval_us``, and again, up to ``retries`` times, if need be.

    ``timeout_us``: how long to wait for an answer; with ``adaptive`` only until a round trip has
    been measured, then the estimated timeout, within ``[timeout_min_us, timeout_us]``.
    ``first_ping_us``: as in PushHeartbeat. ``detector``: the name in observations.
    """

    me: NodeId
    peers: tuple[NodeId, ...]
    interval_us: int = SECOND
    timeout_us: int = 500 * MS
    retries: int = 2
    adaptive: bool = False
    timeout_min_us: int = 10 * MS
    first_ping_us: Delay | None = None
    detector: str = "ping-ack"

    generation: int = durable(0)
    probes: Map[NodeId, Probe] = volatile(Map())
    suspected: frozenset[NodeId] = volatile(frozenset())

    def on_start(self, ctx: Context) -> None:
        """Begin a new life: nobody is suspected, and the first round comes soon."""
        self.generation += 1
        if self.generation > 1:
            for peer in self.peers:
                ctx.observe(Trust(self.detector, peer))
        self.probes = Map((peer, Probe()) for peer in self.peers)
        first = (0, self.interval_us) if self.first_ping_us is None else self.first_ping_us
        ctx.set_timer(PingDue(), after=first)

    @on_timer(PingDue)
    def begin_round(self, ctx: Context, t: PingDue) -> None:
        """Ask everybody whose last answer isn't still awaited."""
        for peer in self.peers:
            if not self.probes[peer].tries:
                self.ask(ctx, peer, self.probes[peer])
        ctx.set_timer(t, after=self.interval_us)

    def ask(self, ctx: Context, peer: NodeId, probe: Probe) -> None:
        """Send the next ping of the row."""
        asked = replace(probe, asked=probe.asked + 1, tries=probe.tries + 1, sent_us=ctx.now())
        self.probes = self.probes.set(peer, asked)
        ctx.send(peer, Ping(self.generation, asked.asked))
        ctx.set_timer(AnswerDue(peer), after=self.patience_us(probe.round_trip))

    def patience_us(self, round_trip: RoundTrip) -> int:
        """How long to wait for an answer."""
        estimated = round_trip.timeout_us() if self.adaptive else None
        if estimated is None:
            return self.timeout_us
        return min(max(estimated, self.timeout_min_us), self.timeout_us)

    @on(Ping)
    def receive_ping(self, ctx: Context, src: NodeId, m: Ping) -> None:
        ctx.send(src, Ack(m.generation, m.number))

    @on(Ack)
    def receive_ack(self, ctx: Context, src: NodeId, m: Ack) -> None:
        """The peer lives, if this answers a question of this life for the first time."""
        probe = self.probes.get(src)
        if probe is None or m.generation != self.generation:
            return
        if not probe.answered < m.number <= probe.asked:
            return
        round_trip = probe.round_trip
        if m.number == probe.asked:  # only then is it known when the question left (Karn)
            round_trip = round_trip.sample(ctx.now() - probe.sent_us)
        self.probes = self.probes.set(
            src, replace(probe, answered=m.number, tries=0, round_trip=round_trip)
        )
        ctx.cancel_timer(AnswerDue(src))
        if src in self.suspected:
            self.suspected = self.suspected - {src}
            ctx.observe(Trust(self.detector, src))

    @on_timer(AnswerDue)
    def miss(self, ctx: Context, t: AnswerDue) -> None:
        """No answer in time: ask again, or suspect the peer if that was the last try."""
        probe = self.probes[t.peer]
        if probe.tries <= self.retries:
            self.ask(ctx, t.peer, probe)
            return
        self.probes = self.probes.set(t.peer, replace(probe, tries=0))
        if t.peer not in self.suspected:
            self.suspected = self.suspected | {t.peer}
            ctx.observe(Suspect(self.detector, t.peer))
