"""Rumor mongering: an update is hot until a site finds that the others know it already.

Claim: after some log2 n + ln n cycles nearly every site knows the rumor, for a few messages per
site; a share s of the sites, the residue, never hears of it. s and the traffic m (updates sent
per site) hang together: s = e^-m for push, less for pull.

Source: Demers et al., "Epidemic Algorithms for Replicated Database Maintenance", Xerox PARC
CSL-89-1 (PODC 1987), §1.4 "Complex Epidemics". With regard to a rumor a site is *susceptible*
(does not know it), *infective* (``hot``) or *removed* (``known``, but no longer ``hot``).

The variants of §1.4: ``mode`` push, pull or push-pull · ``removal`` feedback (only contacts that
didn't need the rumor count) or blind (all do) · ``counting`` counter (interest is lost after k)
or coin (with chance 1/k at each) · ``connection_limit`` and ``hunt_limit``.

Cycles. The paper counts in synchronous cycles; here a site's cycle c lasts from c to c + 1
periods of its local clock. What a site learns in a cycle it spreads from the next one on, and
whether it needed a rumor is judged on what it knew at the *start* of its cycle, so that two
pushes to one susceptible site in one cycle are both useful. The contacts of a cycle count
together, when it is over: if any of them was needed the counter is set back to 0, if none was it
gains one. (So the paper words it for pull; with push to one partner it is "after k unneeded
contacts in a row".) With phase "aligned", clocks that agree and a latency far below the period
this is the paper's synchronous model, whose tables it reproduces
(:mod:`scenarios.reproduce.gossip`). In push mode a site without hot rumors has no timer set.

Assumptions: sites fail by crashing, messages may be lost; a contact without an answer counts as
neither needed nor unneeded. A blind site does not listen: a refused contact counts as well.
Left out: the minimization of push-pull counters, the spatial distributions of §3 (give
``neighbours``), and backing up by anti-entropy (:mod:`protocols.dissemination.anti_entropy`).

Invariants: a hot rumor is known; a known rumor stays known; every rumor known was published.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from protocols.api import (
    SECOND,
    Context,
    Map,
    NodeId,
    durable,
    on,
    on_operation,
    on_timer,
    process,
    volatile,
)
from protocols.client import ok
from protocols.dissemination.partners import partners
from protocols.dissemination.rumor_messages import (
    Answer,
    CycleDue,
    Exchange,
    Feedback,
    Learned,
    PhaseDrawn,
    Publish,
    Pull,
    Push,
    Refused,
    Removed,
    updates_in,
)

__all__ = [
    "Answer",
    "CycleDue",
    "Exchange",
    "Feedback",
    "Heat",
    "Learned",
    "PhaseDrawn",
    "Publish",
    "Pull",
    "Push",
    "Refused",
    "Removed",
    "RumorMongering",
    "Status",
    "updates_in",
]


class Status(Enum):
    """What a site is with regard to one rumor."""

    SUSCEPTIBLE = "susceptible"
    INFECTIVE = "infective"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Heat:
    """A hot rumor: its ``counter``, and whether a contact of this cycle ``needed`` it.

    None: no contact has told yet.
    """

    counter: int = 0
    needed: bool | None = None


@process(clock=True)
class RumorMongering:
    """A site. Times in µs; ``k=None``: interest is never lost (a simple epidemic).

    ``members`` is one tuple for all sites, ``me`` among them or not; ``neighbours``, if given,
    are this site's partners instead. ValueError at the start for parameters out of range.
    """

    me: NodeId
    members: tuple[NodeId, ...] = ()
    neighbours: tuple[NodeId, ...] = ()
    mode: Literal["push", "pull", "push-pull"] = "push"
    removal: Literal["feedback", "blind"] = "feedback"
    counting: Literal["counter", "coin"] = "counter"
    k: int | None = 2
    fanout: int = 1
    period_us: int = SECOND
    phase: Literal["aligned", "random"] = "aligned"
    connection_limit: int | None = None
    hunt_limit: int = 0

    known: Map[str, int] = durable(Map())  # rumor → the cycle in which it was learned
    # A site that recovers is removed: it knows its rumors, and no longer spreads them.
    hot: Map[str, Heat] = volatile(Map())
    cycle: int = volatile(0)
    phase_us: int | None = volatile(None)
    accepted: int = volatile(0)  # connections accepted in this cycle
    hunted: int = volatile(0)  # alternatives tried in this cycle

    def status(self, rumor: str) -> Status:
        """Susceptible, infective or removed with regard to ``rumor``."""
        if rumor not in self.known:
            return Status.SUSCEPTIBLE
        return Status.INFECTIVE if rumor in self.hot else Status.REMOVED

    def on_start(self, ctx: Context) -> None:
        check_parameters(self)
        if self.phase == "random":
            ctx.set_timer(PhaseDrawn(), after=(0, self.period_us - 1))
            return
        self.phase_us = 0
        self.cycle = ctx.now() // self.period_us
        self.expect_cycle(ctx)

    @on_timer(PhaseDrawn)
    def count_from_here(self, ctx: Context, t: PhaseDrawn) -> None:
        self.phase_us = ctx.now() % self.period_us
        self.advance(ctx)
        self.expect_cycle(ctx)

    @on_operation(Publish)
    def publish(self, ctx: Context, id: int, op: Publish) -> None:
        self.advance(ctx)
        if op.rumor not in self.known:
            self.learn(ctx, op.rumor)
        ctx.reply(id, ok())

    def learn(self, ctx: Context, rumor: str) -> None:
        self.known = self.known.set(rumor, self.cycle)
        self.hot = self.hot.set(rumor, Heat())
        ctx.observe(Learned(rumor))
        self.expect_cycle(ctx)

    # -- cycles ---------------------------------------------------------------------------

    def expect_cycle(self, ctx: Context) -> None:
        """Set the timer of the next cycle, unless there is nothing to do in it."""
        if self.phase_us is None or (self.mode == "push" and not self.hot):
            return
        due_us = (self.cycle + 1) * self.period_us + self.phase_us - ctx.now()
        # More than a period only if the clock was set back: then don't wait for all of it.
        ctx.set_timer(CycleDue(self.cycle + 1), after=min(due_us, 2 * self.period_us))

    def advance(self, ctx: Context, due: int | None = None) -> None:
        """Enter the cycle that the clock shows or that is ``due``; close the one before."""
        cycle = (ctx.now() - (self.phase_us or 0)) // self.period_us
        if due is not None and due > cycle:
            cycle = due
        if cycle > self.cycle:
            self.cycle, self.accepted, self.hunted = cycle, 0, 0
            self.settle(ctx)

    def settle(self, ctx: Context) -> None:
        """Count the contacts of the cycle that is over."""
        for rumor, heat in self.hot.items():
            if heat.needed is None:
                continue
            if self.loses_interest(ctx, heat):
                self.hot = self.hot.delete(rumor)
                ctx.observe(Removed(rumor))
            else:
                self.hot = self.hot.set(rumor, Heat(self.counted(heat)))

    def counted(self, heat: Heat) -> int:
        """The counter after a cycle with contacts: a needed one sets it back."""
        return 0 if heat.needed or self.counting == "coin" else heat.counter + 1

    def loses_interest(self, ctx: Context, heat: Heat) -> bool:
        """Whether the site is removed after a cycle with contacts, by counter or by coin."""
        if self.k is None:
            return False
        if self.counting == "counter":
            return self.counted(heat) >= self.k
        return not heat.needed and ctx.choose(range(self.k)) == 0

    @on_timer(CycleDue)
    def gossip(self, ctx: Context, t: CycleDue) -> None:
        self.advance(ctx, t.cycle)
        if self.mode != "push" or self.hot:
            self.contact(ctx, self.fanout)
        self.expect_cycle(ctx)

    def contact(self, ctx: Context, count: int) -> None:
        """Call ``count`` partners."""
        rumors = self.infective()
        if self.mode == "push" and not rumors:
            return
        for partner in partners(ctx, self.me, self.neighbours or self.members, count):
            if self.mode == "pull":
                ctx.send(partner, Pull(self.cycle))
                continue
            message = Push if self.mode == "push" else Exchange
            ctx.send(partner, message(rumors, self.cycle))
            self.sent(rumors)

    def infective(self) -> tuple[str, ...]:
        """The hot rumors that were known when the cycle began."""
        return tuple(rumor for rumor in self.hot if self.known[rumor] < self.cycle)

    def sent(self, rumors: tuple[str, ...]) -> None:
        if self.removal == "blind" and self.k is not None:
            self.note(rumors, needed=False)

    def note(self, rumors: tuple[str, ...], *, needed: bool) -> None:
        """Note for the end of the cycle how a contact went."""
        for rumor in rumors:
            heat = self.hot.get(rumor)
            if heat is not None:
                self.hot = self.hot.set(rumor, Heat(heat.counter, bool(heat.needed) or needed))

    # -- contacts -------------------------------------------------------------------------

    @on(Push)
    def receive_push(self, ctx: Context, src: NodeId, m: Push) -> None:
        if self.accepts(ctx, src, m.cycle):
            self.take(ctx, src, m)

    @on(Pull)
    def receive_pull(self, ctx: Context, src: NodeId, m: Pull) -> None:
        if self.accepts(ctx, src, m.cycle):
            self.answer(ctx, src, ())

    @on(Exchange)
    def receive_exchange(self, ctx: Context, src: NodeId, m: Exchange) -> None:
        if self.accepts(ctx, src, m.cycle):
            self.take(ctx, src, m)
            self.answer(ctx, src, m.rumors)

    @on(Answer)
    def receive_answer(self, ctx: Context, src: NodeId, m: Answer) -> None:
        self.advance(ctx)
        self.take(ctx, src, m)

    def accepts(self, ctx: Context, src: NodeId, cycle: int) -> bool:
        """Whether this connection is within the limit; if not, it is refused."""
        self.advance(ctx)
        if self.connection_limit is None:
            return True
        if self.accepted >= self.connection_limit:
            ctx.send(src, Refused(cycle))
            return False
        self.accepted += 1
        return True

    def take(self, ctx: Context, src: NodeId, m: Push | Exchange | Answer) -> None:
        """Learn the rumors, and tell the sender which were needed at the start of the cycle."""
        needed = tuple(rumor for rumor in m.rumors if self.needs(rumor))
        for rumor in needed:
            if rumor not in self.known:
                self.learn(ctx, rumor)
        if m.rumors and self.removal == "feedback" and self.k is not None:
            known = tuple(r for r in m.rumors if r not in needed)
            ctx.send(src, Feedback(m.cycle, needed, known))

    def needs(self, rumor: str) -> bool:
        """Whether the site did not know the rumor when its cycle began."""
        return self.known.get(rumor, self.cycle) >= self.cycle

    def answer(self, ctx: Context, src: NodeId, heard: tuple[str, ...]) -> None:
        """Send the hot rumors to a site that asked, save those just ``heard`` from it."""
        rumors = tuple(r for r in self.infective() if r not in heard)
        if rumors:
            ctx.send(src, Answer(rumors, self.cycle))
            self.sent(rumors)

    @on(Feedback)
    def receive_feedback(self, ctx: Context, src: NodeId, m: Feedback) -> None:
        self.advance(ctx)
        if m.cycle == self.cycle:  # else too late: that cycle has been counted
            self.note(m.needed, needed=True)
            self.note(m.known, needed=False)

    @on(Refused)
    def receive_refused(self, ctx: Context, src: NodeId, m: Refused) -> None:
        self.advance(ctx)
        if m.cycle == self.cycle and self.hunted < self.hunt_limit:
            self.hunted += 1
            self.contact(ctx, 1)


def check_parameters(site: RumorMongering) -> None:
    """Raise ValueError for a parameter that makes no sense."""
    allowed = {
        "mode": ("push", "pull", "push-pull"),
        "removal": ("feedback", "blind"),
        "counting": ("counter", "coin"),
        "phase": ("aligned", "random"),
    }
    for name, values in allowed.items():
        if getattr(site, name) not in values:
            raise ValueError(f"{name}={getattr(site, name)!r}: allowed are {', '.join(values)}")
    least = {"k": 1, "fanout": 1, "period_us": 1, "connection_limit": 1, "hunt_limit": 0}
    for name, bound in least.items():
        value = getattr(site, name)
        if value is not None and value < bound:
            raise ValueError(f"{name}={value!r}: give a whole number, at least {bound}")
    if not site.members and not site.neighbours:
        raise ValueError("whom to gossip with? give members (one tuple for all) or neighbours")
