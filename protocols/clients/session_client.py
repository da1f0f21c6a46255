"""A client of replicated servers: each operation takes effect at most once, told honestly.

Claim: with servers that keep sessions an operation takes effect at most once, however often its
request is sent; *ok* means that it did, with this answer, *fail* that it surely never will, and
*info* that nobody knows.

Source: Ongaro, "Consensus: Bridging Theory and Practice" (2014), §6.2 (finding the leader: try
any server; one that doesn't lead says who does) and §6.3 (sessions). It speaks
:mod:`protocols.clients.messages`, and so works with every protocol whose servers do.

One operation is under way per session; more of them wait in a queue. The client asks the leader
that it believes in, or else one server after another from a chosen one; it follows hints at once,
but after as many requests in a row as there are servers it pauses (``options.backoff``).

When may a write end as *fail*? If it never left; or if every request of it was refused, by an
answer of *fail* to each. A request that was not answered may still be accepted by someone. Nor is
a refusal worth anything where the network may deliver a request twice: its second copy may reach
the same server after that has become leader (``options.network_duplicates``). A read that is
given up always ends as *fail*: it has no effect.

A session that the servers have forgotten ends as *info* for the write under way, unless each of
its requests was surely refused; then, and for a read, the operation goes on in a new session.

Assumptions: servers keep the promises of :class:`protocols.clients.messages.Response`; they
accept numbers with gaps (an operation given up may never have reached them) and refuse those that
are acked. The durable ``session`` is never lost: a session used twice takes an old answer for
a new one.

Left out: several operations in flight in one session (``acked`` would allow for it), and keeping
a session alive: a client that is idle for long finds it expired.
"""

from __future__ import annotations

from typing import Any, Final

from protocols.api import (
    Context,
    NodeId,
    durable,
    observation,
    on,
    on_operation,
    on_timer,
    process,
    volatile,
)
from protocols.client import Outcome, fail, info
from protocols.clients.calls import Call, Calls
from protocols.clients.messages import (
    NO_QUORUM,
    NOT_LEADER,
    OVERLOADED,
    SESSION_EXPIRED,
    SHUTTING_DOWN,
    STEPPED_DOWN,
    Request,
    Response,
)
from protocols.clients.policy import ClientOptions
from protocols.clients.timers import DeadlineDue, HedgeDue, QueueDue, RequestTimeout, RetryDue
from protocols.machines import COMMANDS, read_only

__all__ = ["TIMEOUT", "ClientStarted", "SessionClient"]

TIMEOUT: Final = "timeout"
"""The reason of an operation that ended while it waited for an answer."""
_TRIED_AGAIN = (NOT_LEADER, NO_QUORUM, OVERLOADED, SHUTTING_DOWN, STEPPED_DOWN)


@observation
class ClientStarted:
    """The client begins a new incarnation with this session; calls of an earlier one are lost."""

    session: int


@process
class SessionClient:
    """A client. ``servers`` are those it knows from the beginning; it follows hints to others.

    For operations other than those of :mod:`protocols.machines` make a subclass: mark a method
    that calls :meth:`invoke` with ``@on_operation``, and override :meth:`has_no_effect`.

    Invariant: ``asked`` is empty exactly while no call is under way or it pauses.
    """

    me: NodeId
    servers: tuple[NodeId, ...]
    options: ClientOptions = ClientOptions()

    session: int = durable(0)
    """Number of the session: sessions of earlier incarnations have smaller ones."""

    sequence: int = volatile(0)
    leader: NodeId | None = volatile(None)
    calls: Calls = volatile(Calls())
    # About the call under way, the first of ``calls``.
    ticket: int = volatile(0)  # 0: none is under way
    asked: tuple[NodeId, ...] = volatile(())  # whose answers it waits for
    silent: tuple[NodeId, ...] = volatile(())  # who didn't answer in this round
    attempts: int = volatile(0)  # requests sent
    unrefused: int = volatile(0)  # requests not known to be refused
    reason: str = volatile(TIMEOUT)  # what was heard last
    misses: int = volatile(0)  # requests of this round that led nowhere
    pauses: int = volatile(0)
    probed: NodeId | None = volatile(None)  # where the search for a leader has got to

    def on_start(self, ctx: Context) -> None:
        """A new incarnation has a new session: it cannot know what became of the old one."""
        if not self.servers:
            raise ValueError(f"{self.me}: servers = (): give at least one server to ask")
        self.session += 1
        ctx.observe(ClientStarted(self.session))

    # -- calls ----------------------------------------------------------------------------

    @on_operation(*COMMANDS)
    def invoke(self, ctx: Context, id: int, command: Any) -> None:
        """Take a call, or refuse it if too many wait already: then it was never sent."""
        if len(self.calls) > self.options.queue_limit:
            ctx.reply(id, fail(OVERLOADED))
            return
        self.calls = self.calls.add(Call(id, command))
        if self.options.deadline_us is not None:
            ctx.set_timer(DeadlineDue(self.calls.last), after=self.options.deadline_us)
        if not self.ticket:
            self.begin_next(ctx)
        elif self.options.queue_us is not None:
            ctx.set_timer(QueueDue(self.calls.last), after=self.options.queue_us)

    def begin_next(self, ctx: Context) -> None:
        """Send the first request of the oldest call, if there is one."""
        self.ticket = self.calls.first if self.calls else 0
        if self.ticket:
            if self.options.queue_us is not None:
                ctx.cancel_timer(QueueDue(self.ticket))
            self.sequence += 1
            self.silent = ()
            self.attempts = self.unrefused = self.misses = self.pauses = 0
            self.ask(ctx, self.leader or self.probe(ctx))

    def complete(self, ctx: Context, outcome: Outcome) -> None:
        """End the call under way and turn to the next."""
        ticket = self.ticket
        ctx.reply(self.calls.open[ticket].id, outcome)
        self.stop_waiting(ctx)
        if self.options.deadline_us is not None:
            ctx.cancel_timer(DeadlineDue(ticket))
        self.calls = self.calls.remove(ticket)
        self.begin_next(ctx)

    def give_up(self, ctx: Context) -> None:
        """End the call under way without an answer."""
        surely_no_effect = self.surely_refused() or self.has_no_effect(self.command)
        self.complete(ctx, fail(self.reason) if surely_no_effect else info(self.reason))

    @on_timer(DeadlineDue, QueueDue)
    def end_overdue(self, ctx: Context, t: DeadlineDue | QueueDue) -> None:
        """End the call, whether it is under way or was never sent."""
        if t.ticket == self.ticket:
            self.give_up(ctx)
        elif t.ticket in self.calls.open:
            ctx.reply(self.calls.open[t.ticket].id, fail(TIMEOUT))
            self.calls = self.calls.remove(t.ticket)
            if self.options.deadline_us is not None:
                ctx.cancel_timer(DeadlineDue(t.ticket))

    @property
    def command(self) -> Any:
        """What the call under way asks for."""
        return self.calls.open[self.ticket].command

    def has_no_effect(self, command: Any) -> bool:
        """Whether ``command`` is a read, which may be given up, or done again, at will."""
        return read_only(command)

    def surely_refused(self) -> bool:
        """Whether no server can have accepted, nor ever will, a request of the call under way."""
        return not self.unrefused and not self.options.network_duplicates

    # -- requests -------------------------------------------------------------------------

    def ask(self, ctx: Context, server: NodeId) -> None:
        """Send the request to ``server`` and wait for the answer."""
        self.send_request(ctx, server)
        ctx.set_timer(RequestTimeout(), after=self.options.timeout_us)
        if self.options.hedge_us is not None:
            ctx.set_timer(HedgeDue(), after=self.options.hedge_us)

    def send_request(self, ctx: Context, server: NodeId) -> None:
        """Send the request, always with the same session and number, to ``server``."""
        self.attempts += 1
        self.unrefused += 1
        self.reason = TIMEOUT
        self.asked = (*self.asked, server)
        acked = self.sequence - 1
        ctx.send(server, Request(self.me, self.session, self.sequence, self.command, acked))

    def attempts_used_up(self) -> bool:
        """Whether no further request may be sent for the call under way."""
        return self.attempts == self.options.attempts_max

    @on_timer(HedgeDue)
    def hedge(self, ctx: Context, t: HedgeDue) -> None:
        """Ask a second server as well; whichever answers first counts."""
        unasked = any(server not in self.asked for server in self.servers)
        if unasked and not self.attempts_used_up():
            self.send_request(ctx, self.probe(ctx))

    @on_timer(RequestTimeout)
    def give_up_waiting(self, ctx: Context, t: RequestTimeout) -> None:
        """Turn to another server; the silent ones may have accepted the request all the same."""
        if self.leader in self.asked:
            self.leader = None
        self.silent = (*self.silent, *self.asked)
        self.asked = ()
        self.reason = TIMEOUT
        self.try_another(ctx, None)

    def stop_waiting(self, ctx: Context) -> None:
        """Wait for no answer any more, or for no pause to end."""
        if not self.asked:
            ctx.cancel_timer(RetryDue())
            return
        self.asked = ()
        ctx.cancel_timer(RequestTimeout())
        if self.options.hedge_us is not None:
            ctx.cancel_timer(HedgeDue())

    def try_another(self, ctx: Context, hint: NodeId | None) -> None:
        """Ask whom the hint names, else the next server; pause after a round without luck."""
        self.misses += 1
        if self.attempts_used_up() or self.misses >= len(self.servers):
            self.pause(ctx)
        else:
            self.ask(ctx, hint or self.probe(ctx))

    def pause(self, ctx: Context) -> None:
        """Ask nobody for a while; for ever, if the attempts are used up: the call ends."""
        if self.asked:  # a hedged request is under way
            return
        if self.attempts_used_up():
            self.give_up(ctx)
            return
        ctx.set_timer(RetryDue(), after=self.options.backoff.pause(self.pauses))
        self.pauses += 1

    @on_timer(RetryDue)
    def retry(self, ctx: Context, t: RetryDue) -> None:
        """Begin a new round."""
        self.misses = 0
        self.silent = ()
        self.ask(ctx, self.leader or self.probe(ctx))

    def probe(self, ctx: Context) -> NodeId:
        """The next server in the search for a leader, which begins at any of them (§6.2)."""
        if self.probed is None:
            tried = (*self.asked, *self.silent)
            fresh = tuple(server for server in self.servers if server not in tried)
            self.probed = ctx.choose(fresh or self.servers)
        else:
            after = self.servers.index(self.probed) + 1
            order = self.servers[after:] + self.servers[:after]
            self.probed = next((server for server in order if server not in self.asked), order[0])
        return self.probed

    # -- answers --------------------------------------------------------------------------

    @on(Response)
    def receive_response(self, ctx: Context, src: NodeId, m: Response) -> None:
        """Complete, go on or give up. Answers to other requests are late or came twice."""
        if not self.ticket or (m.session, m.sequence) != (self.session, self.sequence):
            return
        if m.outcome.kind == "ok":
            self.leader, self.probed = m.leader or src, None
            self.complete(ctx, m.outcome)
            return
        self.reason = m.outcome.value
        if m.outcome.kind == "fail" and self.unrefused:
            self.unrefused -= 1
        if self.reason == SESSION_EXPIRED:
            self.renew_session(ctx, src)
        elif self.reason not in _TRIED_AGAIN:
            self.give_up(ctx)
        elif src in self.asked:
            self.follow_refusal(ctx, src, m.leader)

    def follow_refusal(self, ctx: Context, src: NodeId, leader: NodeId | None) -> None:
        """A server that was asked doesn't do it: go where it says, unless others may answer."""
        if self.reason == OVERLOADED:
            self.wait_no_longer_for(ctx, src)
            self.pause(ctx)
            return
        hint = None if leader == src or leader in self.silent else leader
        if hint or self.leader == src:
            self.leader = hint
        self.wait_no_longer_for(ctx, src)
        if not self.asked or (hint and hint not in self.asked):
            self.try_another(ctx, hint)

    def wait_no_longer_for(self, ctx: Context, server: NodeId) -> None:
        """Take ``server`` from those whose answers are awaited."""
        others = tuple(asked for asked in self.asked if asked != server)
        if others:
            self.asked = others
        else:
            self.stop_waiting(ctx)

    def renew_session(self, ctx: Context, src: NodeId) -> None:
        """Open a new session; go on in it with a call that surely had no effect in the old."""
        again = self.surely_refused() or self.has_no_effect(self.command)
        self.session += 1
        self.sequence = 0
        if not again:
            self.complete(ctx, info(SESSION_EXPIRED))
            return
        self.sequence = 1
        self.unrefused = 0
        self.stop_waiting(ctx)
        self.try_another(ctx, src)
